// Package broker is how steps that need root are done for a user who is not: a process
// of root, started by sudo for one transaction, to which the user's process writes
// requests, and which answers. It is for the command and for package managers that
// link it.
//
//	client := &broker.Client{Start: sudo, Vouch: hello} // the user, for interp.ApplyOptions
//	err := broker.Serve(ctx, os.Stdin, os.Stdout, keeper) // root
//
// # The protocol
//
// A JSON object a line, in both directions: a [Request], then its [Answer]. The first
// says what the connection is for. With hello the broker verifies the bundles, plans
// the steps, and opens a transaction; then each step is one do, and commit or abort ends
// it. Instead, undo, verify and settle are about a transaction of before. The end of the
// requests takes back what is not committed. A line has at most [MaxHello] bytes, later
// ones [MaxRequest]; what is longer, unknown, doubled or out of turn ends the connection.
//
// # What the broker believes
//
// Nothing. [Keeper.Admit] is given what hello says and verifies it by root's own policy;
// what the steps change is worked out by [interp.Elevate] from the verified document, on
// the tree as it is, and must be what the caller expects. The caller says which steps of
// it he wants done, and nothing else.
//
// # What it does not protect against
//
// The user decides about every file that he owns: that one of his comes to belong to
// somebody else does not make its content good. So no program that root or a service
// executes should be in a directory that the broker may change and the user can write
// to. Whoever can ask the broker can also have its transactions for him taken back. The
// kernel and sudo are trusted, and the files of root's configuration.
package broker
