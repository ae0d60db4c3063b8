// Package faults makes the system calls of a commit fail, and looks at what is
// left of the tree and at what the user is told. It is for the command's verb
// "conformance faults" and for tests.
//
// Every call by which a store changes a file system, in every scene, fails once
// with each of the errors that a full, broken or forbidding disk gives. It also
// fails for good, as a full disk does, so that nothing can be taken back until
// somebody makes room; and writes stop half way. The tree must be as before, or,
// once the commit is on record, as after; the store must be empty of unfinished
// work, after a recovery at the latest; and the error must be one message that
// says what failed, where, and why.
//
// Then the kernel itself makes them fail: file systems that fill up or are read
// only, files that cannot be changed, limits, names that are too long. These run
// in processes of their own, so the program that uses this package calls [IsPart]
// first thing in main, and [Part] if that is true.
//
// The suite does not show what a file system does that loses what it acknowledged,
// nor what a memory that runs out does.
package faults
