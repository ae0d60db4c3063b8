package commit

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// Base is what a step with preserve had for a path: what a later version's step
// compares the file there with, whatever became of this one.
type Base struct {
	Path string `json:"path"`
	// SHA256 in hex of a file's content, or else Target, a link's text.
	SHA256 string `json:"sha256,omitempty"`
	Target string `json:"target,omitempty"`
	// Held says that the content is kept with the receipt, see [Store.BaseContent].
	Held bool `json:"held,omitempty"`
}

// Spared is a path that steps would have changed, and that the user wanted left
// alone.
type Spared struct {
	Path  string         `json:"path"`
	Verb  changeset.Verb `json:"verb"`
	Steps []int          `json:"steps,omitempty"`
}

// Adopted is an object that was there as a step would have made it: one that the
// user gave to the package, or that it uses.
type Adopted struct {
	Path  string           `json:"path"`
	State *changeset.State `json:"state"`
}

// checkClaims checks what a receipt says of paths beside its changeset.
func (r *Receipt) checkClaims() error {
	for i, b := range r.Bases {
		if !cleanAbs(b.Path) || (b.SHA256 == "") == (b.Target == "") || b.SHA256 != "" && !isHash(b.SHA256) || b.Held && b.SHA256 == "" {
			return fmt.Errorf("base %d: malformed", i)
		}
	}
	for i, s := range r.Spared {
		if !cleanAbs(s.Path) {
			return fmt.Errorf("spared path %d: malformed", i)
		}
	}
	for i, path := range r.Yours {
		if !cleanAbs(path) {
			return fmt.Errorf("path %d of the user's: malformed", i)
		}
	}
	for i, a := range r.Adopted {
		if !cleanAbs(a.Path) || a.State == nil {
			return fmt.Errorf("adopted path %d: malformed", i)
		}
	}
	for i, u := range r.Uses {
		if !cleanAbs(u.Path) || u.State == nil {
			return fmt.Errorf("used path %d: malformed", i)
		}
	}
	return nil
}

// isHash reports whether s is a SHA-256 in lower-case hex.
func isHash(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}

// basePrefix begins the names of the contents that a receipt keeps.
const basePrefix = "base."

// Contents kept for merging are bounded, in bytes: each, and all of one receipt.
const (
	MaxBase  = 1 << 20
	maxBases = 64 << 20
)

// HoldBases keeps the contents of r's bases, given by their hash, with the
// transaction and later with its receipt, and marks those of r that it keeps: not
// those that are too large. On an error the transaction is taken back.
func (tx *Tx) HoldBases(r *Receipt, contents map[string][]byte) error {
	if tx.done {
		return errDone
	}
	left := maxBases
	held := map[string]bool{}
	for i := range r.Bases {
		b := &r.Bases[i]
		data, ok := contents[b.SHA256]
		if !ok || hashHex(data) != b.SHA256 || len(data) > MaxBase || len(data) > left && !held[b.SHA256] {
			continue
		}
		if !held[b.SHA256] {
			if err := tx.w.writePrivate(basePrefix+b.SHA256, data); err != nil {
				return tx.fail(fmt.Errorf("keep what %s is to be merged with: %w", b.Path, err))
			}
			left -= len(data)
		}
		held[b.SHA256], b.Held = true, true
	}
	return nil
}

// BaseContent reads a content that a receipt keeps. An error matches [ErrDamaged]
// where it is not what it should be.
func (s *Store) BaseContent(receipt, sha256 string) ([]byte, error) {
	if !validID(receipt) || !isHash(sha256) {
		return nil, fmt.Errorf("content %s of receipt %q: %w", sha256, receipt, ErrNoReceipt)
	}
	dir, err := openPrivate(int(s.dir.Fd()), receiptsDir+"/"+receipt)
	if err != nil {
		return nil, fmt.Errorf("receipt %s: %w", receipt, err)
	}
	defer unix.Close(dir)
	name := basePrefix + sha256
	data, err := readPrivate(dir, name, MaxBase)
	if err == nil && hashHex(data) != sha256 {
		err = errors.New("holds something else")
	}
	if err != nil {
		return nil, fmt.Errorf("receipt %s: %s: %w", receipt, name, errors.Join(ErrDamaged, err))
	}
	return data, nil
}
