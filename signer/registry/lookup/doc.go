// Package lookup is a client of a registry's signed index: it tells which revision of a
// package's steps is current, whether a package must have steps at all, and fetches the
// bundle. It is for package managers and `steps apply`, beside [signer.Verify], which
// judges what a bundle says.
//
//	c, err := lookup.Open(lookup.Config{Root: pinned, BaseURL: "https://registry.example/index/", Dir: state})
//	…
//	entry, err := c.Lookup(ctx, purl)
//	raw, err := c.Bundle(ctx, entry)
//	v, err := signer.Verify(raw, policy, signer.Expectation{…, Listed: entry.Mark(), State: c})
//	err = c.Accept(entry, v)
//
// The index is a TUF repository, read by go-tuf. What a client has seen is kept in a
// directory of its own and never goes back, so these are refused in words:
//
//	rollback      an index older than the one seen, or an older revision in it
//	freeze        an index that has expired
//	mix and match parts of different indexes
//	omission      a package whose bundle is missing though the index names it; a
//	              package that is missing from the index is told apart by its kind
//	equivocation  two indexes of one version, or two payloads of one revision
//	fast forward  versions beyond any honest count; lesser ones end with new root keys
//
// # What it does not protect against
//
//   - A first look. A machine that never saw the index accepts any that has not
//     expired. Keep the pinned root and the life of timestamps short.
//   - The holder of the index's online keys, who can leave out a package or bring back
//     an old revision on machines that have not seen the newer one. They cannot make
//     steps: bundles are signed by others.
//   - A split view: two machines are shown two indexes of different versions, by the
//     holder of the keys. Compare versions between machines.
//   - A clock that is set back, or a user who may write the state directory.
package lookup
