// Package wire is what [steps.example/interp/jail] and its helper process say
// to each other: one Order down, one Report back. The encoding is private to
// one build of the two and carries its version first.
//
// It is written by hand because the helper's start is paid by every run step
// and a general decoder costs more than everything else that the helper does,
// and because JSON cannot carry paths that are not UTF-8. It does not
// authenticate: the jail passes orders by sealed memory that it made itself.
package wire
