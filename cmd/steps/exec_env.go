package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// variable is one of the command's environment. Note, if any, is printed in the
// place of the value: that of a private directory says nothing, and that of a
// variable passed by name may be a secret.
type variable struct{ name, value, note string }

// environment is that of the command: the defaults, then what --env says.
func environment(given []string, private privateDir) ([]variable, error) {
	const empty = "a private empty directory"
	vars := []variable{
		{"PATH", strings.Join(searchPath(), ":"), ""},
		{"HOME", private.home(), empty},
		{"TMPDIR", private.tmp(), empty},
	}
	if lang, ok := os.LookupEnv("LANG"); ok {
		vars = append(vars, variable{"LANG", lang, ""})
	}
	for _, entry := range given {
		name, value, set := strings.Cut(entry, "=")
		v := variable{name: name, value: value}
		if name == "" {
			return nil, errors.New("--env: write NAME or NAME=VALUE")
		}
		if !set {
			if v.value, set = os.LookupEnv(name); !set {
				return nil, fmt.Errorf("--env %s: is not set here; give it a value with --env %s=VALUE, or leave it out", name, name)
			}
			v.note = "as it is here"
		}
		if i := slices.IndexFunc(vars, func(o variable) bool { return o.name == name }); i >= 0 {
			vars[i] = v
		} else {
			vars = append(vars, v)
		}
	}
	return vars, nil
}

// pathOf is the command's search path without what is not absolute.
func pathOf(vars []variable) []string {
	i := slices.IndexFunc(vars, func(v variable) bool { return v.name == "PATH" })
	return slices.DeleteFunc(filepath.SplitList(vars[i].value), func(dir string) bool { return !filepath.IsAbs(dir) })
}
