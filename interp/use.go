package interp

import (
	"bytes"
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

// disposition is what becomes of an object that is there as a step wants it.
type disposition int

const (
	nobody  disposition = iota // nothing: it is the package's, or the user's
	adopted                    // the package's, as the user said
	used                       // another package's, on which this one counts
)

// disposition is that of an object of a kind at a physical path. A directory is shared,
// and never adopted.
func (m *machine) disposition(path string, kind changeset.Kind) disposition {
	c := &m.claims
	if c.ledger == nil || c.spare.cover(path) || c.ledger.mine[path] || m.settled.found[path] {
		return nobody
	}
	owner, owned := c.ledger.owners.Of(path)
	owned = owned && owner.Made
	switch {
	case owned && owner.Identity() == c.self:
		return nobody
	case kind != changeset.Dir && c.adopt.cover(path):
		return adopted
	case owned && !c.ledger.owners.Uses(path, c.self):
		return used
	}
	return nobody
}

// keepFound notes what becomes of what is at path, as the step wants it.
func (m *machine) keepFound(path string) error {
	st, err := m.view.Lstat(path)
	if err != nil || st == nil {
		return err
	}
	is := m.disposition(path, st.Kind)
	if is == nobody {
		return nil
	}
	found := commit.Adopted{Path: path, State: &changeset.State{}}
	*found.State = *st
	if st.Kind == changeset.File {
		data, err := m.view.ReadFile(path)
		if err != nil {
			return err
		}
		found.State.SHA256 = hashHex(data)
	}
	if m.settled.found == nil {
		m.settled.found = map[string]bool{}
	}
	m.settled.found[path] = true
	if is == adopted {
		m.settled.adopted = append(m.settled.adopted, found)
	} else {
		m.settled.uses = append(m.settled.uses, found)
	}
	return nil
}

// keepFile does so for the file at p, if it has the content that a step would write.
func (m *machine) keepFile(p string, content []byte) error {
	at, err := m.view.Physical(p)
	if err != nil || m.disposition(at, changeset.File) == nobody {
		return err
	}
	st, err := m.view.Lstat(at)
	if err != nil || st == nil || st.Kind != changeset.File || st.Size != int64(len(content)) {
		return err
	}
	data, err := m.view.ReadFile(at)
	if errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil || !bytes.Equal(data, content) {
		return err
	}
	return m.keepFound(at)
}

// useDirs notes that the package counts on the directory at p, and on those above it,
// where another package made them.
func (m *machine) useDirs(p string) error {
	if m.settled.dirs[p] {
		return nil
	}
	if m.settled.dirs == nil {
		m.settled.dirs = map[string]bool{}
	}
	at, err := m.view.Real(p)
	if err != nil {
		return err
	}
	defer func() { m.settled.dirs[p] = true }()
	for ; at != "/" && !m.settled.dirs[at]; at = filepath.Dir(at) {
		m.settled.dirs[at] = true
		if err := m.keepFound(at); err != nil {
			return err
		}
	}
	return nil
}
