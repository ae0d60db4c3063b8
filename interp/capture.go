package interp

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

// CaptureMode is how the changes that a command makes are found.
type CaptureMode string

const (
	// CaptureOverlay redirects what the command writes into a layer, so that the
	// tree is not touched until its changes are accepted. It takes a kernel that
	// lets this user mount overlays.
	CaptureOverlay CaptureMode = "overlay"
	// CaptureSnapshot saves what the command may write to, and compares and
	// restores it afterwards.
	CaptureSnapshot CaptureMode = "snapshot"
)

func (c CaptureMode) check() error {
	if c != "" && c != CaptureOverlay && c != CaptureSnapshot {
		return fmt.Errorf("capture mode %q is not known; known are %s and %s", c, CaptureOverlay, CaptureSnapshot)
	}
	return nil
}

// watch runs a command and finds what it changed, which is then nowhere but in
// the result. Made is nil where nothing may come of it: it did not run as it
// should have, or failed and may not; the transaction is then to be taken back.
func (x *executor) watch(m *machine, r *Run) (out []byte, report RunReport, made *changeset.Captured, err error) {
	if x.mode != CaptureSnapshot {
		out, report, made, err = x.watchLayers(m, r)
		if !errors.Is(err, ErrNoLayers) {
			report.Capture = CaptureOverlay
			return out, report, made, err
		}
		if x.mode == CaptureOverlay {
			return nil, report, nil, fmt.Errorf("capture by overlay is asked for, and is not possible here: %w", err)
		}
	}
	reason := err
	if err := x.tx.Snapshot(r.Policy.Writes); err != nil {
		return nil, report, nil, err
	}
	r.Layers = nil
	out, report, err = x.host.Run(m.ctx, r)
	if r.accepts(err) {
		var captureErr error
		if made, captureErr = x.tx.Capture(); captureErr != nil {
			return nil, report, nil, captureErr
		}
	}
	report.Capture = CaptureSnapshot
	if reason != nil {
		report.NoOverlay = reason.Error()
	}
	return out, report, made, err
}

// watchLayers is watch with the writes redirected. An error that matches
// ErrNoLayers means that nothing has run, and that there are no layers.
func (x *executor) watchLayers(m *machine, r *Run) ([]byte, RunReport, *changeset.Captured, error) {
	dirs, err := m.layered(r.Policy.Writes)
	if err != nil {
		return nil, RunReport{}, nil, err
	}
	r.Layers, err = x.tx.Layers(dirs)
	if errors.Is(err, commit.ErrNoLayers) {
		err = fmt.Errorf("%w: %w", ErrNoLayers, err)
	}
	if err != nil {
		return nil, RunReport{}, nil, err
	}
	var out []byte
	var report RunReport
	if err = r.outOfReach(); err == nil {
		out, report, err = x.host.Run(m.ctx, r)
	}
	if errors.Is(err, ErrNoLayers) {
		return nil, report, nil, errors.Join(err, x.tx.DropLayers())
	}
	if !r.accepts(err) {
		return nil, report, nil, err
	}
	made, captureErr := x.tx.CaptureLayers()
	if captureErr != nil {
		return nil, report, nil, captureErr
	}
	return out, report, made, err
}

// accepts reports whether what r made counts, given how it ended.
func (r *Run) accepts(err error) bool {
	_, failed := errors.AsType[*CommandError](err)
	return err == nil || failed && r.AllowFailure
}

// layered are the directories to redirect for these writable paths: those
// themselves, and what holds the files among them; none within another.
func (m *machine) layered(writes []string) ([]string, error) {
	var dirs []string
	for _, w := range writes {
		isDir, err := m.view.IsDir(w)
		if err != nil {
			return nil, err
		}
		if !isDir {
			w = filepath.Dir(w)
		}
		dirs = append(dirs, w)
	}
	return withoutInner(dirs), nil
}

// withoutInner sorts paths and drops those below others.
func withoutInner(paths []string) []string {
	slices.Sort(paths)
	var out []string
	for _, p := range slices.Compact(paths) {
		if !slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(p, o+"/") }) {
			out = append(out, p)
		}
	}
	return out
}

// outOfReach makes sure that the command could not get at the layers by another
// grant than the one that they are for.
func (r *Run) outOfReach() error {
	p := &r.Policy
	for _, l := range r.Layers {
		for _, grant := range slices.Concat(p.Reads, p.Execs, p.Writes, p.SystemReads, p.SystemExecs) {
			if changeset.Within(l.Upper, grant) || changeset.Within(l.Work, grant) {
				return fmt.Errorf("%w: the layer of %s would be within the command's reach, at %s", ErrNoLayers, l.Dir, grant)
			}
		}
	}
	return nil
}
