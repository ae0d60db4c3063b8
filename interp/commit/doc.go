// Package commit makes a [changeset.Changeset] real: all of it or nothing, also
// when the process is killed or the power fails, and it can take it back. It is
// the only package of the project that changes the real tree.
//
// # How
//
// A [Store] is a private directory, one per prefix. A transaction ([Tx]) gets a
// directory in it with a journal and numbered slots. [Tx.Apply] plans a list of
// operations, builds every new object in a slot, journals what it is about to
// do, syncs once, and only then touches the tree, with four operations that are
// each a single atomic system call:
//
//	take  an object of the tree is renamed into a slot
//	put   the object in a slot is renamed to its place, where nothing may be
//	swap  the object in a slot and the one at a path change places
//	attr  mode, owner or time of an object is set
//
// Nothing is ever overwritten or unlinked in the tree: what goes away sits in a
// slot until the transaction, or its receipt, is dropped. No progress is logged.
// Whether an operation was done shows in where its object is, by inode number,
// so each can be repeated, in both directions, any number of times.
//
// [Tx.Commit] writes the receipt and the commit record and syncs once. Recovery
// ([Store.Recover]) completes a transaction that has the record and takes back
// one that has not. [Store.Undo] takes a committed one back through the same
// code as a rollback.
//
// Around a step that executes, [Tx.Snapshot] saves what it may change, and
// [Tx.Capture] turns what it changed into operations like the above that are
// already done, so that rollback, recovery and undo know them too.
//
// # What it does not do
//
// It trusts that the file system keeps renames in order (ext4, xfs, btrfs, APFS
// and tmpfs do), that an inode number is not reused while its object is held,
// and that nobody but the user can write to the store. Whoever else runs with
// the user's rights can undo everything this package guards. Where the file
// system lacks RENAME_NOREPLACE, a file created by somebody else between a check
// and a rename is lost.
//
// Extended attributes and access lists of objects that are moved, replaced or
// put back stay with the object; those of copied files are not copied, nor those
// of files that a captured command rewrote or deleted. The times of a directory
// change when its entries do, and are not taken back.
package commit
