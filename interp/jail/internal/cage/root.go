//go:build linux

package cage

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// A root is the private root directory under construction: an empty file
// system with the granted places mounted in it.
type root struct {
	fd     int
	made   set      // directories made in it, without the first slash
	reads  []string // read-only places
	read   set      // the same
	writes []string
	own    []string // scratch
	links  []wire.Link
}

// enterRoot makes a root directory that holds what the order grants, what
// every command has, and nothing else, and makes it the helper's, so that all
// that comes after (the rules of Landlock, the command) knows no other. It
// needs a mount namespace of the helper's own.
func enterRoot(order wire.Order) error {
	unix.Umask(0)
	if err := mountLayers(order.Layers); err != nil {
		return err
	}
	r := newRoot(order)
	var err error
	r.fd, err = newFS("tmpfs", plain, func(fs int) error {
		return errors.Join(
			unix.FsconfigSetString(fs, "size", scratchSize),
			unix.FsconfigSetString(fs, "nr_inodes", scratchFiles),
			unix.FsconfigSetString(fs, "mode", "755"))
	})
	if err != nil {
		return noRoot(err, "making a root directory")
	}
	defer unix.Close(r.fd)
	if err := r.join(); err != nil {
		return err
	}
	// The old root, on top of the new one for a moment, goes with all below it.
	if err := unix.Fchdir(r.fd); err != nil {
		return noRoot(err, "entering the root directory")
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return noRoot(err, "changing the root directory")
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return noRoot(err, "leaving the old root directory")
	}
	return unix.Chdir("/")
}

// newRoot sorts the places of an order: each once, without those that another
// holds with the same or more rights, and those that hold others before these.
func newRoot(order wire.Order) *root {
	r := &root{links: order.Links, made: set{}}
	var reads []string
	for _, g := range order.Grants {
		if g.Access&wire.Write != 0 {
			r.writes = append(r.writes, g.Path)
		} else {
			reads = append(reads, g.Path)
		}
	}
	var write set
	r.writes, write = outermost(r.writes)
	r.reads, r.read = outermost(slices.DeleteFunc(reads, write.covers))
	for _, dir := range scratch {
		if !r.read.covers(dir) && !write.covers(dir) {
			r.own = append(r.own, dir)
		}
	}
	return r
}

// outermost sorts paths and leaves out those that others cover.
func outermost(paths []string) ([]string, set) {
	slices.Sort(paths)
	var out []string
	in := set{}
	for _, path := range paths {
		if !in.covers(path) {
			in[path] = true
			out = append(out, path)
		}
	}
	return out, in
}

// join builds the tree. Read-only places come first and are made so all at
// once, scratch included; what may change comes on top of that.
func (r *root) join() error {
	here, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return noRoot(err, "opening the root directory")
	}
	defer unix.Close(here)
	if err := attach(r.fd, here, ""); err != nil {
		return noRoot(err, "mounting the root directory")
	}
	if err := r.makePlaces(); err != nil {
		return err
	}
	var own []int
	defer func() {
		for _, fd := range own {
			unix.Close(fd)
		}
	}()
	for _, dir := range r.own {
		fd, err := r.mountScratch(dir)
		if err != nil {
			return noRoot(err, "mounting %q", dir)
		}
		own = append(own, fd)
	}
	for _, path := range r.reads {
		if err := r.mountRead(path); err != nil {
			return err
		}
	}
	if err := setAll(r.fd, readOnly); err != nil {
		return noRoot(err, "making mounts read-only")
	}
	for i, fd := range own {
		if err := writable(fd); err != nil {
			return noRoot(err, "making %q writable", r.own[i])
		}
	}
	for _, path := range r.writes {
		if err := r.mountWrite(path); err != nil {
			return err
		}
	}
	if err := r.mountDevices(); err != nil {
		return err
	}
	return r.mountProc()
}

// makePlaces makes what others are mounted on, where no read-only place brings
// it along, and the links.
func (r *root) makePlaces() error {
	for _, dir := range append([]string{"/proc"}, r.own...) {
		if err := r.makePlace(dir, true); err != nil {
			return noRoot(err, "making a place for %q", dir)
		}
	}
	for _, dev := range devices {
		if r.read.covers(dev.path) {
			continue
		}
		if err := r.makePlace(dev.path, false); err != nil {
			return noRoot(err, "making a place for %q", dev.path)
		}
	}
	for _, path := range r.writes {
		if r.read.covers(path) {
			continue
		}
		fd, kind, err := Open(path)
		if err != nil {
			return refuse(err, "granting %q", path)
		}
		unix.Close(fd)
		if err := r.makePlace(path, kind == unix.S_IFDIR); err != nil {
			return noRoot(err, "making a place for %q", path)
		}
	}
	for _, l := range r.links {
		err := r.makeDirs(parent(l.Path))
		if err == nil {
			err = exists(unix.Symlinkat(l.Target, r.fd, l.Path[1:]))
		}
		if err != nil {
			return noRoot(err, "making the link %q", l.Path)
		}
	}
	return nil
}

// makePlace makes path for something to be mounted on: a directory, or an empty
// file. What is there already is left.
func (r *root) makePlace(path string, dir bool) error {
	if dir {
		return r.makeDirs(path[1:])
	}
	if err := r.makeDirs(parent(path)); err != nil {
		return err
	}
	return exists(unix.Mknodat(r.fd, path[1:], unix.S_IFREG|0o444, 0))
}

// makeDirs makes a directory and those above it.
func (r *root) makeDirs(dir string) error {
	if dir == "" || r.made[dir] {
		return nil
	}
	if err := r.makeDirs(parent("/" + dir)); err != nil {
		return err
	}
	r.made[dir] = true
	return exists(unix.Mkdirat(r.fd, dir, 0o755))
}

// parent is the directory of an absolute path, without the first slash.
func parent(path string) string { return path[1:max(1, strings.LastIndexByte(path, '/'))] }

// mountRead puts a read-only place where it belongs. Its attributes are set
// with those of the whole root.
func (r *root) mountRead(path string) error {
	from, kind, err := openPlace(path)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	if err := r.makePlace(path, kind == unix.S_IFDIR); err != nil {
		return noRoot(err, "making a place for %q", path)
	}
	if err := r.mount(path, from, 0); err != nil {
		return noRoot(err, "mounting %q", path)
	}
	return nil
}

// mountWrite puts a writable place where it belongs.
func (r *root) mountWrite(path string) error {
	from, _, err := openPlace(path)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	if err := r.mount(path, from, plain); err != nil {
		return noRoot(err, "mounting %q", path)
	}
	return nil
}

func openPlace(path string) (fd int, kind uint32, err error) {
	fd, kind, err = Open(path)
	if err == nil && kind != unix.S_IFDIR && kind != unix.S_IFREG {
		unix.Close(fd)
		err = errKind
	}
	if err != nil {
		return -1, 0, refuse(err, "granting %q", path)
	}
	return fd, kind, nil
}

// mount mounts what a descriptor names at path in the root, as it is or, if
// there are any, with attributes of its own.
func (r *root) mount(path string, from int, attrs uint64) error {
	fd, err := clone(from)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if attrs != 0 {
		if err := setAll(fd, attrs); err != nil {
			return err
		}
	}
	if !r.read.covers(path) || r.read[path] {
		// Up to here the root holds nothing but what was made in it.
		return attach(fd, r.fd, path[1:])
	}
	to, _, err := openBelow(r.fd, path)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	return attach(fd, to, "")
}
