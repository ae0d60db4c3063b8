// Package batch signs a stream of documents: all that a registry has, or what came in
// over night. It is for `steps sign --batch`.
//
// The input is one submission a line (NDJSON), or a directory of files with one each:
//
//	{"purl": "pkg:generic/acme/foo@1.2.3", "artifact_sha256": "…", "document": {…}}
//
// with "revision" and "subject" where they are wanted. The output of [Run] is a store
// (package store) which an indexer can take up, and for each submission a line in a list
// of results or of rejects. That of [RunFile] is one file:
//
//	{"batch":1,"registry":"…","signed_by":"…","issued_at":"…"}
//	{"purl":"…","revision":1,"content":"…","bundle":{…}}
//
// with a line for each submission that is signed, in the order of the input, which has to
// be that of the package URLs. It takes a few times less than a store, whose three files
// for each submission cost more than its signature. Memory is bounded by the number of
// workers times the largest submission.
//
// Both can be killed at any time and run again with the same input: a submission that
// has its bundle is passed over, and another one is signed as it would have been at
// first, with its revision and time. Revisions of one package version follow the order
// of the input.
//
// # What it does not protect against
//
// Input that changes between runs: in a store, a document that was changed is another
// submission, and gets the next revision; a file refuses to go on. Revisions that were
// signed elsewhere: a file knows its own only, so a registry that has others says the
// number in the first submission of a package version. Loss of power in the middle: the
// file is flushed at the end only. Who may submit what is for the caller.
package batch
