package commit

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

const (
	partnerEnd    = ".json"
	partnerIntent = ".new" // the lock makes it ours
	maxPartner    = 64 << 10
)

// Partner is a transaction of another store that goes with one of this store: both are
// committed, or none is. It is noted before the other changes anything, and forgotten
// once both are at the same end.
type Partner struct {
	// ID is the transaction of this store, Store and Transaction are the other's.
	ID          string `json:"id"`
	Store       string `json:"store"`
	Transaction string `json:"transaction"`
}

func (p Partner) check() error {
	if !validID(p.ID) || !validID(p.Transaction) || !cleanAbs(p.Store) {
		return errors.New("malformed")
	}
	return nil
}

// NotePartner notes p, durably. It is for a transaction that is open here.
func (s *Store) NotePartner(p Partner) error {
	fail := func(err error) error {
		return fmt.Errorf("store %s: note transaction %s: %w", s.path, p.Transaction, err)
	}
	if err := p.check(); err != nil {
		return fail(err)
	}
	dir, err := s.partners()
	if err != nil {
		return fail(err)
	}
	defer unix.Close(dir)
	data, err := json.Marshal(p)
	if err != nil {
		return fail(err)
	}
	if err := s.dropIntent(); err != nil {
		return err
	}
	fd, err := s.disk.create(dir, partnerIntent, 0o600)
	if err != nil {
		return fail(err)
	}
	err = s.disk.write(fd, partnerIntent, data)
	if err == nil {
		err = s.disk.fsync(fd, partnerIntent)
	}
	unix.Close(fd)
	if err == nil {
		err = s.disk.move(dir, partnerIntent, dir, p.ID+partnerEnd)
	}
	if err == nil {
		err = s.disk.fsync(dir, partnersDir)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// dropIntent removes a note that was never made whole. It needs the lock.
func (s *Store) dropIntent() error {
	dir, err := s.partners()
	if err == nil {
		defer unix.Close(dir)
		err = s.disk.unlink(dir, partnerIntent)
	}
	if err != nil && err != unix.ENOENT {
		return fmt.Errorf("store %s: remove %s/%s: %w", s.path, partnersDir, partnerIntent, err)
	}
	return nil
}

// Partners lists what is noted, oldest first. It takes no lock.
func (s *Store) Partners() ([]Partner, error) {
	dir, err := s.partners()
	if err != nil {
		return nil, fmt.Errorf("store %s: %s: %w", s.path, partnersDir, err)
	}
	defer unix.Close(dir)
	names, err := namesIn(dir)
	if err != nil {
		return nil, fmt.Errorf("store %s: %s: %w", s.path, partnersDir, err)
	}
	var list []Partner
	for _, name := range names {
		id, ok := strings.CutSuffix(name, partnerEnd)
		if !ok {
			continue
		}
		p, err := readPartner(dir, name)
		if err == nil && p.ID != id {
			err = fmt.Errorf("is of %s", p.ID)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(s.path, partnersDir, name), errors.Join(ErrDamaged, err))
		}
		list = append(list, p)
	}
	return list, nil
}

// ForgetPartner forgets the partner of the transaction id, if there is one.
func (s *Store) ForgetPartner(id string) error {
	if !validID(id) {
		return fmt.Errorf("forget the partner of %q: %w", id, ErrNoReceipt)
	}
	dir, err := s.partners()
	if err == nil {
		defer unix.Close(dir)
		err = s.disk.unlink(dir, id+partnerEnd)
	}
	if err != nil && err != unix.ENOENT {
		return fmt.Errorf("store %s: forget the partner of %s: %w", s.path, id, err)
	}
	return nil
}

func (s *Store) partners() (int, error) { return openPrivate(int(s.dir.Fd()), partnersDir) }

func readPartner(dir int, name string) (p Partner, err error) {
	data, err := readPrivate(dir, name, maxPartner)
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace(data), &p, json.RejectUnknownMembers(true))
	}
	if err == nil {
		err = p.check()
	}
	return p, err
}

// Standing is how far a transaction is.
type Standing int

const (
	Unmade     Standing = iota // taken back, or recovery will do that
	Committing                 // recovery will complete it
	Committed                  // durably
)

// Standing tells how far the transaction id is. It takes no lock.
func (s *Store) Standing(id string) (Standing, error) {
	// Also one that cannot be read by now is of a transaction that was committed.
	if _, err := s.Receipt(id); err == nil || is[*ReceiptError](err) {
		return Committed, nil
	} else if !errors.Is(err, ErrNoReceipt) {
		return Unmade, err
	}
	pending, err := s.Pending()
	for _, p := range pending {
		switch {
		case p.ID == id && p.Damaged != "":
			return Unmade, fmt.Errorf("transaction %s: %s", id, p.Damaged)
		case p.ID == id && p.Committed:
			return Committing, nil
		}
	}
	return Unmade, err
}
