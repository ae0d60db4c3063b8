package interp

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"steps.example/interp/view"
	"steps.example/steps"
)

func (m *machine) mkdir(s *steps.Mkdir) error {
	p, err := m.path(s.Path)
	if err != nil {
		return err
	}
	return m.view.Mkdir(p, 0o777)
}

func (m *machine) mkdirP(s *steps.MkdirP) error {
	p, err := m.path(s.Path)
	if err != nil {
		return err
	}
	return m.makeDirs(p)
}

// makeDirs makes p and its parents. The text of p decides which those are, not
// what it leads to: "a/b/../c" makes b as well.
func (m *machine) makeDirs(p string) error {
	var missing []string
	for {
		isDir, err := m.view.IsDir(p)
		if err != nil {
			return err
		}
		if isDir || p == "/" {
			break
		}
		missing = append(missing, p)
		p = dirName(p)
	}
	if err := m.useDirs(p); err != nil {
		return err
	}
	for i := len(missing) - 1; i >= 0; i-- {
		err := m.view.Mkdir(missing[i], 0o777)
		if err == nil {
			continue
		}
		if !errors.Is(err, unix.EEXIST) && !view.IsAbsent(err) {
			return err
		}
		if isDir, e := m.view.IsDir(missing[i]); e != nil || !isDir {
			return err
		}
	}
	return nil
}

// makeParents makes the directory that p is in.
func (m *machine) makeParents(p string) error { return m.makeDirs(dirName(p)) }

// dirName is p less its last component. Unlike path.Dir it resolves no "..".
func dirName(p string) string {
	for len(p) > 1 && p[len(p)-1] == '/' {
		p = p[:len(p)-1]
	}
	i := len(p) - 1
	for i > 0 && p[i] != '/' {
		i--
	}
	for i > 1 && p[i-1] == '/' {
		i--
	}
	if i <= 0 {
		return "/"
	}
	return p[:i]
}

// destination is where something called like source ends up at target: inside
// it where target is a directory, links followed, else at target itself.
func (m *machine) destination(source, target string) (string, error) {
	isDir, err := m.view.IsDir(target)
	if err != nil || !isDir {
		return target, err
	}
	return target + "/" + path.Base(trimDot(source)), nil
}

// trimDot gives "." as the base name of "dir/.", which path.Base would clean.
func trimDot(p string) string {
	if len(p) > 2 && p[len(p)-2:] == "/." {
		return "."
	}
	return p
}

// lexists reports whether an entry is at p, a dangling link included.
func (m *machine) lexists(p string) (bool, error) {
	st, err := m.view.Lstat(p)
	if view.IsAbsent(err) {
		return false, nil
	}
	return st != nil, err
}
