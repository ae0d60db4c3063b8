package jail

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/sbpl"
)

// newProfile turns a valid policy into a profile that also lets the helper be
// executed. Paths become those by which the kernel knows the files.
func newProfile(helper string, p Policy) (sbpl.Program, error) {
	out := sbpl.Policy{Network: p.Network, Ports: p.Ports}
	for _, list := range []struct {
		from []string
		to   *[]string
	}{{p.Reads, &out.Reads}, {append([]string{helper}, p.Execs...), &out.Execs}, {p.Writes, &out.Writes}} {
		for _, path := range list.from {
			real, err := grantable(path)
			if err == nil && list.to == &out.Writes {
				// Places shared with other programs, under their real names.
				err = checkGrant(strings.TrimPrefix(real, "/private"), true)
			}
			if err != nil {
				return sbpl.Program{}, fmt.Errorf("jail: granting %q: %w", path, err)
			}
			*list.to = append(*list.to, real)
		}
	}
	for _, path := range p.Protect {
		real, err := realPath(path)
		if err != nil {
			return sbpl.Program{}, fmt.Errorf("jail: protecting %q: %w", path, err)
		}
		// What lies under no writable path cannot be changed at all, its mode,
		// owner and times included.
		for _, dir := range out.Writes {
			if within(real, dir) {
				out.Protect = append(out.Protect, real)
				break
			}
		}
	}
	return sbpl.Generate(out)
}

// grantable returns the real path of a directory or regular file.
func grantable(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return "", errors.New("neither a directory nor a regular file")
	}
	return realPath(path)
}

// realPath returns path as the kernel spells it, with the case that the file
// system has. Of a path that does not exist that is the part that does.
func realPath(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_EVTONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) && path != "/" {
		dir, err := realPath(filepath.Dir(path))
		return filepath.Join(dir, filepath.Base(path)), err
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	// F_GETPATH writes up to MAXPATHLEN bytes; words, for the alignment of the
	// type whose pointer the call takes.
	var buf [1024 / 8]uint64
	if err := unix.FcntlFlock(uintptr(fd), unix.F_GETPATH, (*unix.Flock_t)(unsafe.Pointer(&buf))); err != nil {
		return "", err
	}
	real := unix.ByteSliceToString(unsafe.Slice((*byte)(unsafe.Pointer(&buf)), unsafe.Sizeof(buf)))
	if !strings.EqualFold(real, path) {
		return "", fmt.Errorf("passes through a link; write %q", real)
	}
	return real, nil
}
