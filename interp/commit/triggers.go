package commit

import (
	"errors"

	"golang.org/x/sys/unix"
)

// triggersName is an empty file beside the receipts that have triggers, or settle
// some, so that the others need not be read to find them.
const triggersName = "triggers"

// TriggerReceipts lists the receipts that have Triggers or Settles, oldest first.
func (s *Store) TriggerReceipts() ([]*Receipt, error) {
	ids, err := s.ids(receiptsDir)
	if err != nil {
		return nil, err
	}
	var list []*Receipt
	for _, id := range ids {
		var st unix.Stat_t
		err := unix.Fstatat(int(s.dir.Fd()), receiptsDir+"/"+id+"/"+triggersName, &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r, err := s.Receipt(id)
		if errors.Is(err, ErrNoReceipt) {
			continue // undone in this moment
		}
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}
