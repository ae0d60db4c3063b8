package commit

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"strings"

	"steps.example/interp/changeset"
)

// Record types. Numbers are varints, strings have a varint length before them.
const (
	recHeader    = iota + 1 // version, id, roots
	recSlotDir              // path
	recOp                   // one operation
	recMade                 // an object below the operation before it
	recBegin                // the operations since the last begin are an intent
	recCommit               // hash of the receipt: where that is whole, roll forward from here on
	recUndo                 // roll back from here on, though committed
	recRedo                 // segment number: undo was given up, roll forward from it on
	recBack                 // segment number: taken back, durably
	recEnd                  // all taken back, durably
	recReset                // forget operations that no begin follows
	recSnapRoot             // a path that a command may write to
	recSaved                // an object there
	recSnapBegin            // the command may run from here on
	recHeir                 // from the next begin or undo on, an equal object stands for an inode
	recRestored             // the last segment, a captured one, was taken back and is over
)

const journalVersion = 1

// enc appends values to a buffer.
type enc []byte

func (e enc) u(v uint64) enc { return binary.AppendUvarint(e, v) }
func (e enc) i(v int64) enc  { return binary.AppendVarint(e, v) }
func (e enc) s(v string) enc { return append(e.u(uint64(len(v))), v...) }

func (e enc) stamp(s changeset.Stamp) enc {
	return e.u(s.Dev).u(s.Ino).u(uint64(s.Mode)).u(uint64(s.UID)).u(uint64(s.GID)).
		u(s.Nlink).i(s.Size).i(s.MTime).i(s.CTime)
}

func (e enc) attrs(a attrs) enc {
	return append(e, a.set).u(uint64(a.mode)).i(int64(a.uid)).i(int64(a.gid)).i(a.mtime)
}

func (e enc) heir(h heir) enc { return e.u(h.dev).u(h.ino).i(h.mtime).stamp(h.now) }

func (e enc) slot(s slot) enc { return e.u(uint64(s.dir)).u(s.n) }

func (e enc) op(o *op) enc {
	e = append(e, recOp, byte(o.kind)).s(o.path).stamp(o.id)
	switch o.kind {
	case opTake, opPut:
		return e.slot(o.slot).s(o.moves)
	case opSwap:
		return e.slot(o.slot).stamp(o.was)
	}
	return e.attrs(o.old).attrs(o.new)
}

var errRecord = errors.New("malformed")

// dec takes values off a buffer. After the first malformed one bad is set and
// all others are zero.
type dec struct {
	b   []byte
	bad bool
}

func (d *dec) u() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || d.bad {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *dec) i() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 || d.bad {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *dec) byte() byte {
	if len(d.b) == 0 || d.bad {
		d.bad = true
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *dec) s() string {
	n := d.u()
	if n > uint64(len(d.b)) {
		d.bad = true
	}
	if d.bad {
		return ""
	}
	v := string(d.b[:n])
	d.b = d.b[n:]
	return v
}

// path is an absolute clean path, which is all that may ever be acted on.
func (d *dec) path() string {
	p := d.s()
	if !cleanAbs(p) {
		d.bad = true
	}
	return p
}

// rel is a clean relative path that stays below where it starts.
func (d *dec) rel() string {
	p := d.s()
	if !filepath.IsLocal(p) || filepath.Clean(p) != p || strings.ContainsRune(p, 0) {
		d.bad = true
	}
	return p
}

func (d *dec) u32() uint32 {
	v := d.u()
	if v > 1<<32-1 {
		d.bad = true
	}
	return uint32(v)
}

func (d *dec) stamp() changeset.Stamp {
	return changeset.Stamp{Dev: d.u(), Ino: d.u(), Mode: d.u32(), UID: d.u32(), GID: d.u32(),
		Nlink: d.u(), Size: d.i(), MTime: d.i(), CTime: d.i()}
}

func (d *dec) attrs() attrs {
	return attrs{set: d.byte(), mode: d.u32(), uid: int(d.i()), gid: int(d.i()), mtime: d.i()}
}

func (d *dec) heir() heir {
	return heir{dev: d.u(), ino: d.u(), mtime: d.i(), now: d.stamp()}
}

// slot is one in a directory that was declared before.
func (d *dec) slot(dirs int) slot {
	dir, n := d.u(), d.u()
	if dir >= uint64(dirs) {
		d.bad = true
		return slot{}
	}
	return slot{int(dir), n}
}

func cleanAbs(p string) bool {
	return len(p) > 1 && p[0] == '/' && filepath.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// record takes in one record. It is strict: whatever this version did not write
// itself is an error.
func (l *logical) record(payload []byte) error {
	d := &dec{b: payload}
	typ := d.byte()
	if (l.id == "") != (typ == recHeader) {
		return errors.New("header missing or doubled")
	}
	switch typ {
	case recHeader:
		if v := d.u(); v != journalVersion {
			return errors.New("written by another version of this program")
		}
		l.id = d.s()
		if !validID(l.id) {
			return errRecord
		}
		for range d.u() {
			l.roots = append(l.roots, d.path())
			if d.bad {
				break
			}
		}
		l.slotDirs = []string{""}
	case recSlotDir:
		l.slotDirs = append(l.slotDirs, d.path())
	case recOp:
		o := op{kind: opKind(d.byte()), path: d.path(), id: d.stamp()}
		switch o.kind {
		case opTake, opPut:
			o.slot, o.moves = d.slot(len(l.slotDirs)), d.s()
			d.bad = d.bad || o.moves != "" && !cleanAbs(o.moves)
		case opSwap:
			o.slot, o.was = d.slot(len(l.slotDirs)), d.stamp()
		case opAttr:
			o.old, o.new = d.attrs(), d.attrs()
		default:
			return errRecord
		}
		l.pending.ops = append(l.pending.ops, o)
	case recMade:
		if len(l.pending.ops) == 0 {
			return errRecord
		}
		o := &l.pending.ops[len(l.pending.ops)-1]
		o.made = append(o.made, made{rel: d.rel(), id: d.stamp()})
	case recBegin:
		l.pending.kind = segmentKind(d.byte())
		if (l.pending.kind == captured) != (l.snapshot != nil) || l.pending.kind > captured || l.pending.kind < applied {
			return errRecord
		}
		l.pending.ran = len(l.pending.ops)
		l.takeHeirs()
		l.segments = append(l.segments, l.pending)
		l.pending, l.snapshot = segment{}, nil
	case recReset:
		l.pending, l.pendingSnap, l.heirs = segment{}, nil, nil
	case recCommit:
		l.state, l.redoFrom = stateCommitted, max(0, len(l.segments)-1)
		if len(d.b) > 0 { // earlier versions wrote no more
			l.seal = d.s()
			d.bad = d.bad || !isHash(l.seal)
		}
	case recUndo:
		l.takeHeirs()
		l.state = stateUndoing
	case recRedo:
		n := d.u()
		if n > uint64(len(l.segments)) {
			return errRecord
		}
		l.state, l.redoFrom = stateCommitted, int(n)
		for i := range l.segments {
			l.segments[i].back = false
		}
	case recBack:
		n := d.u()
		if n >= uint64(len(l.segments)) {
			return errRecord
		}
		l.segments[n].back = true
	case recEnd:
		l.state = stateBack
	case recSnapRoot:
		if l.pendingSnap == nil {
			l.pendingSnap = &snapshot{}
		}
		l.pendingSnap.roots = append(l.pendingSnap.roots, d.path())
	case recSaved:
		if l.pendingSnap == nil {
			return errRecord
		}
		s := saved{path: d.path(), id: d.stamp(), target: d.s(), copy: d.slot(len(l.slotDirs))}
		l.pendingSnap.entries = append(l.pendingSnap.entries, s)
	case recSnapBegin:
		if l.pendingSnap == nil || l.snapshot != nil {
			return errRecord
		}
		l.openSnapshot()
	case recRestored:
		if n := len(l.segments); n == 0 || l.segments[n-1].kind != captured {
			return errRecord
		}
		l.restored()
	case recHeir:
		l.heirs = append(l.heirs, d.heir())
	default:
		return errors.New("unknown type")
	}
	if d.bad || len(d.b) != 0 {
		return errRecord
	}
	return nil
}

// openSnapshot makes the pending snapshot the open one.
func (l *logical) openSnapshot() {
	l.snapshot, l.pendingSnap = l.pendingSnap, nil
	for _, s := range l.snapshot.entries {
		if s.copy.n != 0 {
			l.copies[s.path] = s
			l.scraps = append(l.scraps, s.copy)
		}
	}
}

// takeHeirs makes the segments so far speak of the copies that the next one puts
// back in the place of objects that a command removed or wrote to.
func (l *logical) takeHeirs() {
	l.adopt(l.heirs...)
	l.heirs = nil
}

// adopt makes every mention of an inode that was put into the tree mean its
// heir. All heirs come in at once: the inode of one may have the number that
// another one's predecessor had. Mentions of earlier times keep theirs if the
// heir has the time of the object it stands for: what set the later time will be
// taken back.
func (l *logical) adopt(heirs ...heir) {
	if len(heirs) == 0 {
		return
	}
	type inode struct{ dev, ino uint64 }
	of := make(map[inode]heir, len(heirs))
	for _, h := range heirs {
		of[inode{h.dev, h.ino}] = h
	}
	set := func(s *changeset.Stamp) {
		h, ok := of[inode{s.Dev, s.Ino}]
		switch {
		case !ok:
		case h.now.MTime == h.mtime:
			s.Dev, s.Ino = h.now.Dev, h.now.Ino
		default:
			*s = h.now
		}
	}
	for i := range l.segments {
		for k := range l.segments[i].ops {
			o := &l.segments[i].ops[k]
			set(&o.id)
			for m := range o.made {
				set(&o.made[m].id)
			}
		}
	}
}
