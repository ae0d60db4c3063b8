package scene

import (
	"slices"
	"strings"

	"steps.example/conformance"
	"steps.example/steps"
)

// Without says why there is no scene with a step type.
var Without = map[steps.Type]string{
	steps.TypeTerminateProcess: "it ends processes and touches no path",
	steps.TypeWarn:             "it prints a message and touches no path",
}

// tools are the programs of other formulas that composite steps run.
var tools = []string{
	"hb/Cellar/demo/1.0/bin/tool", "hb/Cellar/demo/2.0/bin/tool", "hb/Cellar/demo/1.0/bin/initdb",
	"hb/opt/glib/bin/glib-compile-schemas", "hb/opt/glib/bin/gio-querymodules",
	"hb/opt/gdk-pixbuf/bin/gdk-pixbuf-query-loaders", "hb/opt/gtk+3/bin/gtk3-update-icon-cache",
	"hb/opt/shared-mime-info/bin/update-mime-database", "hb/opt/desktop-file-utils/bin/update-desktop-database",
}

func file(content string) conformance.Entry {
	return conformance.Entry{Type: "file", Mode: "0644", Content: content}
}

func fileMode(mode, content string) conformance.Entry {
	return conformance.Entry{Type: "file", Mode: mode, Content: content}
}

func dir(mode string) conformance.Entry { return conformance.Entry{Type: "dir", Mode: mode} }

func link(target string) conformance.Entry {
	return conformance.Entry{Type: "symlink", Target: target}
}

// All are the scenes. Their names are unique.
func All() []Scene {
	list := slices.Concat(typed(), commanded(), mixed(), life())
	for i := range list {
		s := &list[i]
		if s.Verb == "" {
			s.Verb = VerbApply
		}
		for _, text := range []string{s.Installed, s.Steps, s.Removal} {
			if text == "" {
				continue
			}
			found, err := steps.DecodeSteps([]byte(text), steps.DefaultLimits)
			if err != nil {
				panic("BUG(steps): scene " + s.Name + ": " + err.Error())
			}
			for _, step := range found {
				if kind := string(step.Type()); !slices.Contains(s.Kinds, kind) {
					s.Kinds = append(s.Kinds, kind)
				}
			}
		}
	}
	return list
}

// Pick chooses scenes by name, by a part of it or by a step type; without any pick
// these are all. It gives the picks that choose none.
func Pick(list []Scene, picks []string) (chosen []Scene, unknown []string) {
	if len(picks) == 0 {
		return list, nil
	}
	for _, p := range picks {
		some := false
		for i := range list {
			s := &list[i]
			if !strings.Contains(s.Name, p) && !slices.Contains(s.Kinds, p) {
				continue
			}
			some = true
			if !slices.ContainsFunc(chosen, func(c Scene) bool { return c.Name == s.Name }) {
				chosen = append(chosen, *s)
			}
		}
		if !some {
			unknown = append(unknown, p)
		}
	}
	return chosen, unknown
}
