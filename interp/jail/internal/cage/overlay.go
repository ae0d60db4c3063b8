//go:build linux

package cage

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// mountLayers puts each layer's overlay on top of its directory, in the old
// root: whatever the new one takes from there is then taken from the overlay.
func mountLayers(layers []wire.Layer) error {
	for i, l := range layers {
		if err := mountLayer(l); err != nil {
			r := &refusal{what: "overlay", outcome: wire.NotLayered, code: uint32(i)}
			if !errors.As(err, &r.errno) {
				r.what += ": " + err.Error()
			}
			return r
		}
	}
	return nil
}

func mountLayer(l wire.Layer) error {
	place, kind, err := Open(l.Dir)
	if err != nil {
		return err
	}
	defer unix.Close(place)
	if kind != unix.S_IFDIR {
		return unix.ENOTDIR
	}
	parts := []struct{ key, path string }{{"lowerdir", l.Dir}, {"upperdir", l.Upper}, {"workdir", l.Work}}
	dirs := make([]int, 0, len(parts))
	defer func() {
		for _, fd := range dirs {
			unix.Close(fd)
		}
	}()
	for _, part := range parts {
		named, _, err := Open(part.path)
		if err != nil {
			return err
		}
		// A descriptor that only names is none for this purpose.
		fd, err := unix.Openat(named, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(named)
		if err != nil {
			return err
		}
		dirs = append(dirs, fd)
	}
	overlay, err := newFS("overlay", plain, func(fs int) error {
		for i, part := range parts {
			if err := setDir(fs, part.key, dirs[i]); err != nil {
				return err
			}
		}
		return unix.FsconfigSetFlag(fs, "userxattr")
	})
	if err != nil {
		return err
	}
	defer unix.Close(overlay)
	return attach(overlay, place, "")
}

// setDir names a directory of an overlay by descriptor: as such from Linux 6.13
// on, before that by the link in /proc that leads to the directory and nowhere
// else.
func setDir(fs int, key string, dir int) error {
	byFD := key
	if key == "lowerdir" {
		byFD = "lowerdir+"
	}
	if err := unix.FsconfigSetFd(fs, byFD, dir); err == nil {
		return nil
	}
	return unix.FsconfigSetString(fs, key, "/proc/self/fd/"+strconv.Itoa(dir))
}
