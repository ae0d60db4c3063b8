package interp

import (
	"fmt"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/filemode"
	"steps.example/interp/view"
	"steps.example/steps"
)

func (m *machine) setPermissions(s *steps.SetPermissions) error {
	mode, err := filemode.Parse(s.Permissions)
	if err != nil {
		return fmt.Errorf("permissions: %w", err)
	}
	return m.attributes(s.Paths, s.NonRecursive, func(p string, st *changeset.State) error {
		return m.view.Chmod(p, mode.Apply(st.Mode, st.Kind == changeset.Dir, m.Umask))
	})
}

func (m *machine) setOwnership(s *steps.SetOwnership) error {
	if err := m.need("ownership", "set_ownership"); err != nil {
		return err
	}
	uid, gid, err := m.effects.owner(s.User, s.Group)
	if err != nil {
		return err
	}
	return m.attributes(s.Paths, s.NonRecursive, func(p string, st *changeset.State) error {
		own := st.UID == uid || st.UID == changeset.KeepOwner
		if !m.effects.root() && !(own && (st.GID == gid || m.effects.inGroup(gid))) {
			if err := m.asRoot("changing the owner of " + changeset.Printable(p)); err != nil {
				return err
			}
		}
		return m.view.Chown(p, uid, gid, true)
	})
}

// attributes calls f on what the paths match and, unless told otherwise, on all
// that is below. A link that was named is followed, one found below is left out.
func (m *machine) attributes(paths []steps.Path, flat bool, f func(string, *changeset.State) error) error {
	for _, p := range paths {
		matches, err := m.glob(p)
		if err != nil {
			return err
		}
		for _, match := range matches {
			if exists, err := m.view.Exists(match); err != nil {
				return err
			} else if !exists {
				continue
			}
			real, err := m.view.Real(match)
			if err != nil {
				return err
			}
			if err := m.eachBelow(real, flat, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *machine) eachBelow(p string, flat bool, f func(string, *changeset.State) error) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	st, err := m.view.Lstat(p)
	if err != nil {
		return err
	}
	if st == nil || st.Kind == changeset.Symlink {
		return nil
	}
	if err := f(p, st); err != nil {
		return err
	}
	if flat || st.Kind != changeset.Dir {
		return nil
	}
	names, err := m.view.ReadDir(p)
	if view.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := m.eachBelow(p+"/"+name, flat, f); err != nil {
			return err
		}
	}
	return nil
}
