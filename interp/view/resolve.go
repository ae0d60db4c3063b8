package view

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/internal/fsroot"
)

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
	if len(path) >= unix.PathMax {
		return place{}, fail(op, path, unix.ENAMETOOLONG)
	}
	slash := strings.LastIndexByte(path, '/')
	last := path[slash+1:]
	if last == "" || last == "." {
		follow = true
	}
	cur, rest, links, link := v.top, path[1:], 0, ""
	if dir := v.recent; dir.node != nil && dir.path == path[:slash] {
		cur, rest = dir.node, last
	}
	at := place{parent: cur.parent, name: cur.name, node: cur}
	direct := true // the last component is looked up as the path has it
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
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
		if direct && rest == "" {
			v.recent = directory{path: path[:slash], node: cur}
		}
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
			if strings.HasPrefix(kid.state.Target, "/") {
				cur = v.top
			}
			at = place{parent: cur.parent, name: cur.name, node: cur}
			// A link on the way is as good as a directory; the last component is
			// not looked up where the path says if it is one itself.
			direct = direct && more
			rest = kid.state.Target + "/" + rest
		default:
			cur = kid
		}
	}
	if strings.HasSuffix(path, "/") && len(path) > 1 && !at.node.isDir() {
		return place{}, fail(op, path, unix.ENOTDIR)
	}
	return at, nil
}

// hasMore reports whether a component is left.
func hasMore(rest string) bool {
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if name != "" && name != "." {
			return true
		}
	}
	return false
}

// directory remembers where a path's directory was found last. Steps come in
// groups that work in one directory.
type directory struct {
	path string
	node *node
}
