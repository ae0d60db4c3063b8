package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// What a store directory holds.
const (
	lockName     = "lock"
	openDir      = "tx"       // transactions not at their end
	receiptsDir  = "receipts" // committed ones
	keptDir      = "kept"     // given up, with all that they held
	trashDir     = "trash"    // at their end, being removed
	partnersDir  = "partners" // of open ones, see Partner
	slotsName    = "slots"
	receiptName  = "receipt.json"
	begunPrefix  = "begun."
	slotDirStart = changeset.Reserved
)

// Store is the state directory of one prefix. It belongs to one user, mode 0700.
// A Store is for one goroutine; several processes may open one, and the lock
// lets one of them at a time change anything.
type Store struct {
	path string
	dir  *os.File
	lock *os.File // held while a transaction, recovery or undo goes on
	disk disk
	live []*work // with open descriptors
	// maxFound takes the place of the constant in tests.
	maxFound int
}

func (s *Store) budget() budget {
	if s.maxFound > 0 {
		return budget(s.maxFound)
	}
	return maxFound
}

// OpenStore opens the store at dir, an absolute path, and makes it if it is not
// there. It refuses one that another user owns or may enter.
func OpenStore(dir string) (*Store, error) {
	if !cleanAbs(dir) {
		return nil, fmt.Errorf("store %q: must be a clean absolute path", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("store %s: %w", dir, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("store %s: %w", dir, err)
	}
	fd, err := openPrivate(unix.AT_FDCWD, dir)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", dir, err)
	}
	s := &Store{path: dir, dir: os.NewFile(uintptr(fd), dir)}
	for _, name := range []string{openDir, receiptsDir, keptDir, trashDir, partnersDir} {
		if err := s.disk.mkdir(fd, name, 0o700); err != nil && err != unix.EEXIST {
			s.Close()
			return nil, fmt.Errorf("store %s: make %s: %w", dir, name, err)
		}
		sub, err := openPrivate(fd, name)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("store %s: %s: %w", dir, name, err)
		}
		unix.Close(sub)
	}
	return s, nil
}

// Path is the directory of the store.
func (s *Store) Path() string { return s.path }

// Close closes the store. An open transaction stays to be recovered.
func (s *Store) Close() {
	for len(s.live) > 0 {
		s.live[0].close()
	}
	s.unlock()
	s.dir.Close()
}

// openPrivate opens a directory that must be ours alone.
func openPrivate(at int, name string) (int, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	st, err := fsroot.StampFD(fd)
	if err == nil && int(st.UID) != os.Geteuid() {
		err = fmt.Errorf("is owned by uid %d, not by you (uid %d)", st.UID, os.Geteuid())
	}
	if err == nil && st.Perm()&0o077 != 0 {
		err = fmt.Errorf("has mode %04o, others may enter it; chmod it to 0700 if you trust what is in it", st.Perm())
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

var idPattern = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}\.[0-9]{9}Z$`)

// validID reports whether id is one that newID makes. They sort by time.
func validID(id string) bool { return idPattern.MatchString(id) }

func newID(t time.Time) string { return t.UTC().Format("20060102T150405.000000000Z") }

// ids lists the transactions in a directory of the store, oldest first.
func (s *Store) ids(dir string) ([]string, error) {
	fd, err := openPrivate(int(s.dir.Fd()), dir)
	if err != nil {
		return nil, fmt.Errorf("store %s: %s: %w", s.path, dir, err)
	}
	f := os.NewFile(uintptr(fd), filepath.Join(s.path, dir))
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", s.path, err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !validID(n) })
	slices.Sort(names)
	return names, nil
}

// shift moves a transaction directory from one directory of the store to
// another, atomically.
func (s *Store) shift(id, from, to string) error {
	at := int(s.dir.Fd())
	if err := s.disk.move(at, from+"/"+id, at, to+"/"+id); err != nil {
		return fmt.Errorf("store %s: move %s/%s to %s: %w", s.path, from, id, to, err)
	}
	return nil
}

// emptyTrash removes what transactions at their end left. It needs the lock.
func (s *Store) emptyTrash() error {
	if err := s.dropIntent(); err != nil {
		return err
	}
	ids, err := s.ids(trashDir)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.disk.removeAll(int(s.dir.Fd()), trashDir+"/"+id); err != nil {
			return fmt.Errorf("store %s: remove %s/%s: %w", s.path, trashDir, id, err)
		}
	}
	return nil
}
