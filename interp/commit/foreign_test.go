package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForeignChangesAfterCrash: what others do to the tree after a crash is
// never destroyed by recovery; where it stands in the way, recovery stops and
// says so, and keep gives up.
func TestForeignChangesAfterCrash(t *testing.T) {
	before := parse(t, `
		f 0644 old
		g 0644 gone
		m 0644 moves`)
	edit := func(m model) {
		m.put("f", file(0o644, "new"))
		m.remove("g")
		m.move("m", "n")
		m.mkdir("d", 0o755)
		m.put("d/i", file(0o644, "i"))
		m.put("p", file(0o644, "new"))
	}
	instead := func(path string) error {
		return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("foreign"), 0o644), os.RemoveAll(path+".old"))
	}
	for _, tc := range []struct {
		name    string
		foreign func(root string) error
		path    string // that blocks; "" if nothing does
		reason  string
		held    bool   // what was there before is kept for it
		at      string // the operation of recovery, on that path, right before which it happens; "" for before all
	}{
		{"new file written to", func(r string) error { return os.WriteFile(r+"/f", []byte("foreign"), 0o644) }, "f", "written to or replaced since", true, ""},
		{"new file replaced", func(r string) error {
			return errors.Join(os.WriteFile(r+"/tmp", []byte("foreign"), 0o644), os.Rename(r+"/tmp", r+"/f"))
		}, "f", "written to or replaced since", true, ""},
		{"new file written to at that moment", func(r string) error { return os.WriteFile(r+"/f", []byte("foreign"), 0o644) }, "f", "at this moment", true, "exchange"},
		{"new file replaced at that moment", func(r string) error { return instead(r + "/f") }, "f", "at this moment", true, "exchange"},
		{"new file deleted", func(r string) error { return os.Remove(r + "/f") }, "", "", false, ""},
		{"deleted file made again", func(r string) error { return os.WriteFile(r+"/g", []byte("foreign"), 0o644) }, "g", "something else is there now", true, ""},
		{"file added to new directory", func(r string) error { return os.WriteFile(r+"/d/x", []byte("foreign"), 0o644) }, "d", "x was added to it since", false, ""},
		{"file in new directory written to", func(r string) error { return os.WriteFile(r+"/d/i", []byte("foreign"), 0o644) }, "d", "i in it was changed since", false, ""},
		{"file added to new directory at that moment", func(r string) error { return os.WriteFile(r+"/d/x", []byte("foreign"), 0o644) }, "d", "x was added to it since", false, "move"},
		{"new directory replaced", func(r string) error {
			return errors.Join(os.RemoveAll(r+"/d"), os.Mkdir(r+"/d", 0o755), os.WriteFile(r+"/d/i", []byte("foreign"), 0o644))
		}, "d", "replaced since", false, ""},
		{"file where nothing was written to", func(r string) error { return os.WriteFile(r+"/p", []byte("foreign"), 0o644) }, "p", "written to since", false, ""},
		{"file where nothing was replaced", func(r string) error { return instead(r + "/p") }, "p", "replaced since", false, ""},
		{"file where nothing was replaced at that moment", func(r string) error { return instead(r + "/p") }, "p", "at this moment", false, "move"},
		{"moved file written to", func(r string) error { return os.WriteFile(r+"/n", []byte("foreign"), 0o644) }, "", "", false, ""},
		{"moved file replaced", func(r string) error { return instead(r + "/n") }, "m", "is not there any more", false, ""},
		{"moved file replaced at that moment", func(r string) error { return instead(r + "/n") }, "n", "at this moment", false, "move"},
		{"moved file moved on", func(r string) error { return os.Rename(r+"/n", r+"/foreign") }, "m", "is not there any more", false, ""},
		{"new directory removed", func(r string) error { return os.RemoveAll(r + "/d") }, "", "", false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := before.clone()
			b := newBed(t, before)
			after := before.clone()
			edit(after)
			s := b.open(t)
			func() {
				defer func() { _ = recover() }()
				s.disk.hook = func(p Call) error {
					if p.Name == receiptName {
						panic(errCrash)
					}
					return nil
				}
				_, err := b.apply(t, s, derive(t, b.root, before, after))
				t.Fatal("no crash: ", err)
			}()
			s.Close()
			if tc.at == "" {
				if err := tc.foreign(b.root); err != nil {
					t.Fatal(err)
				}
			}
			s = b.open(t)
			var interrupted *InterruptedError
			if _, err := s.Begin(openSet(t, b.root), Options{}); !errors.As(err, &interrupted) || len(interrupted.Pending) != 1 {
				t.Fatalf("begin: %v", err)
			}
			if tc.at != "" {
				struck := false
				s.disk.hook = func(c Call) error {
					if !struck && !c.After && c.Op == tc.at && (c.Entry == tc.path || c.NewEntry == tc.path) {
						struck = true
						return tc.foreign(b.root)
					}
					return nil
				}
			}
			_, err := s.Recover(RecoverOptions{})
			s.disk.hook = nil
			if tc.path == "" {
				if err != nil {
					t.Fatal(err)
				}
				clean(t, s)
				return
			}
			var blocked *BlockedError
			if !errors.As(err, &blocked) || !strings.HasPrefix(blocked.Conflicts[0].Path, filepath.Join(b.root, tc.path)) {
				t.Fatalf("recover: %v", err)
			}
			if c := blocked.Conflicts[0]; !strings.Contains(c.Reason, tc.reason) || (c.Held != "") != tc.held {
				t.Errorf("recover: %q, held at %q", c.Reason, c.Held)
			}
			if !strings.Contains(fmt.Sprint(dumpDisk(t, b.root, nil).tree), "foreign") {
				t.Fatal("what others made is gone")
			}
			if _, err := s.Recover(RecoverOptions{}); tc.at == "" && !errors.Is(err, ErrBlocked) {
				t.Fatalf("recover again: %v", err)
			}
			got, err := s.Recover(RecoverOptions{Keep: true})
			if err != nil || len(got) != 1 || got[0].Kept == "" {
				t.Fatalf("keep: %+v, %v", got, err)
			}
			if _, err := os.Stat(filepath.Join(got[0].Kept, journalName)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(fmt.Sprint(dumpDisk(t, b.root, nil).tree), "foreign") {
				t.Fatal("what others made is gone")
			}
			clean(t, s)
			tx, err := s.Begin(openSet(t, b.root), Options{})
			if err != nil {
				t.Fatal(err)
			}
			tx.Rollback()
		})
	}
}
