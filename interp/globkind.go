package interp

import (
	"steps.example/interp/changeset"
	"steps.example/interp/internal/rubyglob"
	"steps.example/interp/view"
)

func globKind(st *changeset.State, err error) (rubyglob.Kind, error) {
	if view.IsAbsent(err) || err == nil && st == nil {
		return rubyglob.None, nil
	}
	if err != nil {
		return rubyglob.None, err
	}
	switch st.Kind {
	case changeset.Dir:
		return rubyglob.Dir, nil
	case changeset.File:
		return rubyglob.File, nil
	case changeset.Symlink:
		return rubyglob.Symlink, nil
	}
	return rubyglob.Other, nil
}
