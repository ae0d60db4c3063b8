// Package probes is the command that the jail's canary runs: it tries, in a real
// jail, what must be denied and what must work, and says how each came out.
//
// It holds no more than a taste of every mechanism, quick enough to be tried
// before the first jail of a boot. The whole list of probes is the conformance
// suite's.
package probes
