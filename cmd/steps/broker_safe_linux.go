package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// confined reports whether this process, or one that it comes from, gave up the means
// to get more rights: then it was started from a jail.
func confined() error {
	if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || n != 0 {
		return errors.Join(err, errors.New("was started where no_new_privs is set, as in a jail"))
	}
	for pid := os.Getppid(); pid > 1; {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if errors.Is(err, os.ErrNotExist) {
			return nil // it is gone, or /proc is not there
		}
		if err != nil {
			return err
		}
		if value(status, "NoNewPrivs") != 0 {
			return fmt.Errorf("process %d, from which it was started, has no_new_privs set, as in a jail", pid)
		}
		pid = value(status, "PPid")
	}
	return nil
}

// value is a number in a status file; 0 where it is missing.
func value(status []byte, name string) int {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			n, _ := strconv.Atoi(string(bytes.TrimSpace(rest)))
			return n
		}
	}
	return 0
}
