// Package sigstoretest is a Sigstore deployment in memory, for tests: a certificate
// authority with its certificate log, a transparency log as Rekor v2 has it, and a
// timestamp authority. They are real enough that sigstore-go verifies what they sign,
// and speak their protocols over HTTP:
//
//	s := sigstoretest.New(t, "a name", time.Now)
//	server := httptest.NewServer(s)
//	config := s.SigningConfig(server.URL)
//
// # What it does not protect against
//
// Anything. It certifies whatever a token says that it issued itself, keeps its keys
// in memory and its log in a slice. It also does wrong on request, so that tests can
// see wrong things refused.
package sigstoretest
