// Package e2e tests keyless signing from end to end, against the servers that
// registries run: Fulcio, a certificate log (TesseraCT), Rekor v2 and a timestamp
// authority, each in a process of its own, and an OpenID Connect issuer in the test's;
// and a registry's processes, killed at work, with servers of others between them: a
// bucket (gofakes3), a queue (nats-server) and an OCI registry (docker-registry). It is for
// who changes what lies below package signer, and holds nothing but tests.
//
// The servers are built, in pinned versions, from the Go module proxy into a cache
// outside the repository. That takes minutes, so it is done by `make e2e` alone. The
// cache is steps-e2e in the user's cache directory, or $STEPS_E2E_CACHE. Where they are
// not in it, the tests skip. So does what is done by the steps command where -steps does
// not name one, and what cosign says of the bundle where there is none in the cache or on
// the PATH; `go test -timeout 2h ./signer/e2e -build=all` builds it, in 20 minutes. The
// queue and the OCI registry are Debian's packages nats-server and docker-registry, and
// have to be on the PATH. -documents=300 makes the registry's test short.
//
// # What it does not protect against
//
// All listen on 127.0.0.1, but for the metrics of Fulcio, on a free port, and of the
// timestamp authority, on port 2112: both do so on all addresses, and offer no choice.
// A second run at the same time waits for the port. Public deployments differ from this
// one in having certificate chains with intermediates.
package e2e
