package interp

import (
	"fmt"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/view"
	"steps.example/steps"
)

func (m *machine) symlink(s *steps.Symlink) error {
	if s.Sudo == "true" {
		if err := m.needRoot("symlink with sudo"); err != nil {
			return err
		}
	}
	target, err := m.path(s.Target)
	if err != nil {
		return err
	}
	if !s.SourceGlob {
		text, err := m.linkText(s.Source)
		if err != nil {
			return err
		}
		return m.link(text, target, s.Force)
	}
	sources, err := m.existing(s.Source)
	if err != nil {
		return err
	}
	switch len(sources) {
	case 0:
		return nil
	case 1:
		dest, err := m.destination(sources[0], target)
		if err != nil {
			return err
		}
		return m.link(sources[0], dest, s.Force)
	}
	if err := m.makeDirs(target); err != nil {
		return err
	}
	for _, source := range sources {
		if err := m.link(source, target+"/"+path.Base(source), s.Force); err != nil {
			return err
		}
	}
	return nil
}

// linkText is the text of a link to p: the words of the document where its base
// is "relative", else the absolute path.
func (m *machine) linkText(p steps.Path) (string, error) {
	if p.Base == steps.BaseRelative {
		return m.expand(p.Path), nil
	}
	return m.path(p)
}

// link makes a link with this text at p. With force, a file or link that is in
// the way is replaced; a directory never is.
func (m *machine) link(text, p string, force bool) error {
	if err := m.makeParents(p); err != nil {
		return err
	}
	if !force {
		own, err := m.ownLink(p)
		if err != nil {
			return err
		}
		force = own
	}
	if force {
		if err := m.clear(p); err != nil {
			return err
		}
	}
	return m.view.Symlink(text, p)
}

// ownLink reports whether a link at p is still the one that the installed version
// of the package made there, which may then be replaced in an upgrade.
func (m *machine) ownLink(p string) (bool, error) {
	if len(m.own) == 0 {
		return false, nil
	}
	st, err := m.view.Lstat(p)
	if view.IsAbsent(err) || err == nil && (st == nil || st.Kind != changeset.Symlink) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	dir, err := m.view.Real(path.Dir(p))
	if err != nil {
		return false, err
	}
	text, ok := m.own[filepath.Join(dir, path.Base(p))]
	return ok && text == st.Target, nil
}

// unlink is the removal phase of a symlink step: the link goes if it is still
// the one that the step made. One that another package made, or uses, stays.
func (m *machine) unlink(s *steps.Symlink) error {
	if !s.Uninstall || s.SourceGlob {
		return nil
	}
	text, err := m.linkText(s.Source)
	if err != nil {
		return err
	}
	target, err := m.path(s.Target)
	if err != nil {
		return err
	}
	st, err := m.view.Lstat(target)
	if view.IsAbsent(err) || err == nil && (st == nil || st.Kind != changeset.Symlink || st.Target != text) {
		return nil
	}
	if err != nil {
		return err
	}
	at, err := m.view.Physical(target)
	if err != nil {
		return err
	}
	owner, owned := m.claims.ledger.owners.Of(at)
	if owned && owner.Identity() != m.claims.self || len(m.claims.ledger.owners.UsedBy(at, m.claims.self, "")) > 0 {
		return nil
	}
	return m.view.Remove(target)
}

func (m *machine) linkDir(s *steps.LinkDir) error {
	source, err := m.path(s.Source)
	if err != nil {
		return err
	}
	target, err := m.path(s.Target)
	if err != nil {
		return err
	}
	st, err := m.view.Stat(source)
	if err != nil {
		return err
	}
	if st == nil {
		return fmt.Errorf("%s: %w", source, unix.ENOENT)
	}
	from, err := m.view.Real(source)
	if err != nil {
		return err
	}
	if to, err := m.view.Real(target); err == nil && st.Kind == changeset.Dir && changeset.Within(to, from) {
		return fmt.Errorf("cannot link the directory %s into itself, at %s", source, target)
	}
	return m.linkTree(source, target)
}

// linkTree makes target mirror source: directories as directories, everything
// else as a relative link. Where target has a real directory, that stays, even
// in the place of a file; anything else in the way is replaced.
func (m *machine) linkTree(source, target string) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	if path.Base(source) == ".DS_Store" {
		return nil
	}
	from, err := m.view.Lstat(source)
	if err != nil {
		return err
	}
	there, err := m.view.Lstat(target)
	if err != nil && !view.IsAbsent(err) {
		return err
	}
	real := there != nil && there.Kind == changeset.Dir
	if from.Kind != changeset.Dir {
		if real {
			return nil
		}
		return m.relativeLink(source, path.Dir(target), path.Base(source))
	}
	// Listed first: a target below the source is not to be mirrored into itself.
	names, err := m.view.ReadDir(source)
	if err != nil {
		return err
	}
	if !real {
		if err := m.clear(target); err != nil {
			return err
		}
		if err := m.makeDirs(target); err != nil {
			return err
		}
	} else if err := m.useDirs(target); err != nil {
		return err
	}
	for _, name := range names {
		if err := m.linkTree(source+"/"+name, target+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// relativeLink links source into dir as name, by a relative path. A file or
// link in the way is replaced; in a directory in the way the link lands inside.
func (m *machine) relativeLink(source, dir, name string) error {
	if err := m.makeDirs(dir); err != nil {
		return err
	}
	text, err := filepath.Rel(dir, source)
	if err != nil {
		return err
	}
	dest, err := m.destination(source, dir+"/"+name)
	if err != nil {
		return err
	}
	if err := m.clear(dest); err != nil {
		return err
	}
	return m.view.Symlink(text, dest)
}

func (m *machine) linkChildren(s *steps.LinkChildren) error {
	source, err := m.path(s.Source)
	if err != nil {
		return err
	}
	target, err := m.path(s.Target)
	if err != nil {
		return err
	}
	if err := m.makeDirs(target); err != nil {
		return err
	}
	names, err := m.view.ReadDir(source)
	if err != nil {
		return err
	}
	for _, name := range names {
		as := m.expand(s.Prefix) + name + m.expand(s.Suffix)
		if as != path.Base(as) {
			return fmt.Errorf("prefix and suffix make %q, which is no file name", as)
		}
		if err := m.relativeLink(source+"/"+name, target, as); err != nil {
			return err
		}
	}
	return nil
}
