package changeset

import "fmt"

// Kind says what sort of object is at a path.
type Kind string

const (
	Dir     Kind = "dir"
	File    Kind = "file"
	Symlink Kind = "symlink"
	// Other is a FIFO, socket or device. It occurs only as something that was
	// there before; nothing can create one.
	Other Kind = "other"
)

// KeepOwner as UID or GID means: whatever the committing process creates.
const KeepOwner = -1

// Mode bits as in st_mode, below the type.
const (
	SetUID   = 0o4000
	SetGID   = 0o2000
	Sticky   = 0o1000
	PermMask = 0o7777
)

// State is what is, or will be, at a path.
type State struct {
	Kind Kind `json:"kind"`
	// Mode has the permission, set-id and sticky bits (07777). It is 0 for a
	// symlink, whose own mode means nothing.
	Mode uint32 `json:"mode,omitempty"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
	// Size in bytes, of a regular file only.
	Size int64 `json:"size,omitempty"`
	// SHA256 of a regular file's content in hex; empty where nobody read it.
	SHA256 string `json:"sha256,omitempty"`
	// Target is a symlink's text, byte for byte.
	Target string `json:"target,omitempty"`
	// MTime in nanoseconds since 1970, set only where a step sets it (touch).
	// 0 means that the time is not part of the state.
	MTime int64 `json:"mtime,omitempty"`
}

// SameOwner reports whether s and o agree on owner and group, where both say.
func (s *State) SameOwner(o *State) bool {
	same := func(a, b int) bool { return a == b || a == KeepOwner || b == KeepOwner }
	return same(s.UID, o.UID) && same(s.GID, o.GID)
}

// String describes s in a few words for messages: "file 0644", "symlink to x".
func (s *State) String() string {
	switch {
	case s == nil:
		return "nothing"
	case s.Kind == Symlink:
		return fmt.Sprintf("symlink to %q", s.Target)
	default:
		return fmt.Sprintf("%s %04o", s.Kind, s.Mode)
	}
}

// Stamp identifies a real object and the version of it that was looked at. Two
// equal stamps mean: the same object, not changed in between (as far as ctime
// tells). Times are nanoseconds since 1970.
type Stamp struct {
	Dev   uint64 `json:"dev"`
	Ino   uint64 `json:"ino"`
	Mode  uint32 `json:"mode"` // st_mode whole, type bits included
	UID   uint32 `json:"uid"`
	GID   uint32 `json:"gid"`
	Nlink uint64 `json:"nlink"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"`
	CTime int64  `json:"ctime"`
}

const (
	typeMask = 0o170000
	typeDir  = 0o040000
	typeReg  = 0o100000
	typeLink = 0o120000
)

// Kind is the sort of object that was stamped.
func (s Stamp) Kind() Kind {
	switch s.Mode & typeMask {
	case typeDir:
		return Dir
	case typeReg:
		return File
	case typeLink:
		return Symlink
	}
	return Other
}

// Perm is the mode without the type bits.
func (s Stamp) Perm() uint32 { return s.Mode & PermMask }

// SameObject reports whether both stamps are of one inode.
func (s Stamp) SameObject(o Stamp) bool { return s.Dev == o.Dev && s.Ino == o.Ino }

// Unchanged reports whether o is the same object as s in the same version. For
// a directory, entries may have come and gone: only identity, mode and owner
// count, since its listing is compared entry by entry.
func (s Stamp) Unchanged(o Stamp) bool {
	if !s.SameObject(o) || s.Mode != o.Mode || s.UID != o.UID || s.GID != o.GID {
		return false
	}
	return s.Kind() == Dir || s.Size == o.Size && s.MTime == o.MTime && s.CTime == o.CTime
}

// State is the stamp as a State; a symlink's target is not known to it.
func (s Stamp) State() *State {
	st := &State{Kind: s.Kind(), UID: int(s.UID), GID: int(s.GID)}
	switch st.Kind {
	case File:
		st.Size, st.Mode = s.Size, s.Perm()
	case Dir, Other:
		st.Mode = s.Perm()
	}
	return st
}
