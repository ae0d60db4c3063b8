// Package signer binds install steps to the package they belong to, and checks
// that binding before anything is interpreted. Registries call [Sign]; package
// managers and `steps apply` call [Verify] with a root-owned [Policy].
//
// The signed object is an in-toto Statement v1 with one subject, the package
// artifact, and the whole steps document in its predicate. It travels as a DSSE
// envelope in a Sigstore bundle v0.3, signed by an ECDSA P-256 key.
//
//	raw, err := signer.ReadBundle(file, policy.Limits().BundleBytes)
//	…
//	v, err := signer.Verify(raw, policy, signer.Expectation{
//		PURL:           "pkg:generic/acme/foo@1.2.3",
//		ArtifactSHA256: sha256.Sum256(artifact),
//		Now:            time.Now(),
//	})
//	…
//	interpret(v.Document) // these bytes, never the file again
//
// The package knows no file systems, networks or command lines: callers hand it
// bytes. It treats the document as an opaque JSON object; whether its steps make
// sense is for the schema and the interpreter.
//
// # What it does not protect against
//
//   - A stolen signing key, or a signer that signs bad steps. Limit keys with
//     notBefore and notAfter, list stolen ones under "revoked", and let approvals
//     and the judge bound what signed steps may do.
//   - Stale bundles. Without a signed index an older, validly signed bundle of the
//     same artifact is accepted unless [Expectation].MinRevision says otherwise. A
//     machine that never saw the package has no revision to compare with.
//   - Omission. Nothing here can tell that a package should have had a bundle.
//   - First use. The policy file is believed as it stands; how it came to the
//     machine, and who may write it, is for the caller.
//   - A wrong clock. Key windows are compared with [Expectation].Now, not with a
//     trusted timestamp, and issuedAt is the signer's claim.
//   - Equivocation. There is no transparency log in key mode: a signer can show
//     different bundles to different machines.
//   - Names that look alike. Control, bidirectional and unnormalised characters
//     are refused; а (Cyrillic) and a (Latin) are different names.
//   - Other spellings of one package. Purls are compared byte for byte in their
//     canonical percent-encoding; rules of single package types (PyPI's lower
//     case, say) are not applied.
package signer
