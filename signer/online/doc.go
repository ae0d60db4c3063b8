// Package online is what package signer has no business with: programs that hold keys,
// and the services of a Sigstore deployment. Registries use it to make the keys and
// signers that package signer signs with:
//
//	key, err := online.OpenKMS(ctx, "awskms://alias/steps")
//	…
//	s, err := signer.NewSigner(key, signer.Evidence{})
//
// or, for an identity in the place of a key:
//
//	services, err := online.ParseServices(signingConfig, online.Options{})
//	…
//	s, err := services.IdentitySigner(online.Identity{…}, trustRoot)
//
// # What it does not protect against
//
// The program that holds a key runs with the caller's rights, and is found by the
// caller's PATH: who can put a file there can sign. Neither it nor the services are
// believed (package signer checks what they return), but they see each statement.
// Requests to the certificate and timestamp authorities end by their own timeout, not
// by the caller's context.
package online
