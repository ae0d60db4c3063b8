// Package interp interprets a document's steps: against an in-memory view of the
// real tree into a changeset, which is judged and then, and only then, made real.
// It is for the command and for package managers that link it.
//
//	plan, err := interp.MakePlan(ctx, job, interp.Machine{})   // changes nothing
//	done, err := interp.Apply(ctx, job, interp.Machine{}, interp.ApplyOptions{Store: store})
//
// Typed steps touch nothing but the view. What must execute goes to the [Host],
// which jails it by the step's own [Policy]; what it changed is captured, by a
// layer over the tree or by comparison with a snapshot, and joins the others if it
// keeps the step's contract (see changeset.Contract).
//
// Receipts are all that is known of what is installed: see [Installed]. An apply
// stores its document, and [Upgrade], [Installation.Remove] and [Installation.Repair]
// go by that. Each is one transaction, like an apply, and undone like one. What
// rebuilds caches may be put off, to be done once for many packages, see
// [RunTriggers].
//
// The package does not decide whom to trust: a [Job] holds a document that was
// verified, or that somebody took responsibility for. It does not protect against
// what an approved capability allows, nor against changes of the tree by others
// with the user's rights beyond noticing them.
package interp
