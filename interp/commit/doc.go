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
// ([Store.Recover]) completes a transaction that has the record, with the receipt
// that it names the hash of, and takes back one that has not. Where the tree is on
// another file system than the store, that is synced before a record is written that
// tells of it: there is no order between two. A document may be kept beside the receipt, [Store.Document], and
// what the receipts hold may become content of a later transaction, [Tx.Keep].
// [Store.Undo] takes a committed one back through the same
// code as a rollback.
//
// What a step that executes changes is captured as a changeset like any other,
// and becomes real only by [Tx.Apply]. There are two ways, with the same result.
// With layers the command writes to an overlay file system that the caller mounts,
// [Tx.Layers] makes the directories for it, and [Tx.CaptureLayers] reads them; the
// tree is never touched. Otherwise [Tx.Snapshot] copies what the command may
// change, and [Tx.Capture] writes down what it did change, as operations like the
// above that are already done, and takes them back at once. Either way the
// contents are copied to new files when they are applied, and must then be the
// ones that were captured: whatever the command still holds open, or has another
// name of, is not in the tree.
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
// put back stay with the object; those of copied files, such as what [Tx.Keep] gives
// back, are not copied, nor those of files that a command deleted or wrote to while a
// snapshot was all there was.
// What a command does to such attributes is not captured, nor are times: a new or
// rewritten file keeps its time of modification, one that was only touched, and
// every directory, gets none. The times of a directory change when its entries
// do, and are not taken back.
//
// Hard links are captured as files of their own, next to a list of them. In a
// layer a command that writes to a file with several names changes one of them,
// which is an error; one that was deleted afterwards goes unnoticed. A snapshot
// changes them all, and puts them back as files of their own. What others do to
// the tree while a command runs counts as the command's in a snapshot; with a
// layer it is an error where the command changed the same path, and may confuse
// the command elsewhere.
//
// A capture trusts that every process of the command is gone.
package commit
