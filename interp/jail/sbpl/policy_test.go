package sbpl_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"steps.example/interp/jail/sbpl"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want string
		change     func(*sbpl.Policy)
	}{
		{"relative", "not an absolute path", func(p *sbpl.Policy) { p.Reads = []string{"usr"} }},
		{"empty", "empty path", func(p *sbpl.Policy) { p.Writes = []string{""} }},
		{"dot-dot", `write "/usr/bin"`, func(p *sbpl.Policy) { p.Execs = []string{"/usr/lib/../bin"} }},
		{"double slash", "not a clean path", func(p *sbpl.Policy) { p.Writes = []string{"/opt//x"} }},
		{"trailing slash", "not a clean path", func(p *sbpl.Policy) { p.Temp = "/opt/x/" }},
		{"NUL", "NUL", func(p *sbpl.Policy) { p.Reads = []string{"/usr\x00"} }},
		{"not UTF-8", "UTF-8", func(p *sbpl.Policy) { p.Reads = []string{"/\xff"} }},
		{"everything", "never granted", func(p *sbpl.Policy) { p.Reads = []string{"/"} }},
		// A rule for /tmp never matches: the kernel says /private/tmp.
		{"tmp", `write "/private/tmp/x"`, func(p *sbpl.Policy) { p.Writes = []string{"/tmp/x"} }},
		{"var", `write "/private/var/x"`, func(p *sbpl.Policy) { p.Reads = []string{"/var/x"} }},
		{"etc", `write "/private/etc"`, func(p *sbpl.Policy) { p.Reads = []string{"/etc"} }},
		{"firmlink", `write "/Users/u"`, func(p *sbpl.Policy) { p.Reads = []string{"/System/Volumes/Data/Users/u"} }},
		{"two links", `write "/private/tmp/x"`, func(p *sbpl.Policy) { p.Writes = []string{"/System/Volumes/Data/tmp/x"} }},
		{"protected grant", "granted for writing", func(p *sbpl.Policy) { p.Protect = []string{"/opt/x"} }},
		{"protected above", "granted for writing", func(p *sbpl.Policy) { p.Protect = []string{"/opt"} }},
		{"protected elsewhere", "under no writable directory", func(p *sbpl.Policy) { p.Protect = []string{"/opt/y"} }},
		{"protected alias", "passes through a link", func(p *sbpl.Policy) { p.Protect = []string{"/tmp/x"} }},
		{"network and ports", "granted already", func(p *sbpl.Policy) { p.Network, p.Ports = true, []uint16{1} }},
		{"port 0", "0 is no port", func(p *sbpl.Policy) { p.Ports = []uint16{0} }},
	} {
		p := sbpl.Policy{Reads: []string{"/usr"}, Writes: []string{"/opt/x"}, Protect: []string{"/opt/x/.git"}}
		if _, err := sbpl.Generate(p); err != nil {
			t.Fatal(err)
		}
		tc.change(&p)
		if _, err := sbpl.Generate(p); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

// What the profile of any policy never allows, and what it always does, told by
// the policy alone.
func TestProperties(t *testing.T) {
	t.Parallel()
	component := rapid.SampledFrom([]string{"a", "b", "ab", "c"})
	anyPath := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(component, 1, 5).Draw(t, "path"), "/")
	})
	paths := rapid.SliceOfN(anyPath, 0, 3)
	under := func(name string, dirs []string) bool {
		for _, dir := range dirs {
			if name == dir || strings.HasPrefix(name, dir+"/") {
				return true
			}
		}
		return false
	}
	writeOps := []string{"file-write-data", "file-write-create", "file-write-unlink", "file-write-mode", "file-write-owner", "file-write-times"}
	rapid.Check(t, func(t *rapid.T) {
		p := sbpl.Policy{Reads: paths.Draw(t, "reads"), Execs: paths.Draw(t, "execs"), Writes: paths.Draw(t, "writes")}
		switch rapid.IntRange(0, 2).Draw(t, "network") {
		case 1:
			p.Network = true
		case 2:
			p.Ports = []uint16{443}
		}
		for _, name := range paths.Draw(t, "protect") {
			holds := false
			for _, dir := range p.Writes {
				holds = holds || under(dir, []string{name})
			}
			if under(name, p.Writes) && !holds {
				p.Protect = append(p.Protect, name)
			}
		}
		program, err := sbpl.Generate(p)
		if err != nil {
			t.Fatal(err)
		}
		profile, err := program.Parse()
		if err != nil {
			t.Fatal(err)
		}
		allowed := func(op, object string) bool {
			d, err := profile.Decide(sbpl.Request{Op: op, Object: object})
			if err != nil {
				t.Fatal(err)
			}
			return d.Allow
		}
		for range 40 {
			name := anyPath.Draw(t, "name")
			writable, protected := under(name, p.Writes), under(name, p.Protect)
			top := writable && !under(path.Dir(name), p.Writes)
			above := false
			for _, held := range p.Protect {
				above = above || under(held, []string{name})
			}
			for _, op := range writeOps {
				want := writable && !protected
				if op == "file-write-create" || op == "file-write-unlink" {
					want = want && !top && !above
				}
				if got := allowed(op, name); got != want {
					t.Fatalf("%s %s: %t, want %t", op, name, got, want)
				}
			}
			for _, op := range []string{"file-write-setugid", "file-write-xattr", "file-write-flags", "file-link"} {
				if allowed(op, name) {
					t.Fatalf("%s %s is allowed", op, name)
				}
			}
			executable := under(name, p.Execs)
			for op, want := range map[string]bool{
				"file-read-data":           writable || executable || under(name, p.Reads),
				"process-exec":             executable,
				"process-exec-interpreter": executable,
				"file-map-executable":      executable,
			} {
				if got := allowed(op, name); got != want {
					t.Fatalf("%s %s: %t, want %t", op, name, got, want)
				}
			}
			if allowed("network-outbound", "unix:"+name) || allowed("network-bind", "unix:"+name) {
				t.Fatalf("a unix socket at %s is reachable", name)
			}
		}
		// Whatever moves a protected name is denied: the name itself and every
		// directory above it.
		for _, held := range p.Protect {
			for name := held; name != "/"; name = path.Dir(name) {
				if allowed("file-write-unlink", name) || allowed("file-write-create", name) {
					t.Fatalf("%s, and so the protected %s, can be moved or replaced", name, held)
				}
			}
		}
	})
}
