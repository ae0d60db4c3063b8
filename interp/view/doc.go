// Package view is an in-memory, copy-on-write picture of the real tree below a
// set of confined roots. The interpreter does all its work on it.
//
// Reads fall through to the real tree, by directory descriptors and without
// following a link by name; what was read is remembered, so nothing is read
// twice to decide and then act. Writes stay in memory. [View.Changes] gives the
// net difference as a changeset. The package never writes to disk.
//
// Symbolic links inside the roots are followed as the kernel would, absolute
// ones too, if they lead to a place inside a root; a link that leads out is an
// error that matches [fsroot.ErrOutside], never a read.
//
// It does not see hard links as one file, does not emulate permissions beyond
// refusing to change real directories that the process cannot write, and is not
// safe for concurrent use.
package view
