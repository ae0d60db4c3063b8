package sbpl

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// aliases are the links and firmlinks of every macOS that profiles get wrong
// most often, with where they lead.
var aliases = []struct{ alias, real string }{
	{"/System/Volumes/Data", ""},
	{"/tmp", "/private/tmp"},
	{"/var", "/private/var"},
	{"/etc", "/private/etc"},
}

// Canonical returns the name by which macOS knows a clean absolute path, as far
// as that can be told without a look at the disk: what lies under /tmp, /var
// and /etc lies under /private, and /System/Volumes/Data is another name for
// the root.
func Canonical(name string) string {
	for _, a := range aliases {
		if within(name, a.alias) {
			if name = a.real + strings.TrimPrefix(name, a.alias); name == "" {
				name = "/"
			}
		}
	}
	return name
}

// checkPath refuses what could never match the path of a real file.
func checkPath(name string) error {
	switch {
	case name == "":
		return errors.New("empty path")
	case !strings.HasPrefix(name, "/"):
		return errors.New("not an absolute path")
	case strings.ContainsRune(name, 0):
		return errors.New("contains a NUL byte")
	case !utf8.ValidString(name):
		return errors.New("not UTF-8, which every path on macOS is")
	case path.Clean(name) != name:
		return fmt.Errorf("not a clean path; write %q", path.Clean(name))
	case Canonical(name) != name:
		return fmt.Errorf("passes through a link of macOS; write %q", Canonical(name))
	}
	return nil
}

// within reports whether name is dir or lies under it; both are clean.
func within(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}
