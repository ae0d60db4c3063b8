package view

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// maxRead bounds, in bytes, what is read into memory of one file.
const maxRead = 256 << 20

// Lstat gives the state at path, not following a link there. It gives nil, and
// no error, where nothing is, and an error where a parent is missing too.
func (v *View) Lstat(path string) (*changeset.State, error) { return v.stat("look at", path, false) }

// Stat gives the state at path, following links; nil where nothing is.
func (v *View) Stat(path string) (*changeset.State, error) { return v.stat("look at", path, true) }

func (v *View) stat(op, path string, follow bool) (*changeset.State, error) {
	at, err := v.resolve(op, path, follow)
	if err != nil || at.node == nil {
		return nil, err
	}
	st := at.node.state
	return &st, nil
}

// Exists reports whether something is at path, following links. A missing or
// wrong parent, or a link in a circle, means no.
func (v *View) Exists(path string) (bool, error) {
	st, err := v.Stat(path)
	if IsAbsent(err) {
		return false, nil
	}
	return st != nil, err
}

// IsDir reports whether path is a directory, following links.
func (v *View) IsDir(path string) (bool, error) {
	st, err := v.Stat(path)
	if IsAbsent(err) {
		return false, nil
	}
	return st != nil && st.Kind == changeset.Dir, err
}

// IsAbsent reports whether err only says that there is nothing at a path.
func IsAbsent(err error) bool {
	return fsroot.IsMissing(err) || errors.Is(err, unix.ELOOP)
}

// ReadDir lists the names in the directory at path, sorted.
func (v *View) ReadDir(path string) ([]string, error) {
	at, err := v.resolve("list", path, true)
	if err != nil {
		return nil, err
	}
	if at.node == nil {
		return nil, fail("list", path, unix.ENOENT)
	}
	if !at.node.isDir() {
		return nil, fail("list", path, unix.ENOTDIR)
	}
	if at.node.synthetic {
		return nil, fail("list", path, fsroot.ErrOutside)
	}
	names, err := v.names(at.node)
	return names, fail("list", path, err)
}

// ReadFile reads the regular file at path, following links.
func (v *View) ReadFile(path string) ([]byte, error) {
	at, err := v.resolve("read", path, true)
	switch {
	case err != nil:
		return nil, err
	case at.node == nil:
		return nil, fail("read", path, unix.ENOENT)
	case at.node.isDir():
		return nil, fail("read", path, unix.EISDIR)
	case !at.node.isFile():
		return nil, fail("read", path, errors.New("not a regular file"))
	}
	data, err := v.bytes(at.node)
	return data, fail("read", path, err)
}

func (v *View) bytes(n *node) ([]byte, error) {
	if n.content != nil && n.content.Origin == nil {
		return n.content.Bytes, nil
	}
	path, want := v.source(n)
	d, name, err := v.set.OpenParent(path)
	if err != nil {
		return nil, moved(path, err)
	}
	data, stamp, err := d.ReadFile(name, maxRead)
	if err != nil {
		return nil, moved(path, err)
	}
	if !want.Unchanged(stamp) {
		return nil, moved(path, nil)
	}
	return data, nil
}

// source is the real file that holds n's bytes.
func (v *View) source(n *node) (string, changeset.Stamp) {
	if n.content != nil {
		return n.content.Origin.Path, n.content.Origin.Stamp
	}
	return n.base.path, n.base.stamp
}

// sameContent reports whether the new file n holds the bytes that the real file
// b has.
func (v *View) sameContent(n *node, b *base) (bool, error) {
	if n.state.Size != b.stamp.Size {
		return false, nil
	}
	if n.content != nil && n.content.Origin != nil {
		if n.content.Origin.Stamp.SameObject(b.stamp) {
			return true, nil
		}
		if n.state.Size > maxRead {
			return false, nil
		}
	}
	d, name, err := v.set.OpenParent(b.path)
	if err != nil {
		return false, moved(b.path, err)
	}
	f, stamp, err := d.Open(name)
	if errors.Is(err, unix.EACCES) {
		return false, nil
	}
	if err != nil {
		return false, moved(b.path, err)
	}
	defer f.Close()
	if !b.stamp.Unchanged(stamp) {
		return false, moved(b.path, nil)
	}
	want, err := v.bytes(n)
	if err != nil {
		return false, err
	}
	return equalReader(f, want)
}

func equalReader(r io.Reader, want []byte) (bool, error) {
	buf := make([]byte, min(len(want)+1, 64<<10))
	for {
		n, err := r.Read(buf)
		if n > len(want) || string(buf[:n]) != string(want[:n]) {
			return false, nil
		}
		want = want[n:]
		if errors.Is(err, io.EOF) {
			return len(want) == 0, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// Fingerprint tells whether the regular file at path, links followed, is the
// same one with the same bytes: two equal ones mean that. It does not read the
// file.
func (v *View) Fingerprint(path string) (string, error) {
	at, err := v.resolve("look at", path, true)
	if err != nil {
		return "", err
	}
	if at.node == nil || !at.node.isFile() {
		return "", fail("look at", path, unix.ENOENT)
	}
	h := sha256.New()
	if n := at.node; n.content != nil && n.content.Origin == nil {
		h.Write(n.content.Bytes)
	} else {
		_, stamp := v.source(n)
		fmt.Fprintf(h, "%+v", stamp)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Physical gives the physical path of the directory entry that path names: the
// links in its parents resolved, the last component as it is.
func (v *View) Physical(path string) (string, error) {
	at, err := v.resolve("resolve", path, false)
	if err != nil {
		return "", err
	}
	if at.node != nil {
		return at.node.path(), nil
	}
	return filepath.Join(at.parent.path(), at.name), nil
}

// Real gives the physical path that path leads to, all links followed; nothing
// need be there.
func (v *View) Real(path string) (string, error) {
	at, err := v.resolve("resolve", path, true)
	if err != nil {
		return "", err
	}
	if at.node != nil {
		return at.node.path(), nil
	}
	return filepath.Join(at.parent.path(), at.name), nil
}

// Same reports whether both paths lead to one object, links followed.
func (v *View) Same(a, b string) (bool, error) {
	x, err := v.resolve("compare", a, true)
	if IsAbsent(err) || err == nil && x.node == nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	y, err := v.resolve("compare", b, true)
	if IsAbsent(err) || err == nil && y.node == nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return x.node == y.node, nil
}
