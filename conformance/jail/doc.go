// Package jail holds the jail to what it promises: attacks and ordinary work as
// real programs inside the real jail, hostile environments around it, and
// commands whose output must not become real. It is for the command's verb
// "conformance jail" and for tests.
//
// The numbers are those of the table of attacks in the design. Each case has a
// control: the same thing without a jail succeeds, which shows that the case
// can fail. Where this user or machine could not do it anyway, the result says
// so, and the jail is held to its answer all the same.
//
// The program that uses this package is also the attacker: it calls [IsPart]
// first thing in main, and [Part] if that is true.
//
//	if jail.IsPart() {
//		os.Exit(jail.Part())
//	}
//
// The suite shows that known attacks fail. It does not show that there are no
// others, and says nothing about faults in the kernel.
package jail
