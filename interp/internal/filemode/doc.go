// Package filemode parses and applies the mode operand of the chmod command, as
// the set_permissions step takes it.
//
//	mode, err := filemode.Parse("u=rwX,go=rX")
//	bits := mode.Apply(0o640, false, 0o022) // 0o644
//
// It accepts and computes what GNU chmod does: octal numbers, the symbolic form
// with lists and several operations ("u+r-w,g=u"), and octal numbers behind an
// operator ("+111"). Two of GNU's rules are easy to miss: an operation that does
// not say whom it affects leaves the bits of the umask alone, and an octal
// number of less than five digits does not clear the set-user-ID and
// set-group-ID bits of a directory. The chmod of macOS differs in the second.
//
// What it does not protect against: the package computes bits and touches no
// file. [Mode.MaySetID] only tells whether a mode can raise privileges; refusing
// it is up to the caller.
package filemode
