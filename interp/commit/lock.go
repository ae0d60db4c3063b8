package commit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The lock is the kernel's, on a file of the store, and ends with the process that
// holds it, however that ends. What the file says, "PID TIME VERB", is for messages
// only: nothing is concluded from it.

// acquire takes the lock, or fails with a [*LockedError].
func (s *Store) acquire(verb string) error {
	f, err := s.flock(unix.LOCK_EX, verb)
	if err == nil {
		s.lock = f
	}
	return err
}

// Share keeps every process from changing anything until release is called, so
// that what is read meanwhile fits together; others may do so, too. While a
// transaction goes on it fails with a [*LockedError], and after one that was
// interrupted with an [*InterruptedError]. verb is as in [Options].
func (s *Store) Share(verb string) (release func(), err error) {
	f, err := s.flock(unix.LOCK_SH, verb)
	if errors.Is(err, unix.EROFS) {
		return func() {}, nil // nobody can change anything
	}
	if err != nil {
		return nil, err
	}
	pending, err := s.Pending()
	if err == nil && len(pending) > 0 {
		err = &InterruptedError{Pending: pending}
	}
	if err != nil {
		unflock(f)
		return nil, err
	}
	return func() { unflock(f) }, nil
}

func (s *Store) flock(how int, verb string) (*os.File, error) {
	if s.lock != nil {
		return nil, &LockedError{Store: s.path, PID: os.Getpid()}
	}
	fd, err := unix.Openat(int(s.dir.Fd()), lockName, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store %s: open lock: %w", s.path, err)
	}
	f := os.NewFile(uintptr(fd), filepath.Join(s.path, lockName))
	err = unix.Flock(fd, how|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		defer f.Close()
		return nil, s.holder(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("store %s: lock: %w", s.path, err)
	}
	text := fmt.Sprintf("%d %s %s\n", os.Getpid(), time.Now().UTC().Format(time.RFC3339), verb)
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(text), 0)
	}
	return f, nil
}

// holder is the error that names who has the lock. Who shared it and was the last
// to write to the file may be gone while others still have it.
func (s *Store) holder(f *os.File) error {
	e := &LockedError{Store: s.path}
	data, err := io.ReadAll(io.LimitReader(f, 100))
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 2 {
		return e
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil || pid <= 0 || unix.Kill(pid, 0) == unix.ESRCH {
		return e
	}
	e.PID = pid
	e.Since, _ = time.Parse(time.RFC3339, fields[1])
	if len(fields) == 3 && strings.Trim(fields[2], "abcdefghijklmnopqrstuvwxyz") == "" {
		e.Verb = fields[2]
	}
	return e
}

func (s *Store) unlock() {
	if s.lock != nil {
		unflock(s.lock)
		s.lock = nil
	}
}

// unflock gives a lock back explicitly: a child that is being forked at this moment
// has the file open until it executes.
func unflock(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
	f.Close()
}
