// Package seccomp builds the system call filter of the jail: the part of the
// policy that Landlock cannot express. It only builds the program; the jail's
// helper loads it. There is a filter for Linux on amd64 and arm64.
//
// The filter lists what is denied and allows the rest, because what a program
// needs to work is not known here while what leads out of a Landlock domain is.
// Calls that this package has never heard of are answered with ENOSYS, as an
// older kernel would.
//
// A filter sees numbers, not what pointers lead to: it cannot tell one path
// from another and cannot protect files. That is Landlock's part.
package seccomp
