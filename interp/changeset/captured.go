package changeset

// Captured is what a command left behind, whoever watched it: a copy-on-write
// layer or a comparison with a snapshot. Nothing of it is real until it was
// judged and committed.
type Captured struct {
	// Changes are the net changes, sorted. A file's After has hash and size, and
	// its Content is a copy that the command can no longer reach.
	Changes *Changeset
	// Linked are the groups of paths, created or changed, that are names of one
	// file.
	Linked [][]string
	// Shared are the paths, created or changed, that are further names of a file
	// that existed before the command, or that has names which were not captured.
	Shared []string
}
