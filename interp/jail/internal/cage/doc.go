// Package cage is the helper process of the jail: it turns an order into a
// confined child, supervises it, ends its whole tree and reports.
//
// The helper is the one place where Go meets fork. Everything that needs a
// runtime (reading the order, opening files, building the Landlock ruleset and
// the seccomp filter) happens before; what the child does between fork and exec
// is a table of system calls with their arguments ready in memory, so the
// order of confinement can be read, and tested, in one list.
//
// The helper trusts its order. Whoever can start it with an order of their own
// gains nothing: it only ever runs a command with fewer rights than it has.
package cage
