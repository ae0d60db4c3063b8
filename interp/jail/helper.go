package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"steps.example/interp/jail/internal/wire"
)

// asked is set once this program has asked whether it is the helper, which
// makes it fit to be started as one.
var asked atomic.Bool

// IsHelper reports whether this process was started as the jail's helper, and
// so must call [Main] and nothing else. A program that can serve as its own
// helper asks first thing in main.
//
// Only the arguments decide. To set them is to ask for a helper, which does
// nothing but run a command with fewer rights, or for its canary, which harms
// nothing.
func IsHelper() bool {
	asked.Store(true)
	return len(os.Args) == 2 && os.Args[0] == wire.Arg0 && os.Args[1] == wire.Arg1 || isCanary()
}

// isCanary reports whether this process is the command in the jail of a
// [Canary].
func isCanary() bool { return len(os.Args) > 1 && os.Args[1] == wire.Canary }

// Helper locates the helper for [Run]: a file named steps-jail beside this
// program, or else this program itself if it has called [IsHelper]. The small
// file starts faster.
func Helper() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("locating the jail's helper: %w", err)
	}
	beside := filepath.Join(filepath.Dir(self), wire.Arg0)
	info, err := os.Stat(beside)
	switch {
	case err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0:
		return beside, nil
	case err == nil:
		return "", fmt.Errorf("locating the jail's helper: %q is not a program; install steps again", beside)
	case !os.IsNotExist(err):
		return "", fmt.Errorf("locating the jail's helper: %w", err)
	case asked.Load():
		return self, nil
	default:
		return "", fmt.Errorf("locating the jail's helper: there is no %q; install it beside this program", beside)
	}
}
