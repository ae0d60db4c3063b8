package commit

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// Owners reads whose the paths are, by the receipts that are there. While the
// store's lock is held, by a [Tx] of this Store, that cannot change, and what was
// found out is kept in a file for the next time. A receipt that cannot be read is
// a [*ReceiptError]: nobody knows what it owns.
//
// Receipts never change once they are there, so those that the file knows are not
// read again. The file is made anew where it is missing or makes no sense.
func (s *Store) Owners() (*Owners, error) {
	for attempt := 0; ; attempt++ {
		o, work, err := s.owners()
		// Without the lock a receipt may go away between listing and reading.
		if errors.Is(err, ErrNoReceipt) && s.lock == nil && attempt < 10 {
			continue
		}
		if is[*ReceiptError](err) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("whose the files are: %w", err)
		}
		if s.lock != nil && work > 0 && work >= o.file.count/16 {
			// Not having the file costs time, nothing else.
			_ = s.saveOwners(o)
		}
		return o, nil
	}
}

// owners also gives the number of records that the file has wrong or not at all.
func (s *Store) owners() (*Owners, int, error) {
	o := &Owners{file: s.loadOwners(), late: map[string][]ownerRecord{}}
	o.gone = make([]bool, len(o.file.receipts))
	ids, err := s.ids(receiptsDir)
	if err != nil {
		return nil, 0, err
	}
	dir, err := openPrivate(int(s.dir.Fd()), receiptsDir)
	if err != nil {
		return nil, 0, fmt.Errorf("store %s: %s: %w", s.path, receiptsDir, err)
	}
	defer unix.Close(dir)
	work, next := 0, 0
	drop := func(until string) {
		for ; next < len(o.file.receipts) && o.file.receipts[next].id < until; next++ {
			o.gone[next] = true
			work += 1 + o.file.receipts[next].records
		}
	}
	for _, id := range ids {
		drop(id)
		stamp, err := s.stampReceipt(dir, id)
		if err != nil {
			return nil, 0, err
		}
		if next < len(o.file.receipts) && o.file.receipts[next].id == id {
			if o.file.receipts[next].stamp == stamp {
				next++
				continue
			}
			o.gone[next] = true
			next++
		}
		n, err := s.readOwner(o, id, stamp)
		if err != nil {
			return nil, 0, err
		}
		work += 1 + n
	}
	drop("\xff")
	o.findLive()
	return o, work, nil
}

// stampReceipt stamps the file of a receipt; dir is that of all receipts.
func (s *Store) stampReceipt(dir int, id string) (changeset.Stamp, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, id+"/"+receiptName, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		// Whether the receipt or only its file is gone shows when it is read.
		_, err = s.Receipt(id)
	}
	if err != nil {
		return changeset.Stamp{}, err
	}
	return fsroot.StampOf(&st), nil
}

func (s *Store) readOwner(o *Owners, id string, stamp changeset.Stamp) (int, error) {
	r, err := s.Receipt(id)
	if err != nil {
		return 0, err
	}
	by := &ownerReceipt{act: r.act(), stamp: stamp}
	paths, records := recordsOf(r, by)
	by.records = len(records)
	for i, path := range paths {
		o.late[path] = append(o.late[path], records[i])
	}
	o.fresh = append(o.fresh, by)
	return len(records), nil
}

// loadOwners reads the file; one that is missing or damaged is an empty one.
func (s *Store) loadOwners() ownerFile {
	data, err := readPrivate(int(s.dir.Fd()), ownersName, maxOwners)
	if err != nil {
		return ownerFile{}
	}
	file, err := decodeOwners(data)
	if err != nil {
		return ownerFile{}
	}
	return file
}

// saveOwners puts a new file in the place of the old one. It is not made durable:
// its check sum tells whether it is whole.
func (s *Store) saveOwners(o *Owners) error {
	data := o.encode()
	if data == nil {
		return nil
	}
	dir := int(s.dir.Fd())
	for _, name := range []string{ownersNew, ownersName} {
		if err := s.disk.unlink(dir, name); err != nil && err != unix.ENOENT {
			return err
		}
	}
	fd, err := s.disk.create(dir, ownersNew, 0o600)
	if err != nil {
		return err
	}
	err = s.disk.write(fd, ownersNew, data)
	unix.Close(fd)
	if err != nil {
		return err
	}
	return s.disk.move(dir, ownersNew, dir, ownersName)
}
