package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// trustState is the directory with the newest statement of each package that was
// accepted here, so that none older is accepted later. It belongs to the user alone.
// There is a file for each package URL, which is replaced as a whole.
type trustState struct{ dir string }

// seenMark is the newest statement of a registry about a package.
type seenMark struct {
	Registry      string `json:"registry"`
	Revision      int    `json:"revision"`
	PayloadSHA256 string `json:"payload_sha256"` // hex
}

// seenFile is one file of the directory. Its name is the hash of the package URL.
type seenFile struct {
	Version int        `json:"version"`
	PURL    string     `json:"purl"`
	Seen    []seenMark `json:"seen"` // one a registry
}

const (
	seenVersion  = 1
	maxSeenBytes = 64 << 10
)

func seenName(purl string) string {
	sum := sha256.Sum256([]byte(purl))
	return hex.EncodeToString(sum[:]) + ".json"
}

// seen tells what was accepted of a package. Nothing is made where nothing is.
func (s trustState) seen(purl string) ([]seenMark, error) {
	dir, err := s.open()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return s.read(dir, purl)
}

// open opens the directory and insists that nobody else can have written there.
func (s trustState) open() (*os.File, error) {
	fd, err := unix.Open(s.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, s.fault(err)
	}
	dir := os.NewFile(uintptr(fd), s.dir)
	if err := private(dir); err != nil {
		dir.Close()
		return nil, s.fault(err)
	}
	return dir, nil
}

// private refuses what another user owns or may enter.
func private(f *os.File) error {
	var st unix.Stat_t
	switch err := unix.Fstat(int(f.Fd()), &st); {
	case err != nil:
		return err
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("is owned by uid %d, not by you (uid %d)", st.Uid, os.Geteuid())
	case st.Mode&0o077 != 0:
		return fmt.Errorf("has mode %04o, others may enter it", st.Mode&0o7777)
	}
	return nil
}

func (s trustState) read(dir *os.File, purl string) ([]seenMark, error) {
	name := seenName(purl)
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, s.fault(fmt.Errorf("%s: %w", name, err))
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if err := private(f); err != nil {
		return nil, s.fault(fmt.Errorf("%s %w", name, err))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSeenBytes+1))
	if err == nil && len(data) > maxSeenBytes {
		err = fmt.Errorf("has more than %d bytes", maxSeenBytes)
	}
	var file seenFile
	if err == nil {
		err = json.Unmarshal(data, &file, json.RejectUnknownMembers(true))
	}
	if err == nil {
		err = file.check(purl)
	}
	if err != nil {
		return nil, s.fault(fmt.Errorf("%s: %w", name, err))
	}
	return file.Seen, nil
}

func (f *seenFile) check(purl string) error {
	if f.Version != seenVersion {
		return fmt.Errorf("version %d is not known", f.Version)
	}
	if f.PURL != purl {
		return fmt.Errorf("is about %q", f.PURL)
	}
	for _, m := range f.Seen {
		if sum, err := hex.DecodeString(m.PayloadSHA256); err != nil || len(sum) != sha256.Size || m.Revision < 1 {
			return errors.New("has a revision or digest that is none")
		}
	}
	return nil
}

func (s trustState) fault(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return err
	}
	return &trustError{Kind: "state", Msg: fmt.Sprintf(
		"what this machine has seen of packages, in %s: %s; put it right, or move it away and lose the protection from older steps", s.dir, err)}
}

// keptState is the directory, kept from other processes until close.
type keptState struct {
	trustState
	dir *os.File
}

// keep makes the directory where it is missing and locks it.
func (s trustState) keep() (*keptState, error) {
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o700); err != nil {
		return nil, s.fault(err)
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, s.fault(err)
	}
	dir, err := s.open()
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		dir.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &exitError{code: exitLocked, err: fmt.Errorf("another process is at work in %s; try again when it is done", s.dir)}
		}
		return nil, s.fault(err)
	}
	return &keptState{s, dir}, nil
}

func (k *keptState) close() { k.dir.Close() }

// unchanged refuses what was verified before another process accepted a statement
// that is not older.
func (k *keptState) unchanged(purl string, m seenMark) error {
	list, err := k.read(k.dir, purl)
	if err != nil {
		return err
	}
	for _, was := range list {
		if was.Registry == m.Registry && (was.Revision > m.Revision || was.Revision == m.Revision && was != m) {
			return &trustError{Kind: "stale", Msg: fmt.Sprintf(
				"%s: revision %d was accepted meanwhile, and this is revision %d; try again with the current bundle", purl, was.Revision, m.Revision)}
		}
	}
	return nil
}

// record remembers m: the old file or the new one is there after a crash, and the new
// one once record has returned.
func (k *keptState) record(purl string, m seenMark) error {
	list, err := k.read(k.dir, purl)
	if err != nil {
		return err
	}
	file := seenFile{Version: seenVersion, PURL: purl, Seen: []seenMark{m}}
	for _, was := range list {
		if was == m {
			return nil
		}
		if was.Registry != m.Registry {
			file.Seen = append(file.Seen, was)
		}
	}
	data, err := json.Marshal(file)
	if err != nil {
		return k.fault(err)
	}
	if len(data) > maxSeenBytes {
		return k.fault(fmt.Errorf("%s would have more than %d bytes", seenName(purl), maxSeenBytes))
	}
	const fresh = ".new" // the lock makes it ours
	at := int(k.dir.Fd())
	fd, err := unix.Openat(at, fresh, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return k.fault(err)
	}
	f := os.NewFile(uintptr(fd), fresh)
	_, err = io.Copy(f, bytes.NewReader(data))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return k.fault(err)
	}
	if err := unix.Renameat(at, fresh, at, seenName(purl)); err != nil {
		return k.fault(err)
	}
	if err := k.dir.Sync(); err != nil {
		return k.fault(err)
	}
	return nil
}
