package fsroot

import (
	"strings"

	"golang.org/x/sys/unix"
)

// openByComponent is openBeneath without openat2: one open a component, none
// of which can pass a link or go up.
func openByComponent(fd int, rel string) (int, error) {
	at := fd
	for name := range strings.SplitSeq(rel, "/") {
		if name == "" || name == "." || name == ".." {
			if at != fd {
				unix.Close(at)
			}
			return -1, unix.EXDEV
		}
		var next int
		err := ignoringEINTR(func() (err error) { next, err = unix.Openat(at, name, openFlags, 0); return err })
		if at != fd {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}
