package commit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// DriftKind says in what respect a path differs from a receipt.
type DriftKind string

const (
	DriftMissing  DriftKind = "missing"
	DriftAppeared DriftKind = "appeared" // it is there though it was deleted
	DriftKindOf   DriftKind = "kind"
	DriftContent  DriftKind = "content"
	DriftMode     DriftKind = "mode"
	DriftOwner    DriftKind = "owner"
	DriftTarget   DriftKind = "target"
	DriftTime     DriftKind = "time"
	// DriftExtra is something in a directory that the transaction made. Only
	// undo looks for it.
	DriftExtra DriftKind = "extra"
	// DriftUsed is something that another package found there and uses since. Only
	// undo looks for it.
	DriftUsed DriftKind = "used"
)

const (
	hashPrefix = "sha256 "
	timePrefix = "written at "
)

func showTime(nsec int64) string { return time.Unix(0, nsec).UTC().Format(time.RFC3339Nano) }

// Drift is one difference between the tree and a receipt.
type Drift struct {
	Path string    `json:"path"`
	Kind DriftKind `json:"kind"`
	Want string    `json:"want,omitempty"`
	Have string    `json:"have,omitempty"`
}

func (d Drift) String() string { return d.Path + " " + d.Says() }

// Says tells what is at the path, after its name.
func (d Drift) Says() string {
	switch d.Kind {
	case DriftMissing:
		return "is missing"
	case DriftAppeared:
		return "is there again, a " + d.Have
	case DriftExtra:
		return "was added"
	case DriftUsed:
		return "is used by " + d.Have
	case DriftKindOf:
		return fmt.Sprintf("is a %s now, should be a %s", d.Have, d.Want)
	case DriftTarget:
		return fmt.Sprintf("leads to %s, should lead to %s", d.Have, d.Want)
	case DriftContent:
		// Two hashes tell a reader nothing.
		if strings.HasPrefix(d.Have, hashPrefix) {
			return "has another content"
		}
	}
	return fmt.Sprintf("has another %s (%s, should be %s)", d.Kind, d.Have, d.Want)
}

// Leaves is what the receipt says of paths: its changes, and what the user gave to
// the package as it was, or it uses, which nothing had to be changed for.
func (r *Receipt) Leaves() *changeset.Changeset {
	if len(r.Adopted) == 0 && len(r.Uses) == 0 {
		return r.Changeset
	}
	changed := make(map[string]bool, len(r.Changeset.Changes))
	for i := range r.Changeset.Changes {
		changed[r.Changeset.Changes[i].Path] = true
	}
	out := &changeset.Changeset{Changes: slices.Clone(r.Changeset.Changes)}
	for _, a := range slices.Concat(r.Adopted, r.Uses) {
		if !changed[a.Path] {
			out.Changes = append(out.Changes, changeset.Change{Path: a.Path, After: a.State})
		}
	}
	out.Sort()
	return out
}

// Verify compares the tree with what a receipt left, in path order. It changes
// nothing and takes no lock. Things that the receipt does not name are no drift.
func (s *Store) Verify(r *Receipt) ([]Drift, error) {
	set, err := fsroot.New(r.Roots)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	return verify(set, r.Leaves())
}

// Verify compares the tree, as the transaction has it by now, with what cs leaves.
func (tx *Tx) Verify(cs *changeset.Changeset) ([]Drift, error) {
	tx.w.set.Forget("/")
	return verify(tx.w.set, cs)
}

func verify(set *fsroot.Set, cs *changeset.Changeset) ([]Drift, error) {
	var list []Drift
	shut := map[string]bool{} // directories that were left without search permission
	was := map[string]*changeset.Stamp{}
	for i := range cs.Changes {
		was[cs.Changes[i].Path] = cs.Changes[i].Stamp
	}
	for i := range cs.Changes {
		c := &cs.Changes[i]
		if c.After != nil && c.After.Kind == changeset.Dir && c.After.Mode&0o100 == 0 {
			shut[c.Path] = true
		}
		drifts, err := verifyOne(set, c.Path, c.After, was[c.From])
		// Its owner cannot look into such a directory, so nobody could have
		// changed what is in it without opening it, which is found at itself.
		if errors.Is(err, unix.EACCES) && below(c.Path, shut) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("verify %s: %w", c.Path, err)
		}
		list = append(list, drifts...)
	}
	return list, nil
}

// below reports whether a directory above path is in the set.
func below(path string, dirs map[string]bool) bool {
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}

// verifyOne compares one path with want. moved is what was known of the object before
// it was moved there, nil if it was not.
func verifyOne(set *fsroot.Set, path string, want *changeset.State, moved *changeset.Stamp) ([]Drift, error) {
	st, err := set.Lstat(path)
	missing := fsroot.IsMissing(err) || isLink(err)
	switch {
	case err != nil && !missing:
		return nil, err
	case want == nil && missing:
		return nil, nil
	case want == nil:
		return []Drift{{Path: path, Kind: DriftAppeared, Have: string(st.Kind())}}, nil
	case missing:
		return []Drift{{Path: path, Kind: DriftMissing, Want: want.String()}}, nil
	case st.Kind() != want.Kind:
		return []Drift{{path, DriftKindOf, string(want.Kind), string(st.Kind())}}, nil
	}
	var list []Drift
	differ := func(kind DriftKind, want, have string) {
		if want != have {
			list = append(list, Drift{path, kind, want, have})
		}
	}
	switch want.Kind {
	case changeset.File:
		if err := verifyContent(set, path, want, st, differ); err != nil {
			return nil, err
		}
		// Nobody reads what is only moved, so there is no hash; but its time goes along.
		if want.SHA256 == "" && want.MTime == 0 && want.Size == st.Size && moved != nil {
			differ(DriftContent, timePrefix+showTime(moved.MTime), timePrefix+showTime(st.MTime))
		}
	case changeset.Symlink:
		target, err := readlink(set, path)
		if err != nil {
			return nil, err
		}
		differ(DriftTarget, want.Target, target)
	}
	if want.Kind != changeset.Symlink {
		differ(DriftMode, fmt.Sprintf("%04o", want.Mode), fmt.Sprintf("%04o", st.Perm()))
	}
	if !want.SameOwner(st.State()) {
		differ(DriftOwner, fmt.Sprintf("%d:%d", want.UID, want.GID), fmt.Sprintf("%d:%d", st.UID, st.GID))
	}
	if want.MTime != 0 && want.Kind != changeset.Dir {
		differ(DriftTime, showTime(want.MTime), showTime(st.MTime))
	}
	return list, nil
}

// verifyContent compares by hash where the receipt has one, else by size.
func verifyContent(set *fsroot.Set, path string, want *changeset.State, st changeset.Stamp, differ func(DriftKind, string, string)) error {
	if want.Size != st.Size {
		differ(DriftContent, fmt.Sprintf("%d bytes", want.Size), fmt.Sprintf("%d bytes", st.Size))
		return nil
	}
	if want.SHA256 == "" {
		return nil
	}
	sum, _, err := hashFile(set, path)
	if errors.Is(err, unix.EACCES) && want.Mode&0o400 == 0 && st.Perm() == want.Mode {
		return nil // nor could anybody write to it without opening it up
	}
	if err != nil {
		return err
	}
	differ(DriftContent, hashPrefix+want.SHA256, hashPrefix+sum)
	return nil
}

// hashFile hashes a regular file and stamps it.
func hashFile(set *fsroot.Set, path string) (string, changeset.Stamp, error) {
	d, name, err := set.OpenParent(path)
	if err != nil {
		return "", changeset.Stamp{}, err
	}
	f, st, err := d.Open(name)
	if err != nil {
		return "", st, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", st, err
	}
	return hex.EncodeToString(h.Sum(nil)), st, nil
}

func readlink(set *fsroot.Set, path string) (string, error) {
	d, err := set.OpenDir(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return d.Readlink(filepath.Base(path))
}
