package conformance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll removes a scratch directory whatever modes are in it.
func RemoveAll(dir string) error {
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(p, 0o700)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(dir))
}
