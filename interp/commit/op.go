package commit

import (
	"steps.example/interp/changeset"
)

type opKind uint8

const (
	opTake opKind = iota + 1 // path → slot
	opPut                    // slot → path
	opSwap                   // slot ↔ path
	opAttr                   // attributes at path
)

// A slot is a place for one object, by number, in one of the transaction's slot
// directories (one per mount).
type slot struct {
	dir int
	n   uint64
}

// op is one change to the tree. It is done or not done, never half; attr, which
// may be three calls, is half done only in attributes, each of which tells.
type op struct {
	kind opKind
	path string
	slot slot
	// id is the object that take and put move, that swap brings in, and whose
	// attributes attr sets.
	id changeset.Stamp
	// was is the object that swap takes out.
	was changeset.Stamp
	// moves is set where the object taken or put is one that the tree keeps:
	// its other path. A put that does not move brings a new object.
	moves string
	// made are the objects below a new directory, as they were staged.
	made     []made
	old, new attrs
}

// made is an object that was built below a staged directory.
type made struct {
	rel string
	id  changeset.Stamp
}

const (
	hasMode = 1 << iota
	hasOwner
	hasTime
)

// attrs are the attributes that an attr operation sets, those in set.
type attrs struct {
	set      uint8
	mode     uint32
	uid, gid int
	mtime    int64
}

// attrsOf are the attributes of a stamp.
func attrsOf(s changeset.Stamp, set uint8) attrs {
	return attrs{set: set, mode: s.Perm(), uid: int(s.UID), gid: int(s.GID), mtime: s.MTime}
}

// segmentKind tells how the operations of a segment came to be done.
type segmentKind uint8

const (
	applied  segmentKind = iota + 1 // by this package
	captured                        // by a command, before they were written down
)

// segment is a list of operations that became durable, as an intent, at once.
type segment struct {
	kind segmentKind
	ops  []op
	// ran is how many of ops may have been carried out.
	ran int
	// back: the segment was taken back, durably.
	back bool
}

// saved is one object of a snapshot. Its slot has number 0 where no copy is
// needed to make it again.
type saved struct {
	path   string
	id     changeset.Stamp
	target string
	copy   slot
}

// snapshot is the state of what a command may write to, before it ran.
type snapshot struct {
	roots   []string
	entries []saved
}

// txState is how far a transaction got.
type txState uint8

const (
	stateOpen      txState = iota
	stateCommitted         // bring it to its end
	stateUndoing           // committed, and now being taken back
	stateBack              // all taken back, durably: only to be removed
)

// logical is what a journal says.
type logical struct {
	id       string
	roots    []string
	slotDirs []string // absolute paths; the first is the transaction's own, ""
	segments []segment
	snapshot *snapshot // open: a command may be running, or have run
	state    txState
	// redoFrom is the first segment that may not be done, when committed.
	redoFrom int
	// seal is the hash of the receipt that the commit record names.
	seal string
	// copies are the snapshot copies of this and earlier snapshots, by path.
	copies map[string]saved
	// pending has what was written after the last begin: intents that never
	// became durable as a whole, so none of them was carried out.
	pending     segment
	pendingSnap *snapshot
	heirs       []heir
	// scraps are slots of copies, and of what a command left, which nothing needs
	// once the transaction is committed.
	scraps []slot
}

// restored forgets the operations of the last segment, a captured one that was
// taken back for good.
func (l *logical) restored() {
	seg := &l.segments[len(l.segments)-1]
	for i := range seg.ops {
		if o := &seg.ops[i]; o.kind != opAttr {
			l.scraps = append(l.scraps, o.slot)
		}
	}
	seg.ops, seg.ran = nil, 0
}

// heir is an object that stands for another one, which it is equal to. What a
// command removed or wrote to comes back as another inode, and the segments
// before must know it as theirs.
type heir struct {
	dev, ino uint64 // of the object that it stands for
	mtime    int64  // which that had last
	now      changeset.Stamp
}

func heirOf(old, now changeset.Stamp) heir {
	return heir{dev: old.Dev, ino: old.Ino, mtime: old.MTime, now: now}
}
