// Package batch signs a stream of documents: all that a registry has, or what came in
// over night. It is for `steps sign --batch`.
//
// The input is one submission a line (NDJSON), or a directory of files with one each:
//
//	{"purl": "pkg:generic/acme/foo@1.2.3", "artifact_sha256": "…", "document": {…}}
//
// with "revision" and "subject" where they are wanted. The output is a store (package
// store) which an indexer can take up, and for each submission a line in a list of
// results or of rejects. Memory is bounded by the number of workers times the largest
// submission.
//
// It can be killed at any time and run again with the same input: a submission that
// has its bundle is passed over, and one that has got its revision keeps it, with the
// time of the first try. Revisions of one package version follow the order of the
// input.
//
// # What it does not protect against
//
// Input that changes between runs: a document that was changed is another submission,
// and gets the next revision. Who may submit what is for the caller.
package batch
