// Package merge3 merges two sets of changes to one text, line by line: the user's
// to a configuration file, and a package's new version of it. It is for the
// interpreter's steps with preserve.
//
//	r, ok := merge3.Merge(base, ours, theirs)
//
// Changes that touch the same lines, or neighbouring ones, and differ are a
// conflict, marked in the result. A merge without a conflict is not thereby a
// meaningful file: the package knows nothing of what the lines say.
package merge3
