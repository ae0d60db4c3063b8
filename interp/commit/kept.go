package commit

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// Kept finds what receipts keep: the objects that their transactions took out of
// the tree, as they were before. It belongs to the transaction that made it and is
// valid until that ends.
type Kept struct {
	w *work
	// at tells where the object that was at a path is held, for each receipt in
	// turn. Of a directory that went as a whole only the top is there.
	at []map[string]string
}

// Keep opens what the receipts keep, so that the contents that [Kept.Content]
// gives can be part of what [Tx.Apply] makes. It changes nothing. A transaction
// has one Kept; the next call takes its place.
func (tx *Tx) Keep(receipts []*Receipt) (*Kept, error) {
	if tx.done {
		return nil, errDone
	}
	k := &Kept{w: tx.w}
	var dirs []string
	for _, r := range receipts {
		held, err := tx.w.store.open(receiptsDir, r.ID)
		if err != nil {
			return nil, fmt.Errorf("what receipt %s keeps: %w", r.ID, err)
		}
		slotDirs := append([]string{held.slots[0].path}, held.slotDirs[1:]...)
		k.at = append(k.at, held.originals(slotDirs))
		held.close()
		dirs = append(dirs, slotDirs...)
	}
	set, err := fsroot.New(dirs)
	if err != nil {
		return nil, err
	}
	if tx.w.kept != nil {
		tx.w.kept.Close()
	}
	tx.w.kept = set
	return k, nil
}

// originals maps a path to where the object is held that was there first.
func (l *logical) originals(slotDirs []string) map[string]string {
	at := map[string]string{}
	for i := range l.segments {
		for k := range l.segments[i].ops {
			o := &l.segments[i].ops[k]
			taken := o.kind == opTake && o.moves == "" || o.kind == opSwap
			if _, known := at[o.path]; taken && !known && o.slot.dir < len(slotDirs) {
				at[o.path] = filepath.Join(slotDirs[o.slot.dir], strconv.FormatUint(o.slot.n, 10))
			}
		}
	}
	return at
}

// Content is the content of the regular file that was at path before, where one
// of the receipts keeps it: the stamped file, in the version that was stamped.
func (k *Kept) Content(path string, was changeset.Stamp) (*changeset.Content, bool) {
	for _, at := range k.at {
		for dir := path; dir != "/"; dir = filepath.Dir(dir) {
			held, ok := at[dir]
			if !ok {
				continue
			}
			held += path[len(dir):]
			st, err := k.w.kept.Lstat(held)
			if err == nil && st.Kind() == changeset.File && sameVersion(st, was) {
				return &changeset.Content{Origin: &changeset.Origin{Path: held, Stamp: st}}, true
			}
			break
		}
	}
	return nil, false
}

// Read reads a content that Kept or a view gave, up to max bytes.
func (tx *Tx) Read(c *changeset.Content, max int64) ([]byte, error) {
	if c.Origin == nil {
		return c.Bytes, nil
	}
	f, st, err := tx.w.openOrigin(c.Origin.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !st.Unchanged(c.Origin.Stamp) {
		return nil, moved(c.Origin.Path, "it is another file")
	}
	if st.Size > max {
		return nil, fmt.Errorf("%s: has %d bytes, more than %d", c.Origin.Path, st.Size, max)
	}
	data := make([]byte, st.Size)
	_, err = io.ReadFull(f, data)
	return data, err
}

// Hash is the SHA-256, in hex, of a content that Kept or a view gave.
func (tx *Tx) Hash(c *changeset.Content) (string, error) {
	if c.Origin == nil {
		return hashHex(c.Bytes), nil
	}
	f, st, err := tx.w.openOrigin(c.Origin.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if !st.Unchanged(c.Origin.Stamp) {
		return "", moved(c.Origin.Path, "it is another file")
	}
	return tx.w.hashOpen(f, c.Origin.Path, st)
}

func (w *work) isKept(path string) bool {
	if w.kept == nil {
		return false
	}
	_, _, ok := w.kept.Locate(path)
	return ok
}

// Net is the changeset that has the same effect as those of receipts, one after the
// other. It shares states with them and carries the contents of the last.
func Net(list []*changeset.Changeset) *changeset.Changeset {
	out := net(list, true)
	if len(list) == 1 {
		out.Changes = append([]changeset.Change(nil), out.Changes...)
	}
	return out
}
