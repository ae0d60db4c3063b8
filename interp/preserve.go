package interp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
	"steps.example/interp/internal/merge3"
	"steps.example/interp/view"
	"steps.example/steps"
)

// Names of what is put beside a file that the user changed. A number follows where
// the name is taken.
const (
	newSuffix = ".steps-new"
	oldSuffix = ".steps-old"
	maxBeside = 100
)

// situation is what a step with preserve finds: the object that is there, what the
// package last had for the path (the base), and what it has now.
type situation struct {
	// nothing and odd: there is nothing, or neither a file nor a link.
	nothing, odd bool
	// known: there is a base.
	known bool
	// hereIsNew, hereIsBase and baseIsNew compare the three.
	hereIsNew, hereIsBase, baseIsNew bool
}

// outcome is what a step with preserve does.
type outcome int

const (
	leaveIt   outcome = iota // as it is
	putNew                   // the new content, in the place of what is there
	moveOld                  // what is there beside, the new content in its place
	newBeside                // the new content beside
	mergeBoth                // both sides' changes, or the new content beside
	failOdd                  // an error
)

// decide is the whole meaning of preserve. What the user removed counts as changed,
// and a package that has nothing new has no reason to touch what the user changed.
func decide(preserve string, s situation) outcome {
	replaces := preserve == steps.PreserveReplace
	switch {
	case s.odd && preserve == steps.PreserveKeep:
		return leaveIt
	case s.odd:
		return failOdd
	case s.nothing && (!s.known || replaces):
		return putNew
	case s.hereIsNew:
		return leaveIt
	case replaces || s.known && s.hereIsBase:
		return putNew
	case s.known && s.baseIsNew:
		return leaveIt
	}
	switch preserve {
	case steps.PreserveRenameOld:
		if s.nothing {
			return putNew
		}
		return moveOld
	case steps.PreserveRenameNew:
		return newBeside
	case steps.PreserveMerge:
		if s.nothing || !s.known {
			return newBeside
		}
		return mergeBoth
	}
	return leaveIt
}

// matter is what a file or link is, to be compared: a hash or a link's text.
type matter struct{ sha256, target string }

// offer is what a step has for a path.
type offer struct {
	matter
	// data is a file's content.
	data []byte
	// put puts it at a path where nothing is, or a file or link.
	put func(path string) error
}

func hashHex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// fileOffer offers a file with this content.
func (m *machine) fileOffer(data []byte) offer {
	return offer{matter: matter{sha256: hashHex(data)}, data: data, put: func(p string) error {
		return m.view.Replace(p, data, 0o666)
	}}
}

// linkOffer offers a link with this text.
func (m *machine) linkOffer(text string) offer {
	return offer{matter: matter{target: text}, put: func(p string) error {
		if err := m.clear(p); err != nil {
			return err
		}
		return m.view.Symlink(text, p)
	}}
}

// preserveCopy copies one file, links to it followed, as preserve says.
func (m *machine) preserveCopy(preserve, source, dest string) error {
	data, err := m.view.ReadFile(source)
	if err != nil {
		return err
	}
	o := m.fileOffer(data)
	o.put = func(p string) error {
		if err := m.unlinkSymlink(p); err != nil {
			return err
		}
		return m.view.CopyFile(source, p)
	}
	return m.preserve(preserve, dest, o)
}

// preserve does what a step with preserve does about one path.
func (m *machine) preserve(preserve, p string, o offer) error {
	at, err := m.view.Physical(p)
	if err != nil {
		return err
	}
	base, baseData := m.base(at)
	m.noteBase(at, o)
	st, err := m.view.Lstat(p)
	if err != nil && !view.IsAbsent(err) {
		return err
	}
	s := situation{nothing: st == nil, known: base != matter{}}
	var here matter
	var hereData []byte
	switch {
	case st == nil:
	case st.Kind == changeset.Symlink:
		here.target = st.Target
	case st.Kind == changeset.File:
		if hereData, err = m.view.ReadFile(p); err != nil {
			return err
		}
		here.sha256 = hashHex(hereData)
	default:
		s.odd = true
	}
	s.hereIsNew, s.hereIsBase, s.baseIsNew = here == o.matter, here == base, base == o.matter
	switch decide(preserve, s) {
	case putNew:
		return o.put(p)
	case moveOld:
		return m.moveOld(p, st, o)
	case newBeside:
		if err := m.leaveToUser(at, here); err != nil {
			return err
		}
		return m.beside(p, st, o)
	case mergeBoth:
		stays, err := m.merge(p, st, o, baseData, hereData)
		if err != nil || !stays {
			return err
		}
		return m.leaveToUser(at, here)
	case failOdd:
		if st.Kind == changeset.Dir {
			return fmt.Errorf("%s: %w", p, unix.EISDIR)
		}
		return fmt.Errorf("%s: is neither a file nor a symlink", p)
	}
	// It is as the step has it, or stays although it is not: only the former can
	// be adopted or used.
	if s.hereIsNew {
		if err := m.keepFound(at); err != nil {
			return err
		}
	}
	if s.known && !s.hereIsBase {
		return m.leaveToUser(at, here)
	}
	return nil
}

// leaveToUser notes that what is here, at a physical path, is the user's doing, where it
// is not what the package's last word on the path was. Nothing counts as well.
func (m *machine) leaveToUser(at string, here matter) error {
	l := m.claims.ledger
	if l == nil {
		return nil
	}
	last, id, ok := l.owners.Last(at)
	if !ok || id != m.claims.self || l.mine[at] || m.adopted(at) {
		return nil
	}
	was := matter{}
	if owner, there := l.owners.Of(at); there {
		was = matter{owner.State.SHA256, owner.State.Target}
	}
	if here == was {
		return nil
	}
	m.noteYours(at)
	// The receipt with the newest base told so, if it was so then and nothing was put
	// there since.
	if _, receipt, ok := l.owners.Base(at, id); ok && last <= receipt {
		r, err := l.store.Receipt(receipt)
		if err != nil {
			return err
		}
		if slices.Contains(r.Yours, at) {
			return nil
		}
	}
	m.settled.newly = true
	return nil
}

// noteYours notes a path for the receipt.
func (m *machine) noteYours(at string) {
	if !slices.Contains(m.settled.yours, at) {
		m.settled.yours = append(m.settled.yours, at)
	}
}

// base is what this package last had for a physical path: what its steps with
// preserve recorded, else what it left there; and how to get at the content.
func (m *machine) base(at string) (matter, func() ([]byte, bool)) {
	none := func() ([]byte, bool) { return nil, false }
	l := m.claims.ledger
	if l == nil {
		return matter{}, none
	}
	if b, receipt, ok := l.owners.Base(at, m.claims.self); ok {
		return matter{b.SHA256, b.Target}, func() ([]byte, bool) {
			if !b.Held {
				return nil, false
			}
			data, err := l.store.BaseContent(receipt, b.SHA256)
			return data, err == nil
		}
	}
	if owner, ok := l.owners.Of(at); ok && owner.Identity() == m.claims.self && owner.Made {
		return matter{owner.State.SHA256, owner.State.Target}, none
	}
	return matter{}, none
}

// noteBase records what a step has for a physical path. The last step counts.
func (m *machine) noteBase(at string, o offer) {
	b := commit.Base{Path: at, SHA256: o.sha256, Target: o.target}
	if o.sha256 != "" && len(o.data) <= commit.MaxBase {
		if m.settled.contents == nil {
			m.settled.contents = map[string][]byte{}
		}
		m.settled.contents[o.sha256] = o.data
	}
	for i := range m.settled.bases {
		if m.settled.bases[i].Path == at {
			m.settled.bases[i] = b
			return
		}
	}
	m.settled.bases = append(m.settled.bases, b)
}

// moveOld moves what is at p beside and puts the new content in its place, with the
// mode that the old one had.
func (m *machine) moveOld(p string, st *changeset.State, o offer) error {
	to, _, err := m.freeBeside(p+oldSuffix, matter{})
	if err != nil {
		return err
	}
	if err := m.view.Rename(p, to); err != nil {
		return err
	}
	if err := m.putBeside(to); err != nil {
		return err
	}
	if err := o.put(p); err != nil {
		return err
	}
	return m.sameMode(p, st, o)
}

// beside puts the new content beside p, as readable as what is there, and no more.
func (m *machine) beside(p string, st *changeset.State, o offer) error {
	to, there, err := m.freeBeside(p+newSuffix, o.matter)
	if err != nil || there {
		return err
	}
	if err := o.put(to); err != nil {
		return err
	}
	if err := m.putBeside(to); err != nil {
		return err
	}
	return m.sameMode(to, st, o)
}

// putBeside notes that what was put at p is for the user to look through.
func (m *machine) putBeside(p string) error {
	at, err := m.view.Physical(p)
	if err == nil {
		m.noteYours(at)
	}
	return err
}

func (m *machine) sameMode(p string, st *changeset.State, o offer) error {
	if st == nil || st.Kind != changeset.File || o.sha256 == "" {
		return nil
	}
	return m.view.Chmod(p, st.Mode)
}

// freeBeside finds a name that nothing has, or that has what is wanted already.
func (m *machine) freeBeside(name string, wanted matter) (path string, there bool, err error) {
	for n := range maxBeside {
		path := name
		if n > 0 {
			path = fmt.Sprintf("%s.%d", name, n)
		}
		st, err := m.view.Lstat(path)
		switch {
		case err != nil:
			return "", false, err
		case st == nil:
			return path, false, nil
		case wanted == matter{}:
		case st.Kind == changeset.Symlink && wanted.target == st.Target:
			return path, true, nil
		case st.Kind == changeset.File && wanted.sha256 != "":
			data, err := m.view.ReadFile(path)
			if err != nil && !errors.Is(err, unix.EACCES) {
				return "", false, err
			}
			if err == nil && hashHex(data) == wanted.sha256 {
				return path, true, nil
			}
		}
	}
	return "", false, fmt.Errorf("%s and %d further names are taken; look through them and remove those that are not needed", name, maxBeside-1)
}

// merge brings the package's changes into what the user made of the file. Where
// both changed the same lines, the file stays, and the attempt is put beside. It reports
// whether the file stays.
func (m *machine) merge(p string, st *changeset.State, o offer, base func() ([]byte, bool), here []byte) (stays bool, err error) {
	before, ok := base()
	if !ok || st.Kind != changeset.File || o.sha256 == "" {
		return true, m.beside(p, st, o)
	}
	merged, ok := merge3.Merge(before, here, o.data)
	switch {
	case !ok:
		return true, m.beside(p, st, o)
	case merged.Conflicts > 0:
		return true, m.beside(p, st, m.fileOffer(merged.Text))
	case hashHex(merged.Text) == hashHex(here):
		return true, nil
	}
	return false, m.view.Replace(p, merged.Text, 0o666)
}
