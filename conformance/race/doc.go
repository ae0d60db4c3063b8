// Package race attacks a tree while steps works on it, as another process of the
// same user can: links that lead outside take the place of directories and files,
// parents are moved away, targets are replaced and written to, things are planted
// where something is to be made. It is for the command's verb "conformance race" and
// for tests.
//
// Every scene is attacked in two ways. A strike is one attack on one path right
// before one system call that changes a file system: single attacks at every place
// where they could matter, without any timing. The attacker is a process that knows
// nothing of calls and does all it can, all the time, while the scene goes on, or
// while what was stopped in the middle of it is recovered.
//
// The law: nothing outside is changed, opened or read (inotify tells, and a snapshot
// now and then), nothing of what is in the files there turns up in the tree, in the
// store or in a message, and nothing that was in the tree or that the attacker made
// is lost. A control has careless programs attacked in the same way, and insists
// that the attacker gets outside.
//
//	if race.IsPart() {
//		os.Exit(race.Part())
//	}
//
// comes first in main: the program that uses this package is also the attacker.
//
// What it does not show: the roots themselves and the store are not attacked, for
// links on the way to them are the user's, and who can write to the store can undo
// everything. A hard link to a file outside that is in the tree before steps looks at
// it is a file of the tree, and gets other modes, owners and times like one. What
// others do to the tree while a command runs that is watched by comparison counts as
// the command's.
package race
