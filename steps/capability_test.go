package steps

import (
	"strings"
	"testing"
)

func TestCapabilities(t *testing.T) {
	t.Parallel()
	at := func(base, path string) Path { return Path{Base: Base(base), Path: path} }
	touch := func(p Path) Step { return &Touch{Path: p} }
	for _, tc := range []struct {
		name string
		step Step
		want string
	}{
		{"own directory", touch(at("prefix", "a")), ""},
		{"shared directory", touch(at("var", "a")), ""},
		{"shared directory by the prefix", touch(at("homebrew_prefix", "share/a")), ""},
		{"shared directory by a token", touch(at("", "{{HOMEBREW_PREFIX}}/lib/a")), ""},
		{"shared directory by a placeholder", touch(at("", "$HOMEBREW_PREFIX/lib/a")), ""},
		{"a like named directory", touch(at("homebrew_prefix", "shared/a")), "write:homebrew_prefix"},
		{"back to the prefix", touch(at("homebrew_prefix", "share/../a")), "write:homebrew_prefix"},
		{"opt", &Symlink{Source: at("", "/a"), Target: at("opt_prefix", "a")}, "write:homebrew_prefix"},
		{"another formula's etc", touch(Path{Base: "formula_pkgetc", Formula: "x", Path: "a"}), ""},
		{"another formula's opt", touch(Path{Base: "formula_opt_prefix", Formula: "x", Path: "a"}), "write:homebrew_prefix"},
		{"another rack", &Remove{Paths: []Path{at("bin", "x"), at("", "{{HOMEBREW_CELLAR}}/other")}}, "write:homebrew_prefix"},
		{"home", touch(at("home", "a")), "write:home"},
		{"home by a tilde", touch(at("", "~/a")), "write:home"},
		{"home by a placeholder", touch(at("", "/$HOME/a")), "write:home"},
		{"a brace that looks like a base", &Remove{Paths: []Path{at("var", "{home}")}}, ""},
		{"read from home", &Copy{Source: at("home", "a"), Target: at("var", "a")}, ""},
		{"move out of home", &Move{Source: at("home", "a"), Target: at("var", "a")}, "write:home"},
		{"run", &Run{Command: at("bin", "a")}, "run"},
		{"run with all", &Run{Command: at("bin", "a"), Sudo: SudoAlways, NetworkAccess: true, StdoutPath: &Path{Path: "~/a"}}, "network run sudo write:home"},
		{"run that writes", &Run{Command: at("bin", "a"), WritablePaths: []Path{at("home", "a")}}, "run write:home"},
		{"run with ports", &Run{Command: at("bin", "a"), Network: &Network{TCP: []int{443, 80, 443}}}, "network:tcp/443 network:tcp/80 run"},
		{"run with the user's variables", &Run{Command: at("bin", "a"), Env: map[string]string{"A": "b"}, PassEnv: []string{"HOME", "B"}}, "env:B env:HOME run"},
		{"run with outputs", &Run{Command: at("bin", "a"), Outputs: []Output{{Path: at("home", "a")}, {Path: at("var", "b")}}}, "run write:home"},
		{"an output in a protected place", &Run{Command: at("bin", "a"), Outputs: []Output{{Path: at("var", "x/.git/HOOKS/post-commit")}}}, "protected:.git/hooks run"},
		{"a writable path that is protected", &Run{Command: at("bin", "a"), WritablePaths: []Path{at("home", ".ssh")}}, "protected:.ssh run write:home"},
		{"a protected place", touch(at("", "~/.ZSHRC")), "protected:.zshrc write:home"},
		{"beside a protected place", touch(at("var", ".zshrc.d/a")), ""},
		{"a composite", &GdkPixbufQueryLoaders{}, "run"},
		{"ownership", &SetOwnership{Paths: []Path{at("var", "a")}}, "ownership sudo"},
		{"terminate", &TerminateProcess{Name: "a"}, "terminate"},
		{"terminate as root", &TerminateProcess{Name: "a", Sudo: SudoAlways}, "sudo terminate"},
		{"remove as root", &Remove{Sudo: SudoIfNeeded}, "sudo"},
		{"link as root", &Symlink{Source: at("", "/a"), Target: at("bin", "a"), Sudo: SudoIfNeeded}, "sudo"},
		{"keychain", &DeleteKeychainCertificate{Name: "a"}, "sudo"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			doc := &Document{Layout: "homebrew-formula", Blocks: []Block{{Phase: PhasePostInstall, Steps: []Step{tc.step}}}}
			if got := strings.Join(Capabilities(doc), " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	for mode, want := range map[string]bool{
		"4755": true, "2755": true, "6755": true, "7000": true, "1777": false, "0755": false, "755": false, "777": false,
		"g+s": true, "u=rws": true, "+s": true, "a+x,g+s": true, "u+r-w+s": true, "g-s": false, "u=rw,g-s": false, "o+t": false, "g=u": false, "u+s-x": true, "u+x-s": false,
	} {
		if got := setsID(mode); got != want {
			t.Errorf("mode %s: got %t, want %t", mode, got, want)
		}
	}
}
