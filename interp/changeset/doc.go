// Package changeset holds the one currency of the system: the net difference
// between a tree before and a tree after, path by path.
//
// The interpreter produces a [Changeset] from a view, the jail produces one
// from what a command did, the judge ([Judge]) looks at both alike, and at the
// second by the contract of its step as well ([Contract]), commit makes one
// real, a receipt is one that was made real, and undo is its
// [Changeset.Inverse].
//
// Paths are absolute, clean and physical: no component before the last is a
// symbolic link at the time the changeset was made. The package does no I/O. It
// does not protect against a tree that moves between interpretation and
// commit: the [Stamp]s it carries let commit notice that.
package changeset
