// Package sbpl writes the macOS side of a jail policy: a profile in Apple's
// sandbox profile language, for /usr/bin/sandbox-exec. It also reads such
// profiles back and decides by them, so that what a profile allows can be
// tested on a machine without a Seatbelt.
//
//	program, err := sbpl.Generate(sbpl.Policy{Writes: []string{"/private/tmp/x"}})
//	// sandbox-exec program.Args()... command
//	profile, err := program.Parse()
//	d, err := profile.Decide(sbpl.Request{Op: "file-write-data", Object: "/private/tmp/x/f"})
//
// It is for interp/jail, which converts its own policy, and for the
// conformance suite, which runs [Probes] through [Check].
//
// # The subset
//
// A profile is (version 1), (deny default) and rules without modifiers whose
// filters are those that [Generate] emits. Paths stand in parameters, never in
// the program, so no path can be read as program text. [Parse] refuses
// everything else, also what Seatbelt would accept: a form whose meaning is not
// modelled here must not be decided upon here.
//
// # The rules of decision
//
// Each rule belongs to every operation that it names. For a request, the
// operation's own rules come first: the last one with a filter that matches
// decides; if none does, a rule without filters is the operation's default,
// wherever it stands; without one, the parent operation is asked the same way
// (file-write-unlink, file-write*, file*), and in the end the answer is no. So
// a deny of a specific operation is never undone by an allow of its parent,
// and among the rules of one operation a later allow does undo an earlier deny.
// That is why protected names are denied last and by their specific operations
// too.
//
// # What it does not protect against
//
//   - These rules come from published profiles, measurements of others and bug
//     reports, not from Apple: a release of macOS may differ. The canary and the
//     conformance suite ask the real Seatbelt on a Mac.
//   - Paths that are not real. The kernel compares real paths with the filter as
//     it is spelled: a link, the wrong case or another Unicode form makes a rule
//     that never matches. Callers resolve paths; [Policy.Validate] refuses what
//     it can see.
//   - A protected name that does not exist yet and is created in other case on a
//     volume that ignores case. Whoever judges the result must fold case.
//   - Which files exist: file-read-metadata is allowed everywhere.
//   - What the profile does not speak of: descriptors, environment, terminal,
//     limits, processes left behind.
package sbpl
