// Package index writes the signed index of a registry: which packages have steps, and
// which revision is current. It is for the one indexer of a registry; clients read the
// index with package lookup.
//
// The index is a TUF repository under tuf/ in the registry's store. The top-level
// targets delegate to 2^bits hash bins (succinct roles, TAP 15); a package URL is the
// target path, the bundle its content. Clients then hold what TUF promises: an older
// index (rollback), one that is not renewed (freeze), parts of different indexes
// (mix and match) and a package left out (omission) are seen.
//
//	keys, err := index.LoadKeys("/etc/steps/index")
//	x, err := index.Open(store, keys, index.Options{Verify: verify})
//	err = x.Run(ctx)
//
// One indexer works at a time: it holds a lease, renewed while it lives. The lease
// saves work; what keeps the index whole is that commits form a chain of keys that are
// written once ([store.Store.Create]). An indexer that was paused for an hour finds
// the next link taken, throws its work away and reads what the others did. Every other
// file it writes has a version that only it has, or can be written again from the
// chain.
//
// # What it does not protect against
//
//   - A stolen online key. Targets, snapshot and timestamp keys lie with the indexer;
//     whoever has all three signs any index, though no bundle. The root key replaces
//     them ([Indexer.Rotate]); keep it elsewhere.
//   - A bucket that is put back as a whole to an earlier state, at the time when an
//     indexer starts. What was since indexed is indexed again if its marks are put
//     back too. Clients that saw the later index refuse the earlier one.
//   - Two indexes for two clients, signed by the stolen keys. TUF alone cannot tell.
package index
