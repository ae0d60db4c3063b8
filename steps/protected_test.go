package steps

import (
	"strings"
	"testing"
)

func TestProtection(t *testing.T) {
	t.Parallel()
	p, err := NewProtection("My/Tool", "Ünï")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/home/u/.bashrc":                       ".bashrc",
		"/home/u/.bashrc/x":                     ".bashrc",
		"/home/u/.bashrc.bak":                   "",
		"/home/u/x.bashrc":                      "",
		"bashrc":                                "",
		".bashrc":                               ".bashrc",
		"/a/.git/hooks":                         ".git/hooks",
		"/a/.git/hooks/pre-commit":              ".git/hooks",
		"/a/.git/objects":                       "",
		"/a/.git":                               "",
		"/a/git/hooks":                          "",
		"/a/.GIT/Config":                        ".git/config",
		"/a/.g\u200cit/config":                  ".git/config",
		"/a/.git/con\ufb01g":                    ".git/config", // a ligature
		"/a/.claude/settings.json":              ".claude",
		"/a/.mcp.json":                          ".mcp.json",
		"/a/.vscode/tasks.json":                 ".vscode",
		"/a/.envrc":                             ".envrc",
		"/h/.config/fish/config.fish":           ".config/fish",
		"/h/.config/fishy":                      "",
		"/h/.ssh/id":                            ".ssh",
		"/h/.ssh/authorized_keys":               ".ssh/authorized_keys",
		"/h/.\u017fsh/authorized_\u212aeys":     ".ssh/authorized_keys", // a long s, a Kelvin sign
		"/h/library/launchagents/x.plist":       "Library/LaunchAgents",
		"/h/.config/autostart/x.desktop":        ".config/autostart",
		"/var/spool/cron/crontabs/root":         "crontabs",
		"/etc/cron.daily/x":                     "cron.daily",
		"/h/.config/systemd/user/x.service":     ".config/systemd/user",
		"/h/.npmrc":                             ".npmrc",
		"/a/my/tool/x":                          "My/Tool",
		"/a/my/tools":                           "",
		"/a/u\u0308ni\u0308":                    "Ünï",
		"/h/.bashrc/x/.git/hooks/y":             ".git/hooks",
		"":                                      "",
		"/":                                     "",
		strings.Repeat("/.git", 100) + "/hooks": ".git/hooks",
	} {
		if got := p.Of(path).Name; got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
	for _, name := range []string{"", "/a", "a/", "a//b", "..", "a/.", "a\x00"} {
		if _, err := NewProtection(name); err == nil {
			t.Errorf("%q: accepted", name)
		}
	}
	for _, n := range ProtectedNames() {
		if n.Why == "" || p.Of("/x/"+n.Name).Name != n.Name && !strings.HasSuffix(n.Name, p.Of("/x/"+n.Name).Name) {
			t.Errorf("%+v is not found, but %q", n, p.Of("/x/"+n.Name).Name)
		}
	}
}

func FuzzFold(f *testing.F) {
	f.Add("A/é/\u00df\u200c")
	f.Fuzz(func(t *testing.T, s string) {
		once := Fold(s)
		if twice := Fold(once); twice != once {
			t.Errorf("%q folds to %q and then to %q", s, once, twice)
		}
		if strings.Count(once, "/") != strings.Count(s, "/") {
			t.Errorf("%q folds to %q", s, once)
		}
	})
}
