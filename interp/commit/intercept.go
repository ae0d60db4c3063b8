package commit

import "errors"

// Call is one system call by which a store changes a file system.
type Call struct {
	// Op is mkdir, create, write, truncate, clone, copy, symlink, move, exchange,
	// unlink, rmdir, chmod, chown, chtime, setxattr, removexattr, fsync or sync.
	Op string
	// Name is what the call is about, for messages.
	Name string
	// After: the call was made, and succeeded. Otherwise it is about to be made.
	After bool
	// FD is the file that the call acts on, -1 for calls that act on a name. It
	// may be open for its path only. It is valid while the interceptor runs.
	FD int
	// Dir and Entry are the open directory and the name in it of a call that acts
	// on a name, To and NewEntry where a move leads or what is exchanged with it.
	Dir      int
	Entry    string
	To       int
	NewEntry string
	// Offset and Length, in bytes, are of a write; -1 is the offset of the open
	// file. A write may do less. Length is the new size of a truncate.
	Offset, Length int64
	// Data is what a write is to write; it stays the store's.
	Data []byte
}

// ErrInstead is what an interceptor returns that did itself what the call was to
// do: the call is not made, and counts as done.
var ErrInstead = errors.New("done instead")

// Intercept has f called before and after every call by which the store changes a
// file system, in one goroutine at a time. What f returns before a call takes the
// place of the call, what it returns after one is ignored; it may panic to stop
// the store as a kill would. Only for tests and the conformance suite, which
// crash a store at every call; nil ends it.
func (s *Store) Intercept(f func(Call) error) { s.disk.hook = f }

// at is a call that acts on a name in a directory.
func at(op string, dir int, name string) Call {
	return Call{Op: op, Name: name, FD: -1, Dir: dir, Entry: name, To: -1}
}

// on is a call that acts on an open object.
func on(op string, fd int, name string) Call {
	return Call{Op: op, Name: name, FD: fd, Dir: -1, To: -1}
}
