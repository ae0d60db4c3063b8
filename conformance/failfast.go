package conformance

import "flag"

// FailFast reports whether this is a test that was told to end with its first failure.
// A suite that is one test asks, since testing stops only between tests.
func FailFast() bool {
	f := flag.Lookup("test.failfast")
	return f != nil && f.Value.String() == "true"
}
