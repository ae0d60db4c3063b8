package interp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/rubyre"
	"steps.example/interp/view"
	"steps.example/steps"
)

func (m *machine) touch(s *steps.Touch) error {
	p, err := m.path(s.Path)
	if err != nil {
		return err
	}
	if err := m.makeParents(p); err != nil {
		return err
	}
	st, err := m.view.Stat(p)
	if err != nil {
		return err
	}
	if st != nil {
		return m.view.Touch(p)
	}
	return m.view.Write(p, nil, 0o666)
}

func (m *machine) write(s *steps.Write) error {
	p, err := m.path(s.Path)
	if err != nil {
		return err
	}
	data := []byte(m.expand(s.Content))
	if s.Preserve != "" {
		if err := m.makeParents(p); err != nil {
			return err
		}
		return m.preserve(s.Preserve, p, m.fileOffer(data))
	}
	if s.Overwrite == nil || !*s.Overwrite {
		// A dangling link does not count as being there; it is replaced.
		if exists, err := m.view.Exists(p); err != nil {
			return err
		} else if exists {
			return m.keepFile(p, data)
		}
	}
	if err := m.makeParents(p); err != nil {
		return err
	}
	return m.view.Replace(p, data, 0o666)
}

func (m *machine) inreplace(s *steps.Inreplace) error {
	p, err := m.path(s.Path)
	if err != nil {
		return err
	}
	before, after := m.expand(s.Before), m.expand(s.After)
	re := rubyre.CompileLiteral(before)
	if s.Regexp {
		re, err = rubyre.Compile(before, rubyre.Options{
			IgnoreCase: s.RegexpOptions&1 != 0,
			Extended:   s.RegexpOptions&2 != 0,
			MultiLine:  s.RegexpOptions&4 != 0,
		}, regexpTimeout)
		if err != nil {
			return fmt.Errorf("before: %w", err)
		}
	}
	data, err := m.view.ReadFile(p)
	if err != nil {
		return err
	}
	st, err := m.view.Stat(p)
	if err != nil {
		return err
	}
	out, n, err := re.Replace(data, after, s.FirstOnly)
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	if n == 0 && !s.SkipAudit {
		return fmt.Errorf("%s: nothing matches %q; skip_audit allows that", p, before)
	}
	// The file is rewritten beside and renamed over: a link at p becomes a file.
	if err := m.view.Replace(p, out, 0o666); err != nil {
		return err
	}
	return m.view.Chmod(p, st.Mode)
}

// maxGunzip bounds, in bytes, what install_gzipped_executable unpacks.
const maxGunzip = 256 << 20

func (m *machine) installGzipped(s *steps.InstallGzippedExecutable) error {
	source, err := m.path(s.Source)
	if err != nil {
		return err
	}
	target, err := m.path(s.Target)
	if err != nil {
		return err
	}
	// A source that is not there any more was installed before.
	if exists, err := m.view.Exists(source); !exists || err != nil {
		return err
	}
	packed, err := m.view.ReadFile(source)
	if err != nil {
		return err
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	data, err := io.ReadAll(io.LimitReader(zr, maxGunzip+1))
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	if len(data) > maxGunzip {
		return fmt.Errorf("%s: unpacks to more than %d bytes", source, maxGunzip)
	}
	if err := m.view.Replace(target, data, 0o666); err != nil {
		return err
	}
	if err := m.view.Chmod(target, 0o755); err != nil {
		return err
	}
	return m.view.Remove(source)
}

func (m *machine) remove(s *steps.Remove) error {
	if s.Sudo == "true" {
		if err := m.needRoot("remove with sudo"); err != nil {
			return err
		}
	}
	for _, p := range s.Paths {
		matches, err := m.glob(p)
		if err != nil {
			return err
		}
		for _, match := range matches {
			ok, err := m.removes(s, match)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if err := m.view.RemoveAll(match); err != nil {
				return err
			}
		}
	}
	return nil
}

// removes reports whether the step takes away what is at p: never a directory
// without recursive, and only what passes its filters.
func (m *machine) removes(s *steps.Remove, p string) (bool, error) {
	st, err := m.view.Lstat(p)
	if view.IsAbsent(err) || err == nil && st == nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if st.Kind == changeset.Dir && !s.Recursive {
		return false, nil
	}
	if s.SymlinkTargetContains != "" &&
		(st.Kind != changeset.Symlink || !strings.Contains(st.Target, s.SymlinkTargetContains)) {
		return false, nil
	}
	if s.ContentContains == "" {
		return true, nil
	}
	at, err := m.view.Stat(p)
	if view.IsAbsent(err) || err == nil && (at == nil || at.Kind != changeset.File) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	data, err := m.view.ReadFile(p)
	if errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return bytes.Contains(data, []byte(s.ContentContains)), err
}
