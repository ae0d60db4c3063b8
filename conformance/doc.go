// Package conformance runs language-neutral cases against the interpreter: a
// tree before, a list of steps, and what an existing implementation makes of
// them. It is for the command's verb "conformance" and for tests.
//
// Every case goes the way that an apply goes: decoded, planned, judged,
// committed into a store, and taken back by undo. The cases are data
// (testdata); this package only builds trees, compares them and reports.
package conformance
