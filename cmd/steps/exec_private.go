package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"steps.example/interp/changeset"
)

// privateDir holds the home and the temporary directory of one command.
type privateDir string

func (d privateDir) home() string { return filepath.Join(string(d), "home") }
func (d privateDir) tmp() string  { return filepath.Join(string(d), "tmp") }

func makePrivate() (privateDir, error) {
	top, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", fmt.Errorf("the directory for temporary files: %w; name another in TMPDIR", err)
	}
	if top, err = filepath.Abs(top); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(top, "steps-exec-")
	if err != nil {
		return "", fmt.Errorf("a private directory for the command: %w; name another place in TMPDIR", err)
	}
	d := privateDir(dir)
	for _, sub := range []string{d.home(), d.tmp()} {
		if err := os.Mkdir(sub, 0o700); err != nil {
			return d, err
		}
	}
	return d, nil
}

// remove takes the directory away with all that the command left in it.
func (d privateDir) remove(t *terminal) {
	if err := removeTree(string(d)); err != nil {
		t.talk("the command's private directory is left: %s", changeset.Printable(err.Error()))
	}
}

// removeTree removes what a command that has ended left at dir; nobody changes
// it meanwhile. Directories may be closed to their own user, as those of module
// caches are.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return err
	})
	return os.RemoveAll(dir)
}
