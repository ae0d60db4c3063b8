package fsroot

import (
	"container/list"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// ErrOutside is returned for a path that lies under no root.
var ErrOutside = errors.New("outside the roots")

// maxOpen bounds the descriptors that a Set keeps open beside its roots.
const maxOpen = 200

// Root is one confined directory.
type Root struct {
	// Path is physical, without links.
	Path string
	// Spelled is the path as it was given; it may lead to Path through links.
	Spelled string
	dir     *Dir
}

// Set is a set of confined roots with a cache of open directories.
type Set struct {
	roots []*Root
	cache map[string]*list.Element // of *Dir, by physical path
	lru   *list.List               // most recently used first
}

// New opens the roots. The caller chose them, so links on the way to a root are
// followed, once, here. A root that is not there is left out; one that is no
// directory, or is the whole file system, is an error.
func New(paths []string) (_ *Set, err error) {
	s := &Set{cache: map[string]*list.Element{}, lru: list.New()}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("root %q: must be an absolute path", p)
		}
		spelled := filepath.Clean(p)
		real, err := filepath.EvalSymlinks(spelled)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("root %s: %w", p, err)
		}
		if real == "/" {
			return nil, fmt.Errorf("root %q: the whole file system cannot be a root", p)
		}
		fd, err := openRoot(real)
		if err != nil {
			return nil, fmt.Errorf("root %s: %w", p, err)
		}
		s.roots = append(s.roots, &Root{Path: real, Spelled: spelled, dir: &Dir{fd: fd, Path: real}})
	}
	return s, nil
}

// Roots lists the roots that are there, in the order given.
func (s *Set) Roots() []*Root { return s.roots }

// Close closes every descriptor.
func (s *Set) Close() {
	s.Forget("/")
	for _, r := range s.roots {
		r.dir.close()
	}
	s.roots = nil
}

// Locate finds the innermost root that holds the physical path p, and p
// relative to it ("." for the root itself).
func (s *Set) Locate(p string) (*Root, string, bool) {
	var best *Root
	for _, r := range s.roots {
		if (p == r.Path || strings.HasPrefix(p, r.Path+"/")) && (best == nil || len(r.Path) > len(best.Path)) {
			best = r
		}
	}
	if best == nil {
		return nil, "", false
	}
	if p == best.Path {
		return best, ".", true
	}
	return best, p[len(best.Path)+1:], true
}

// OpenDir opens the directory at the physical path p. It fails with an error
// that matches [unix.ELOOP] or [unix.ENOTDIR] if any component is a link. The
// Dir is valid until the next call on the Set; keep none.
func (s *Set) OpenDir(p string) (*Dir, error) {
	if e, ok := s.cache[p]; ok {
		s.lru.MoveToFront(e)
		return e.Value.(*Dir), nil
	}
	root, rel, ok := s.Locate(p)
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: p, Err: ErrOutside}
	}
	if rel == "." {
		return root.dir, nil
	}
	from := root.dir
	if parent, ok := s.cache[filepath.Dir(p)]; ok {
		from, rel = parent.Value.(*Dir), filepath.Base(p)
	}
	fd, err := openBeneath(from.fd, rel)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	d := &Dir{fd: fd, Path: p}
	s.cache[p] = s.lru.PushFront(d)
	if s.lru.Len() > maxOpen {
		old := s.lru.Back()
		s.lru.Remove(old)
		delete(s.cache, old.Value.(*Dir).Path)
		old.Value.(*Dir).close()
	}
	return d, nil
}

// OpenParent opens the directory that holds p and gives p's last component. p
// must not be a root itself.
func (s *Set) OpenParent(p string) (*Dir, string, error) {
	if slices.ContainsFunc(s.roots, func(r *Root) bool { return r.Path == p }) {
		if _, _, ok := s.Locate(filepath.Dir(p)); !ok {
			return nil, "", &fs.PathError{Op: "open", Path: p, Err: errors.New("is a root itself")}
		}
	}
	d, err := s.OpenDir(filepath.Dir(p))
	if err != nil {
		return nil, "", err
	}
	return d, filepath.Base(p), nil
}

// Forget drops the descriptors of p and everything below it; whoever moves or
// removes a directory calls it.
func (s *Set) Forget(p string) {
	for path, e := range s.cache {
		if path == p || p == "/" || strings.HasPrefix(path, p+"/") {
			e.Value.(*Dir).close()
			s.lru.Remove(e)
			delete(s.cache, path)
		}
	}
}

// Lstat stamps the object at the physical path p without following a link
// there. A root stamps its own descriptor.
func (s *Set) Lstat(p string) (changeset.Stamp, error) {
	for _, r := range s.roots {
		if r.Path == p {
			return r.dir.Stamp()
		}
	}
	d, name, err := s.OpenParent(p)
	if err != nil {
		return changeset.Stamp{}, err
	}
	return d.Lstat(name)
}

// IsMissing reports whether err says that there is nothing at the path.
func IsMissing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
}
