// Package signer binds install steps to the package they belong to, and checks
// that binding before anything is interpreted. Registries call [Sign] or make a
// [Signer]; package managers and `steps apply` call [Verify] with a root-owned
// [Policy].
//
// The signed object is an in-toto Statement v1 with one subject, the package
// artifact, and the whole steps document, all its phases, in its predicate. It travels
// as a DSSE envelope in a Sigstore bundle v0.3. It is signed by an ECDSA P-256 key, in
// a file or elsewhere ([RemoteKey]), or by an identity for which a certificate
// authority speaks; transparency logs and timestamp authorities can testify to it.
//
//	policy, err := signer.ParsePolicy(file)
//	…
//	if path := policy.TrustRootFile(); path != "" {
//		policy, err = policy.WithTrustRoot(contents(path))
//	}
//	raw, err := signer.ReadBundle(file, policy.Limits().BundleBytes)
//	…
//	v, err := signer.Verify(raw, policy, signer.Expectation{
//		PURL:           "pkg:generic/acme/foo@1.2.3",
//		ArtifactSHA256: sha256.Sum256(artifact),
//		Now:            time.Now(),
//		State:          seenOnThisMachine,
//	})
//	…
//	interpret(v.Document) // these bytes, never the file again
//
// [VerifyAPI] is another source of documents: the signed files of Homebrew's JSON API.
// [VerifyArtifact] verifies any Sigstore bundle, for the public conformance suite.
//
// Certificates, log entries, timestamps and signatures are sigstore-go's work. This
// package says what is demanded of them, and closes what is lenient there: it bounds
// sizes before anything is parsed, takes thresholds from the policy alone, looks at the
// windows of keys, anchors name patterns, refuses certificates with several names, and
// reads the verified bytes with a strict decoder.
//
// The package knows no file systems, networks or command lines: callers hand it
// bytes, and package online makes the clients of services. Of a document it knows what
// package steps says of it, above all the capabilities it asks for; whether its steps
// make sense is for the schema and the interpreter.
//
// # What it does not protect against
//
//   - A stolen signing key, or a signer that signs bad steps. Limit keys with
//     notBefore and notAfter, demand signers of two parties with allOf, list stolen
//     keys under "revoked", and let approvals and the judge bound what signed steps may
//     do.
//   - Stale bundles on a machine that never saw the package. [Expectation].State refuses
//     what is older than what was seen; only a signed index, whose entry is
//     [Expectation].Listed, knows what a fresh machine should see.
//   - Omission. Nothing here can tell that a package should have had a bundle.
//   - First use. The policy file is believed as it stands; how it came to the
//     machine, and who may write it, is for the caller.
//   - A wrong clock, where the policy judges a key by it. With "time": "tsa", and for
//     identities, a timestamp authority decides. issuedAt is the signer's claim.
//   - Split views, unless the policy names witnesses, who cosign a log that shows
//     everybody the same. Without them, package logwatch finds a second history, once
//     somebody who was shown it compares. Whoever signs should watch the log for entries
//     under its name that it did not make; nothing here does.
//   - Names that look alike. Control, bidirectional and unnormalised characters
//     are refused; а (Cyrillic) and a (Latin) are different names.
//   - Other spellings of one package. Purls are compared byte for byte in their
//     canonical percent-encoding; rules of single package types (PyPI's lower
//     case, say) are not applied.
package signer
