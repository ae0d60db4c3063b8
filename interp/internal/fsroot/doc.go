// Package fsroot is the only way to reach a real directory: a set of confined
// roots, opened once, below which directories are opened by physical path
// without following a link, and then acted on relative to their descriptor.
//
// The view reads through it and commit writes through it. It never resolves a
// symbolic link: whoever wants links followed resolves them component by
// component and asks for the physical path.
//
// It does not protect against hard links, bind mounts below a root, or a
// directory that somebody with the right to do so moves elsewhere while its
// descriptor is open. A Set is for one goroutine.
package fsroot
