// Package oci carries packages and their bundles in OCI registries and OCI layout
// directories, the way cosign stores bundles, so that existing tools see them: a bundle
// is a manifest of artifact type [BundleType] that refers to the package's manifest
// (its subject) and says in an annotation what kind of statement it holds.
//
//	r, ref, err := oci.Open("registry.example/acme/foo:1.0", oci.Options{})
//	…
//	_, err = r.Attach(ctx, ref, bundle, time.Now())
//	list, err := r.Bundles(ctx, ref, oci.DefaultLimits)
//
// # What it does not protect against
//
// A registry says what it likes: it can leave bundles out, and add any. What comes from
// here is a bundle's bytes with the digest that the registry claimed, nothing more.
// Verify them with package signer, and let the index (package lookup) say which there
// must be.
package oci
