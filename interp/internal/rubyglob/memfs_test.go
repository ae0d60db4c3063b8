package rubyglob

import (
	"slices"
	"strings"
)

// memFS is a tree in memory: "" for a file, "/" for a directory, else the text
// of a link. Parents are implied.
type memFS map[string]string

// newMemFS builds the tree of makeTree's descriptions under root.
func newMemFS(root string, entries []string) memFS {
	m := memFS{"/": "/"}
	for _, e := range entries {
		name, target, _ := strings.Cut(e, " => ")
		if strings.HasSuffix(name, "/") {
			target = "/"
		}
		path := root + "/" + strings.TrimSuffix(name, "/")
		m[path] = target
		for i, c := range path {
			if c == '/' && i > 0 {
				m[path[:i]] = "/"
			}
		}
	}
	return m
}

// resolve returns the real path of an existing object.
func (m memFS) resolve(path string, follow bool, links int) (string, bool) {
	real := ""
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if part == ".." {
			real = real[:max(strings.LastIndex(real, "/"), 0)]
		}
		if part != "" && part != "." && part != ".." {
			real += "/" + part
		}
		node, ok := m[max(real, "/")]
		last := i == len(parts)-1
		switch {
		case !ok || links > 20:
			return "", false
		case node == "/":
		case node == "" && !last:
			return "", false
		case node != "" && (follow || !last):
			if !strings.HasPrefix(node, "/") {
				node = real[:strings.LastIndex(real, "/")] + "/" + node
			}
			if real, ok = m.resolve(node, true, links+1); !ok || (!last && m[max(real, "/")] != "/") {
				return "", false
			}
		}
	}
	return max(real, "/"), true
}

func (m memFS) kind(path string, follow bool) (Kind, error) {
	real, ok := m.resolve(path, follow, 0)
	switch {
	case !ok:
		return None, nil
	case m[real] == "":
		return File, nil
	case m[real] == "/":
		return Dir, nil
	}
	return Symlink, nil
}

func (m memFS) Lstat(path string) (Kind, error) { return m.kind(path, false) }
func (m memFS) Stat(path string) (Kind, error)  { return m.kind(path, true) }

func (m memFS) ReadDir(path string) ([]string, error) {
	real, _ := m.resolve(path, true, 0)
	var names []string
	for p := range m {
		if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(real, "/")+"/"); ok && rest != "" && !strings.Contains(rest, "/") {
			names = append(names, rest)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return -strings.Compare(a, b) })
	return names, nil
}
