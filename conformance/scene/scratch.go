package scene

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"steps.example/conformance"
)

// Scratch is where worlds are made and removed many times.
type Scratch struct {
	// Fast is in memory, if there is such a place, and Slow on a disk.
	Fast, Slow string
}

// NewScratch makes directories of that name: in memory where there is such a place
// and TMPDIR does not name another one, and on a disk. The caller closes them.
func NewScratch(name string) (*Scratch, error) {
	const memory = "/dev/shm"
	fast := os.TempDir()
	if os.Getenv("TMPDIR") == "" && unix.Access(memory, unix.W_OK|unix.X_OK) == nil {
		fast = memory
	}
	s := &Scratch{}
	for _, d := range []struct {
		made *string
		in   string
	}{{&s.Fast, fast}, {&s.Slow, os.TempDir()}} {
		dir, err := os.MkdirTemp(d.in, name)
		if err == nil {
			*d.made, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// For is where the worlds of a scene are made. A command in a jail is never granted
// what is in memory.
func (s *Scratch) For(scene *Scene) string {
	if scene.Jail {
		return s.Slow
	}
	return s.Fast
}

// Close removes all of it.
func (s *Scratch) Close() error {
	var errs []error
	for _, dir := range []string{s.Fast, s.Slow} {
		if dir != "" {
			errs = append(errs, conformance.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}
