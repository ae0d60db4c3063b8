package commit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

const (
	receiptVersion = 1
	maxReceipt     = 256 << 20
)

// Receipt is a committed changeset and where it came from.
type Receipt struct {
	Version  int       `json:"version"`
	ID       string    `json:"id"`
	Time     time.Time `json:"time"`
	Package  Package   `json:"package"`
	Layout   string    `json:"layout,omitempty"`
	Phase    string    `json:"phase,omitempty"`
	Document string    `json:"document_sha256,omitempty"` // hex
	// Bundle and Key are empty where the document was not signed.
	Bundle string   `json:"bundle_sha256,omitempty"` // hex
	Key    string   `json:"key_id,omitempty"`
	Roots  []string `json:"roots"`
	// Changeset is the net of the transaction, content hashes included.
	Changeset *changeset.Changeset `json:"changeset"`
	// Runs tells, in the caller's form, what was executed.
	Runs     []jsontext.Value  `json:"runs,omitempty"`
	Warnings []string          `json:"warnings,omitempty"`
	Meta     map[string]string `json:"meta,omitempty"`

	// Bases are what steps with preserve had for the paths that they are about.
	Bases []Base `json:"bases,omitempty"`
	// Spared are the paths that the user wanted left alone.
	Spared []Spared `json:"spared,omitempty"`
	// Yours are the paths of what is the user's by now, see [Yours].
	Yours []string `json:"yours,omitempty"`
	// Adopted are objects that the user gave to the package as they were.
	Adopted []Adopted `json:"adopted,omitempty"`
	// Uses are objects that another package had made just as the steps want them: it
	// is theirs, and this package counts on it.
	Uses []Adopted `json:"uses,omitempty"`

	// Action is what the transaction was for, such as "upgrade"; empty is an apply.
	Action string `json:"action,omitempty"`
	// Undoes is, for [ActionUndo], the receipt that was taken back as far as could be.
	Undoes string `json:"undoes,omitempty"`
	// Left are the paths that an undo, uninstall or repair found changed since and
	// left as they are.
	Left []Left `json:"left,omitempty"`
	// Skipped are steps that could not be done and were left out, as the user said.
	Skipped []Skipped `json:"skipped,omitempty"`
	// Replaces is the version that an upgrade took the place of.
	Replaces *Package `json:"replaces,omitempty"`
	// Target tells, in the caller's form, where and for whom the document was
	// interpreted.
	Target jsontext.Value `json:"target,omitempty"`
	// Triggers are, in the caller's form, actions that were put off until later.
	Triggers []jsontext.Value `json:"triggers,omitempty"`
	// Settles are the receipts whose triggers this transaction carried out.
	Settles []string `json:"settles,omitempty"`
	// Stored is the SHA-256, in hex, of the document that is kept beside the
	// receipt; empty where none is. [Tx.Commit] sets it.
	Stored string `json:"stored_sha256,omitempty"`
	// Keep is the document to be kept beside the receipt, at most [MaxDocument]
	// bytes; nil for none. [Store.Document] reads it.
	Keep []byte `json:"-"`
}

// Left is a path that was not taken back.
type Left struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

func (l Left) String() string {
	return changeset.Printable(l.Path) + ": " + l.Reason
}

// Skipped is a step, from 1, that was left out; 0 stands for all of them.
type Skipped struct {
	Step   int    `json:"step,omitempty"`
	Reason string `json:"reason"`
}

// Package is a name and version.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (p Package) String() string { return strings.TrimSpace(p.Name + " " + p.Version) }

// Names lists packages for people.
func Names(list []Package) string {
	words := make([]string, 0, len(list))
	for _, p := range list {
		words = append(words, p.String())
	}
	return strings.Join(words, ", ")
}

func encodeReceipt(r *Receipt, max int) ([]byte, error) {
	data, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode receipt: %w", err)
	}
	if len(data) > max {
		return nil, fmt.Errorf("encode receipt: %d bytes: at most %d", len(data), max)
	}
	return data, nil
}

// decodeReceipt is strict: unknown and doubled fields are errors, and so are
// paths that a receipt cannot have. One of a later version is a [newerError].
func decodeReceipt(data []byte) (*Receipt, error) {
	if len(data) > maxReceipt {
		return nil, fmt.Errorf("%d bytes: at most %d", len(data), maxReceipt)
	}
	r, err := parseReceipt(data, json.RejectUnknownMembers(true))
	if err == nil {
		return r, r.check()
	}
	var version struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(data, &version) == nil && version.Version > receiptVersion {
		return nil, newerVersion(version.Version)
	}
	// A later version may also have added to this one.
	if errors.Is(err, json.ErrUnknownName) {
		if r, err2 := parseReceipt(data); err2 == nil && r.check() == nil {
			return nil, newerError{err}
		}
	}
	return nil, err
}

func parseReceipt(data []byte, opts ...json.Options) (*Receipt, error) {
	r := &Receipt{}
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	if err := json.UnmarshalDecode(dec, r, opts...); err != nil {
		return nil, err
	}
	if _, trailing := dec.ReadToken(); trailing != io.EOF {
		return nil, errors.New("something follows it")
	}
	return r, nil
}

func (r *Receipt) check() error {
	switch {
	case r.Version > receiptVersion:
		return newerVersion(r.Version)
	case r.Version != receiptVersion:
		return fmt.Errorf("version %d: this program knows %d", r.Version, receiptVersion)
	case !validID(r.ID):
		return fmt.Errorf("id %q", r.ID)
	case r.Changeset == nil:
		return errors.New("no changeset")
	}
	if err := r.checkClaims(); err != nil {
		return err
	}
	for i := range r.Changeset.Changes {
		c := &r.Changeset.Changes[i]
		if !cleanAbs(c.Path) || c.From != "" && !cleanAbs(c.From) || c.Before == nil && c.After == nil {
			return fmt.Errorf("change %d: malformed", i)
		}
	}
	if (r.Action == ActionUndo) != (r.Undoes != "") || r.Undoes != "" && !(validID(r.Undoes) && r.Undoes < r.ID) {
		return fmt.Errorf("action %q that undoes %q", r.Action, r.Undoes)
	}
	for i, l := range r.Left {
		if !cleanAbs(l.Path) {
			return fmt.Errorf("left %d: malformed", i)
		}
	}
	for i, s := range r.Skipped {
		if s.Step < 0 || s.Reason == "" {
			return fmt.Errorf("skipped %d: malformed", i)
		}
	}
	for _, root := range r.Roots {
		if !cleanAbs(root) {
			return fmt.Errorf("root %q", root)
		}
	}
	return nil
}

// Receipts lists the committed transactions, oldest first. One that cannot be
// read is left out, and the error names it.
func (s *Store) Receipts() ([]*Receipt, error) {
	ids, err := s.ids(receiptsDir)
	if err != nil {
		return nil, err
	}
	var list []*Receipt
	var errs []error
	for _, id := range ids {
		r, err := s.Receipt(id)
		if errors.Is(err, ErrNoReceipt) {
			continue // undone in this moment
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, r)
	}
	return list, errors.Join(errs...)
}

// Receipt reads one receipt. An error matches [ErrNoReceipt] where there is
// none, and is a [*ReceiptError] where it cannot be used.
func (s *Store) Receipt(id string) (*Receipt, error) {
	if !validID(id) {
		return nil, fmt.Errorf("receipt %q: %w", id, ErrNoReceipt)
	}
	dir, err := openPrivate(int(s.dir.Fd()), receiptsDir+"/"+id)
	if errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("receipt %s: %w", id, ErrNoReceipt)
	}
	unusable := func(err error) error {
		e := &ReceiptError{ID: id, File: filepath.Join(s.path, receiptsDir, id, receiptName), Fault: Damaged, Err: err}
		if is[newerError](err) {
			e.Fault = Newer
		} else if is[exposedError](err) || errors.Is(err, unix.EACCES) {
			e.Fault = Exposed
		}
		return e
	}
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, unusable(err)
	}
	if err != nil {
		return nil, fmt.Errorf("receipt %s: %w", id, err)
	}
	defer unix.Close(dir)
	r, err := readReceipt(dir)
	if err == nil && r.ID != id {
		err = fmt.Errorf("is of %s", r.ID)
	}
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) {
		return nil, fmt.Errorf("receipt %s: %w", id, err) // says nothing about the receipt
	}
	if err != nil {
		return nil, unusable(err)
	}
	return r, nil
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func readReceipt(dir int) (*Receipt, error) {
	data, err := readPrivate(dir, receiptName, maxReceipt)
	if err != nil {
		return nil, err
	}
	return decodeReceipt(data)
}

// Drop forgets a receipt and removes what it kept for undo. The tree stays as
// it is.
func (s *Store) Drop(id string) error {
	if err := s.acquire("drop"); err != nil {
		return err
	}
	defer s.unlock()
	if _, err := s.Receipt(id); err != nil && !errors.Is(err, ErrDamaged) {
		return err
	}
	w, err := s.open(receiptsDir, id)
	if errors.Is(err, ErrDamaged) {
		if err := s.shift(id, receiptsDir, trashDir); err != nil {
			return err
		}
		return s.emptyTrash()
	}
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.reach(); err != nil {
		return err
	}
	return w.discard()
}

// asLeft is the state after a change that keeps the object: what that leaves out is as
// before left it, if before is known.
func asLeft(after, before *changeset.State) *changeset.State {
	if after == nil || before == nil {
		return after
	}
	kept := *after
	if kept.SHA256 == "" && kept.Kind == changeset.File {
		kept.SHA256 = before.SHA256
	}
	if kept.MTime == 0 {
		kept.MTime = before.MTime
	}
	if kept.UID == changeset.KeepOwner {
		kept.UID = before.UID
	}
	if kept.GID == changeset.KeepOwner {
		kept.GID = before.GID
	}
	return &kept
}

// asMoved is the state after a move of an object that had this stamp. Nobody read it, and
// others may have written to it before: it is known by its time.
func asMoved(after *changeset.State, stamp *changeset.Stamp) *changeset.State {
	if after == nil || after.Kind != changeset.File || after.SHA256 != "" || after.MTime != 0 || stamp == nil {
		return after
	}
	moved := *after
	moved.MTime = stamp.MTime
	return &moved
}

// net is the changeset that has the same effect as those given, one after the
// other. apart: others may have changed the tree in between, so what moves then need
// not be what was made before.
func net(list []*changeset.Changeset, apart bool) *changeset.Changeset {
	out := &changeset.Changeset{}
	if len(list) == 1 {
		out.Changes = list[0].Changes
		return out
	}
	index := map[string]int{}
	source := map[string]string{} // path now → path before all, of moved objects
	for _, cs := range list {
		moves := map[string]string{}
		made := map[string]changeset.Change{} // what moves now and was made before, by path
		stamps := map[string]*changeset.Stamp{}
		for i := range cs.Changes {
			stamps[cs.Changes[i].Path] = cs.Changes[i].Stamp
			if k, ok := index[cs.Changes[i].From]; ok {
				made[cs.Changes[i].From] = out.Changes[k]
			}
		}
		for i := range cs.Changes {
			c := cs.Changes[i]
			keeps := c.KeepsObject()
			if c.From != "" {
				if apart {
					c.After = asMoved(c.After, stamps[c.From])
				}
				from, known := source[c.From]
				if !known {
					from = c.From
					if m, ok := made[c.From]; ok && !m.KeepsObject() {
						from = "" // made by an earlier changeset
						c.Content, c.Origin = m.Content, m.Origin
						if !apart {
							c.After = asLeft(c.After, m.After)
						}
					}
				}
				moves[c.Path], c.From = from, from
			} else if !keeps {
				moves[c.Path] = ""
			}
			k, ok := index[c.Path]
			if !ok {
				index[c.Path] = len(out.Changes)
				out.Changes = append(out.Changes, c)
				continue
			}
			o := &out.Changes[k]
			after := c.After
			if keeps {
				after = asLeft(after, o.After)
			}
			o.After, o.Steps = after, append(o.Steps[:len(o.Steps):len(o.Steps)], c.Steps...)
			if !keeps {
				o.From, o.Origin, o.Content = c.From, c.Origin, c.Content
			}
			if o.From == o.Path {
				o.From = ""
			}
		}
		for path, from := range moves {
			source[path] = from
			if from == "" {
				delete(source, path)
			}
		}
	}
	kept := out.Changes[:0]
	for _, c := range out.Changes {
		if c.Before != nil || c.After != nil {
			kept = append(kept, c)
		}
	}
	out.Changes = kept
	out.Sort()
	return out
}
