// Command mutants asks of the suites that crash, fault and attack commit whether
// they would notice if commit were weaker: it removes every sync and every check
// from interp/commit, one at a time, and runs them against each. It is for who
// changes commit or the suites; `make mutants` runs it.
//
// The sources are never touched. All mutants are compiled at once into copies that
// only the compiler sees (go build -overlay), and an environment variable selects
// the one that is in force. What a suite never reaches is not run against it.
//
// A mutant that no suite notices survives. Those that make no difference to what
// anybody can observe are listed, with the reason, in survivors.txt; any other one
// is a hole in the suites, and the command fails. It does not tell whether a check
// is missing that never was there.
package main
