// Package registry runs a registry's signing: submissions come in by HTTP, workers sign
// them, an indexer makes them findable (package index), clients read both (package
// lookup). It is for `steps registry`.
//
//	publish ─→ store ─→ queue ─→ workers ─→ bundles ─→ indexer ─→ index
//
// All of it runs in one process with no other service, or in many: everything that
// must last lies in the store (package store), and the queue only says that there is
// news. A message that is lost, or comes twice or late, costs time: workers also sweep
// the store for what is marked as pending. So any queue of gocloud.dev's will do that
// is linked; these are mem:// for one process and nats:// for many.
//
// # What it does not protect against
//
//   - A publisher: whoever has the token publishes steps for any package. Checks of who
//     owns what belong to the registry that calls this one.
//   - A flood. Requests are bounded in size and number, not in rate.
//   - Eavesdroppers: it speaks plain HTTP. Put a TLS proxy before it.
package registry
