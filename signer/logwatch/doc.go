// Package logwatch tells whether a transparency log (Rekor v2, or any of C2SP's
// tlog-tiles) shows everybody the same: whether what it shows today continues what it
// showed before, and whether the checkpoint in a bundle is of that same history. It is
// for who watches a log, and for `steps trust log`.
//
//	w, err := logwatch.Open(logwatch.Config{Log: log})
//	…
//	head, err := w.Update(ctx, seen)     // seen: the checkpoint kept from last time
//	err = w.Check(ctx, checkpoint)       // of a bundle, or from another machine
//	keep(head.Checkpoint)
//
// A bundle proves that its entry is in a tree that the log signed, and nothing about
// who else was shown that tree. A log that keeps a second tree for one victim (a split
// view) is found out when the two are compared: no proof leads from one to the other.
// The proofs are built and checked by Tessera's client and by merkle; this package closes
// what is lenient in Tessera's LogStateTracker, which takes a log that shrinks, or another
// tree of the same size, for no news.
//
// # What it does not protect against
//
//   - A first look: there is nothing to compare with. Give it the bundles at hand, and
//     checkpoints of other machines.
//   - A victim who never compares. Have witnesses cosign ("witnesses" in the trust
//     policy): they compare before, for everybody.
//   - Entries that should not be there. Whoever may sign should look for entries under
//     its own name that it did not make.
package logwatch
