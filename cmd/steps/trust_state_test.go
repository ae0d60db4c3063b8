package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const statePURL = "pkg:generic/acme/demo@1.0"

func markOf(registry string, revision int, digit string) seenMark {
	return seenMark{registry, revision, strings.Repeat(digit, 64)}
}

func recordMark(t *testing.T, s trustState, m seenMark) error {
	t.Helper()
	k, err := s.keep()
	if err != nil {
		return err
	}
	defer k.close()
	if err := k.unchanged(statePURL, m); err != nil {
		return err
	}
	return k.record(statePURL, m)
}

func TestTrustState(t *testing.T) {
	t.Parallel()
	s := trustState{filepath.Join(t.TempDir(), "state", "trust")}
	if list, err := s.seen(statePURL); err != nil || list != nil || exists(s.dir) {
		t.Fatalf("nothing was seen yet, but got %v, %v", list, err)
	}
	a, b := markOf("https://a.example", 1, "a"), markOf("https://b.example", 7, "b")
	for _, m := range []seenMark{a, b, b} {
		if err := recordMark(t, s, m); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.seen(statePURL)
	if err != nil || len(list) != 2 || !slices.Contains(list, a) || !slices.Contains(list, b) {
		t.Fatalf("seen %v, %v", list, err)
	}
	if list, err := s.seen(statePURL + "0"); err != nil || list != nil {
		t.Errorf("of another package %v, %v were seen", list, err)
	}
	// It never goes back, whatever was verified when.
	for _, m := range []seenMark{markOf(b.Registry, 6, "c"), markOf(b.Registry, 7, "c")} {
		if code := codeOf(recordMark(t, s, m)); code != exitTrust {
			t.Errorf("%v after %v: exit status %d, want %d", m, b, code, exitTrust)
		}
	}
	if err := recordMark(t, s, markOf(b.Registry, 8, "c")); err != nil {
		t.Error(err)
	}
	// One process at a time.
	k, err := s.keep()
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	if _, err := s.keep(); err == nil || codeOf(err) != exitLocked {
		t.Errorf("a second process gets %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, ".new*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// What is in the directory is believed only if it is sound.
func TestTrustStateDamaged(t *testing.T) {
	t.Parallel()
	good := `{"version":1,"purl":"` + statePURL + `","seen":[{"registry":"https://a.example","revision":3,"payload_sha256":"` + strings.Repeat("a", 64) + `"}]}`
	for _, tc := range []struct{ name, text, want string }{
		{"good", good, ""},
		{"empty", "", "EOF"},
		{"another version", strings.Replace(good, `"version":1`, `"version":2`, 1), "version 2 is not known"},
		{"another package", strings.Replace(good, "demo", "other", 1), "is about"},
		{"unknown member", strings.Replace(good, `"version"`, `"x":1,"version"`, 1), "unknown"},
		{"doubled member", strings.Replace(good, `"version":1`, `"version":1,"version":1`, 1), "duplicate"},
		{"no revision", strings.Replace(good, `"revision":3`, `"revision":0`, 1), "a revision or digest that is none"},
		{"no digest", strings.Replace(good, strings.Repeat("a", 64), "aa", 1), "a revision or digest that is none"},
		{"too large", good + strings.Repeat(" ", maxSeenBytes), "more than 65536 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := trustState{filepath.Join(t.TempDir(), "trust")}
			if err := os.Mkdir(s.dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.dir, seenName(statePURL)), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			list, err := s.seen(statePURL)
			if tc.want == "" {
				if err != nil || len(list) != 1 {
					t.Errorf("got %v, %v", list, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || codeOf(err) != exitTrust {
				t.Errorf("got error %v, want one about %q", err, tc.want)
			}
		})
	}
}

// What others may have written, or what is elsewhere, is neither read nor written.
func TestTrustStateForeign(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		bend func(dir, file string) error
	}{
		{"file for others", func(_, file string) error { return os.Chmod(file, 0o644) }},
		{"linked file", func(dir, file string) error { return moveAndLink(file, dir+".file") }},
		{"directory for others", func(dir, _ string) error { return os.Chmod(dir, 0o750) }},
		{"linked directory", func(dir, _ string) error { return moveAndLink(dir, dir+".real") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := trustState{filepath.Join(t.TempDir(), "trust")}
			if err := recordMark(t, s, markOf("https://a.example", 1, "a")); err != nil {
				t.Fatal(err)
			}
			if err := tc.bend(s.dir, filepath.Join(s.dir, seenName(statePURL))); err != nil {
				t.Fatal(err)
			}
			if _, err := s.seen(statePURL); err == nil || codeOf(err) != exitTrust {
				t.Errorf("got error %v", err)
			}
			if err := recordMark(t, s, markOf("https://a.example", 2, "b")); err == nil {
				t.Error("it was written to")
			}
		})
	}
}

func moveAndLink(path, elsewhere string) error {
	if err := os.Rename(path, elsewhere); err != nil {
		return err
	}
	return os.Symlink(elsewhere, path)
}

func FuzzSeenFile(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "trust")
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"version":1,"purl":"` + statePURL + `","seen":[{"registry":"https://a.example","revision":3,"payload_sha256":"` + strings.Repeat("a", 64) + `"}]}`))
	f.Add([]byte(`{"version":1,"purl":"` + statePURL + `","seen":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, seenName(statePURL)), data, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := trustState{dir}.seen(statePURL)
		if err != nil && codeOf(err) != exitTrust {
			t.Errorf("exit status %d: %v", codeOf(err), err)
		}
		for _, m := range list {
			if m.Revision < 1 || len(m.PayloadSHA256) != 64 {
				t.Errorf("took %v", m)
			}
		}
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
