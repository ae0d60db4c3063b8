package commit

import "fmt"

// Fault says why a receipt cannot be used.
type Fault string

const (
	// Damaged: it makes no sense, or is not there. [Store.Recover] can put it aside.
	Damaged Fault = "damaged"
	// Newer: a later version of this program wrote it.
	Newer Fault = "newer"
	// Exposed: others own it, or can write to it.
	Exposed Fault = "exposed"
)

// ReceiptError is a receipt that cannot be used. Nobody knows then whose the paths are,
// so nothing can be changed.
type ReceiptError struct {
	ID    string
	File  string
	Fault Fault
	Err   error
}

func (e *ReceiptError) Error() string {
	switch e.Fault {
	case Newer:
		return fmt.Sprintf("receipt %s was written by a newer version of steps: %v; use that version, or a later one, for this prefix", e.File, e.Err)
	case Exposed:
		return fmt.Sprintf("receipt %s cannot be trusted: %v", e.File, e.Err)
	}
	return fmt.Sprintf("receipt %s is damaged: %v; nobody knows what is its package's, so nothing is done with this prefix; "+
		"put the file back from a backup, or let steps recover --keep put the receipt aside, which leaves the tree as it is", e.File, e.Err)
}

func (e *ReceiptError) Unwrap() error { return e.Err }

// Is: what was exposed may be damaged, what is newer is not.
func (e *ReceiptError) Is(target error) bool { return target == ErrDamaged && e.Fault != Newer }

// newerError says what this program does not know of a receipt.
type newerError struct{ error }

func newerVersion(version int) error {
	return newerError{fmt.Errorf("it has version %d, and this program knows %d", version, receiptVersion)}
}

// Unreadable lists the receipts that an error of [Store.Receipts] is about, and gives the
// rest of it.
func Unreadable(err error) (list []*ReceiptError, rest error) {
	all, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil, err
	}
	for _, each := range all.Unwrap() {
		e, ok := each.(*ReceiptError)
		if !ok {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}
