// Package crash stops the operations of package scene at every point and holds what
// recovery makes of it to the promise of package commit: the tree is as before or as
// after, to the bit, whichever the receipts say, and nothing is left behind. It is
// for the command's verb "conformance crash" and for tests.
//
// A point is before or after a call that changes a file system. There are two ways
// to stop there. As by SIGKILL, all that was done stays. As by a power failure, some
// of what was not synced is lost: on each file system by itself, names and attributes
// are kept up to some call and lost from there on, and of each file the content that
// was not synced is kept, lost, torn or in part zeros; see disk. No sync is done for
// real: the suite knows what it would have made durable, and takes back the rest.
//
// Recovery is stopped in the same ways, and again. What returned without an error,
// an operation or a recovery, must hold whatever happens later. In some scenes
// somebody changes the tree between the crash and recovery; then nothing of theirs
// or of before may be lost, and where recovery cannot decide, it says so.
//
// The model of the file system is that of ext4 and xfs, journal in order: what
// package commit trusts in. It is not shown that a disk keeps what it says it has
// synced, or that a file system does. What a command in the jail writes is not part
// of a power failure, as a scripted command's is; neither are OpenStore's directories
// and the lock. Systems other than Linux are not covered: how things are put back to
// what they were needs its calls.
package crash
