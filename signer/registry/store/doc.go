// Package store keeps what a registry publishes: submissions, their bundles, and marks
// of the work that is left. It is for the pipeline in package registry, for batch
// signing and for the indexer; all of them may run in several processes at once.
//
// The store is a bucket, named by a URL: mem:// for tests, file:///directory for one
// machine, s3://bucket (and servers that speak its protocol) for many. Its keys are
//
//	registry                      the registry's URL, written once
//	published/SH/PURL.REVISION    what was submitted, first come first served
//	bundles/SH/PURL.REVISION.json the bundle, written once
//	pending/SH/PURL.REVISION      published, and not signed yet
//	unindexed/SH/PURL.REVISION    signed, and not in the index yet
//	unpushed/SH/PURL.REVISION     signed, and not in the OCI registry yet
//	rejected/SH/PURL.REVISION     why it will not be signed
//	index/…, tuf/…                the indexer's
//
// where PURL is the SHA-256 of the package URL, SH its first two digits, and REVISION
// ten digits. A mark is written before what it speaks of and removed after the work is
// done, so a process that dies at any point leaves work to be repeated, never work
// that is forgotten; and every step may be repeated.
//
// [Store.Create] is the only ordering between processes: of several writers of one
// key, one wins. That makes a revision mean one submission for good.
//
// # What it does not protect against
//
//   - Whoever can write to the bucket. They can remove, withhold and replay what is in
//     it; they cannot sign. The index and the clients' trust policies are for that.
//   - Loss of power, for file://: files are renamed into place but not flushed one by
//     one. A killed process loses nothing.
package store
