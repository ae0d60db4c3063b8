package lookup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/theupdateframework/go-tuf/v2/metadata"
	"golang.org/x/sys/unix"
)

// floor is what the index must never fall below on this machine. go-tuf keeps the
// metadata; this is kept apart, flushed, so that no crash takes it back.
type floor struct {
	// Pinned is the SHA-256 of the pinned root, under which the rest was seen.
	Pinned string `json:"pinnedSha256"`
	// Keys are the timestamp and snapshot keys. When the root replaces them, versions
	// that they signed count no more (TUF 5.3.11).
	Keys      string    `json:"keys"`
	Timestamp int64     `json:"timestamp"`
	Refreshed time.Time `json:"refreshed"`
}

// seen is the newest revision of a package that was accepted here.
type seen struct {
	PURL     string `json:"purl"`
	Revision int    `json:"revision"`
	Payload  string `json:"payloadSha256"`
}

// state is the directory. Only its owner may read or write it.
type state struct{ dir string }

const maxStateBytes = 64 << 10

func openState(dir string) (*state, error) {
	hint := "give a directory of your own with mode 0700"
	if dir == "" {
		return nil, fail(KindState, hint, "no state directory; without one, an older index could not be told")
	}
	for _, d := range []string{dir, filepath.Join(dir, "tuf"), filepath.Join(dir, "seen")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fail(KindState, hint, "%s", printable(err))
		}
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fail(KindState, hint, "%s", printable(err))
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm()&0o077 != 0 || ok && int(stat.Uid) != os.Geteuid() {
		return nil, fail(KindState, hint, "state directory %s is not this user's alone: mode %v", dir, info.Mode())
	}
	return &state{dir}, nil
}

// lock keeps other processes out until unlock: two refreshes at once could put the
// older one last.
func (s *state) lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, stateError(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, stateError(err)
	}
	return func() { f.Close() }, nil
}

// read reads a file into value; a missing one leaves value as it is.
func (s *state) read(name string, value any) error {
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(data) > maxStateBytes {
		err = fmt.Errorf("%s has %d bytes", name, len(data))
	}
	if err == nil {
		err = json.Unmarshal(data, value, json.RejectUnknownMembers(true))
	}
	return stateError(err)
}

// write replaces a file so that it is the old or the new one after a crash, and the new
// one once write has returned.
func (s *state) write(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return stateError(err)
	}
	path := filepath.Join(s.dir, name)
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return stateError(err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return stateError(err)
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return stateError(err)
	}
	return stateError(syncDir(filepath.Dir(path)))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// forget removes metadata that a new pinned root puts out of use.
func (s *state) forget() error {
	list, err := filepath.Glob(filepath.Join(s.dir, "tuf", "*.json"))
	for _, name := range list {
		err = errors.Join(err, os.Remove(name))
	}
	return stateError(err)
}

func seenName(purl string) string {
	sum := sha256.Sum256([]byte(purl))
	return filepath.Join("seen", hex.EncodeToString(sum[:])+".json")
}

func stateError(err error) error {
	if err == nil {
		return nil
	}
	return fail(KindState, "see that the directory can be written; if a file in it is damaged, move it away: this machine then forgets what it has seen",
		"state: %s", printable(err))
}

// onlineKeys names the keys of the roles whose versions the floor counts.
func onlineKeys(root *metadata.Metadata[metadata.RootType]) string {
	var ids []string
	for _, role := range []string{metadata.TIMESTAMP, metadata.SNAPSHOT} {
		if r := root.Signed.Roles[role]; r != nil {
			ids = append(ids, r.KeyIDs...)
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}
