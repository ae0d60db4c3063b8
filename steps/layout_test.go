package steps

import (
	"slices"
	"strings"
	"testing"
)

// Every template comes down to the variables of its layout, to an absolute directory.
func TestLayouts(t *testing.T) {
	t.Parallel()
	if got, want := strings.Join(LayoutNames(), " "), "generic homebrew-cask homebrew-formula"; got != want {
		t.Errorf("layouts are %s, want %s", got, want)
	}
	if _, ok := LayoutByName("npm "); ok {
		t.Error("found a layout that is not there")
	}
	for _, name := range LayoutNames() {
		l, ok := LayoutByName(name)
		if !ok {
			t.Fatalf("%s is not found", name)
		}
		templates := slices.Concat(l.Run.Reads, l.Run.Writes)
		for _, m := range []map[string]string{l.Tokens, l.Placeholders} {
			for _, template := range m {
				templates = append(templates, template)
			}
		}
		for _, template := range l.Bases {
			templates = append(templates, template)
		}
		approvals := 0
		for _, g := range l.Grants {
			templates = append(templates, g.Dir)
			if g.Access != "write" && g.Access != "approve" || (g.Access == "approve") != (g.Approval != "") {
				t.Errorf("%s: grant %+v", name, g)
			}
			if g.Access == "approve" {
				approvals++
			}
		}
		if approvals == 0 {
			t.Errorf("%s: nothing needs approval", name)
		}
		known := []string{"formula", "version.upstream", "version.major", "version.major_minor"}
		for _, v := range l.Vars {
			known = append(known, v.Name)
		}
		for _, template := range templates {
			full := l.fill(template)
			for _, ref := range reference.FindAllString(full, -1) {
				if !slices.Contains(known, ref[1:len(ref)-1]) {
					t.Errorf("%s: template %s refers to %s", name, template, ref)
				}
			}
		}
		for base, template := range l.Bases {
			dir := l.fill(template)
			ref, _, _ := strings.Cut(strings.TrimPrefix(dir, "{"), "}")
			isDir := slices.ContainsFunc(l.Vars, func(v LayoutVar) bool { return v.Name == ref && v.Dir })
			if !strings.HasPrefix(dir, "/") && !isDir {
				t.Errorf("%s: base %s is %s, which is not absolute", name, base, dir)
			}
		}
	}
}

// What the conformance vectors say about directories.
func TestHomebrewDirectories(t *testing.T) {
	t.Parallel()
	fill := strings.NewReplacer("{homebrew_prefix}", "hb", "{name}", "NAME", "{version}", "1", "{temp}", "tmp", "{home}", "home", "{appdir}", "Applications")
	for _, tc := range []struct {
		layout string
		want   map[Base]string
	}{
		{"homebrew-formula", map[Base]string{
			"homebrew_prefix": "hb", "prefix": "hb/Cellar/NAME/1", "opt_prefix": "hb/opt/NAME", "rack": "hb/Cellar/NAME",
			"bin": "hb/Cellar/NAME/1/bin", "pkgshare": "hb/Cellar/NAME/1/share/NAME", "frameworks": "hb/Cellar/NAME/1/Frameworks",
			"var": "hb/var", "etc": "hb/etc", "pkgetc": "hb/etc/NAME", "temp": "tmp", "home": "home", "opt_bin": "hb/opt/NAME/bin",
			"man8": "hb/Cellar/NAME/1/share/man/man8", "zsh_completion": "hb/Cellar/NAME/1/share/zsh/site-functions",
		}},
		{"homebrew-cask", map[Base]string{
			"staged_path": "hb/Caskroom/NAME/1", "caskroom_path": "hb/Caskroom/NAME", "appdir": "Applications", "fontdir": "home/Library/Fonts",
		}},
	} {
		l, _ := LayoutByName(tc.layout)
		for base, want := range tc.want {
			if got := fill.Replace(l.fill(l.Bases[base])); got != want {
				t.Errorf("%s: base %s is %s, want %s", tc.layout, base, got, want)
			}
		}
	}
}
