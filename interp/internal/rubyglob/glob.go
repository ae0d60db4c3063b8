package rubyglob

import (
	"errors"
	"fmt"
	"strings"
)

// A Kind is the type of the object at a path.
type Kind int

// The kinds of object. None says that there is nothing at the path, whether its
// parent is missing, is not a directory, or is a loop of links.
const (
	None Kind = iota
	File
	Dir
	Symlink
	Other
	unknown // not asked yet; no FS returns it
)

// An FS is the tree that is searched. Paths are absolute and spelled as in the
// pattern, so they may hold "//", "." and "..". An error stops the search; a
// missing path is not an error.
type FS interface {
	// Lstat reports the kind at path without following a final link. Links in
	// parent directories are followed.
	Lstat(path string) (Kind, error)
	// Stat is like Lstat but follows a final link, and so never returns
	// Symlink.
	Stat(path string) (Kind, error)
	// ReadDir returns the names in the directory at path, which may be a link
	// to one, in any order and without "." and "..".
	ReadDir(path string) ([]string, error)
}

const (
	// Limit bounds one search: directory entries examined, paths looked up
	// and alternatives tried, together.
	Limit = 1_000_000
	// MaxPatterns bounds the patterns that braces may expand to.
	MaxPatterns = 10_000
	// MaxPath bounds the length of a pattern and of a path, in bytes.
	MaxPath = 4096
)

// ErrLimit is returned when a search exceeds [Limit] or meets a path longer than
// [MaxPath].
var ErrLimit = errors.New("too many or too deep files for one path pattern; name them more narrowly")

// A PatternError reports a pattern that cannot be searched.
type PatternError struct {
	Pattern string
	Reason  string
}

// Error describes the pattern, shortened, and the reason.
func (e *PatternError) Error() string {
	pattern := e.Pattern
	if len(pattern) > 200 {
		pattern = pattern[:200] + "..."
	}
	return fmt.Sprintf("path pattern %q: %s", pattern, e.Reason)
}

// HasMeta reports whether path is to be treated as a pattern: whether it holds
// any of ? * [ {, escaped or not.
func HasMeta(path string) bool { return strings.ContainsAny(path, "?*[{") }

// Check reports whether [Glob] would accept the pattern. The error is a
// [*PatternError].
func Check(pattern string) error {
	switch {
	case !strings.HasPrefix(pattern, "/"):
		return &PatternError{pattern, "not an absolute path"}
	case len(pattern) > MaxPath:
		return &PatternError{pattern, fmt.Sprintf("longer than %d bytes", MaxPath)}
	case strings.Contains(pattern, "\x00"):
		return &PatternError{pattern, "contains a NUL byte"}
	}
	c := checker{whole: pattern}
	return c.check(pattern[1:])
}

// Glob returns the paths that match the absolute pattern, in the order and
// spelling of Ruby's Dir.glob. A brace pattern can yield a path more than once.
// No match is not an error. On an error, which is a [*PatternError], [ErrLimit]
// or comes from fsys, the result is nil.
func Glob(fsys FS, pattern string) ([]string, error) {
	if err := Check(pattern); err != nil {
		return nil, err
	}
	w := &walker{fs: fsys, budget: Limit}
	if err := w.walk(place{path: "/", kind: Dir}, []*component{parse(pattern[1:])}); err != nil {
		return nil, err
	}
	return w.results, nil
}
