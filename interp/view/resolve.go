package view

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/internal/fsroot"
)

var errLoop error = unix.ELOOP

// maxLinks is how many links one path may pass, as in the kernel.
const maxLinks = 40

// place is where a path leads: an entry of a directory, there or not.
type place struct {
	parent *node
	name   string
	node   *node // nil: nothing there
}

// resolve walks path as the kernel would. A symlink in the last component is
// followed if follow is set or the path ends in a slash or "/.". Where the last
// component does not exist, the place it would have is returned.
func (v *View) resolve(op, path string, follow bool) (place, error) {
	if !strings.HasPrefix(path, "/") {
		return place{}, &Error{Op: op, Path: path, Err: errors.New("not an absolute path")}
	}
	rest := strings.Split(path[1:], "/")
	if last := rest[len(rest)-1]; last == "" || last == "." {
		follow = true
	}
	cur, at, links, link := v.top, place{parent: v.top, node: v.top}, 0, ""
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		if !cur.isDir() {
			return place{}, fail(op, path, unix.ENOTDIR)
		}
		if name == ".." {
			cur = cur.parent
			at = place{parent: cur.parent, name: cur.name, node: cur}
			continue
		}
		kid, err := v.child(cur, name)
		if err != nil {
			if errors.Is(err, fsroot.ErrOutside) {
				return place{}, &Error{Op: op, Path: path, Link: link, Err: fsroot.ErrOutside}
			}
			return place{}, fail(op, path, err)
		}
		at = place{parent: cur, name: name, node: kid}
		more := hasMore(rest)
		switch {
		case kid == nil:
			if more {
				return place{}, fail(op, path, unix.ENOENT)
			}
			return at, nil
		case kid.isSymlink() && (more || follow):
			if links++; links > maxLinks {
				return place{}, fail(op, path, unix.ELOOP)
			}
			if !kid.synthetic {
				link = kid.path()
			}
			target := strings.Split(kid.state.Target, "/")
			if strings.HasPrefix(kid.state.Target, "/") {
				cur, at = v.top, place{parent: v.top, node: v.top}
			} else {
				at = place{parent: cur.parent, name: cur.name, node: cur}
			}
			rest = append(target, rest...)
		default:
			cur = kid
		}
	}
	if strings.HasSuffix(path, "/") && len(path) > 1 && !at.node.isDir() {
		return place{}, fail(op, path, unix.ENOTDIR)
	}
	return at, nil
}

func hasMore(rest []string) bool {
	for _, r := range rest {
		if r != "" && r != "." {
			return true
		}
	}
	return false
}
