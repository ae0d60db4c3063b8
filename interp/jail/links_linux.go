package jail

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail/internal/wire"
)

// maxLinks bounds how many links one path may lead through, as the kernel does.
const maxLinks = 40

// procLinks are what /dev has for the descriptors of a process.
var procLinks = []wire.Link{
	{Path: "/dev/fd", Target: "/proc/self/fd"},
	{Path: "/dev/stdin", Target: "/proc/self/fd/0"},
	{Path: "/dev/stdout", Target: "/proc/self/fd/1"},
	{Path: "/dev/stderr", Target: "/proc/self/fd/2"},
}

// links lists the symbolic links that the private root needs so that the names
// by which the system's files are known lead to what is granted: /bin to
// usr/bin, /etc/localtime to a time zone. They are no grants: in the private
// root they can only lead to something granted.
func links(p Policy, c Command) []wire.Link {
	f := finder{policy: p, plain: map[string]bool{}}
	if !p.covers("/dev") {
		f.links = slices.Clone(procLinks)
	}
	for _, list := range [][]string{systemDirs, systemFiles, rootLinks(), {c.Path}} {
		for _, path := range list {
			f.follow(path)
		}
	}
	return f.links
}

// A finder collects links.
type finder struct {
	policy Policy
	links  []wire.Link
	plain  map[string]bool // paths seen that are no links
}

// rootLinks are the links of the root directory.
func rootLinks() []string {
	entries, err := os.ReadDir("/")
	if err != nil { // not even listing is granted, in another jail
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.Type() == os.ModeSymlink {
			out = append(out, "/"+e.Name())
		}
	}
	return out
}

// follow adds the links on the way to path that no grant brings along, if the
// way ends at something granted.
func (f *finder) follow(path string) {
	have := len(f.links)
	for range maxLinks {
		link, rest, ok := f.firstLink(path)
		if !ok {
			break
		}
		target, err := os.Readlink(link)
		if err != nil {
			break
		}
		l := wire.Link{Path: link, Target: target}
		if !f.policy.covers(link) && !slices.Contains(f.links, l) {
			f.links = append(f.links, l)
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(link), target)
		}
		path = filepath.Join(target, rest)
	}
	if !f.policy.covers(path) && !f.policy.coversBelow(path) {
		f.links = f.links[:have]
	}
}

// firstLink splits path after its first component that is a link.
func (f *finder) firstLink(path string) (link, rest string, ok bool) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' || f.plain[path[:i]] {
			continue
		}
		var st unix.Stat_t
		if err := unix.Lstat(path[:i], &st); err != nil {
			return "", "", false
		}
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			return path[:i], strings.TrimPrefix(path[i:], "/"), true
		}
		f.plain[path[:i]] = true
	}
	return "", "", false
}

// coversBelow reports whether something below path is granted.
func (p Policy) coversBelow(path string) bool {
	for _, list := range [][]string{p.Reads, p.Execs, p.Writes} {
		if slices.ContainsFunc(list, func(grant string) bool { return within(grant, path) }) {
			return true
		}
	}
	return false
}
