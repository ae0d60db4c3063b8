package fsroot

import "path/filepath"

// Physical spells an absolute path without links, as far as it exists; the rest
// is kept as it is. It is for comparing paths that the user gave, not for acting
// on them.
func Physical(path string) string {
	path = filepath.Clean(path)
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
