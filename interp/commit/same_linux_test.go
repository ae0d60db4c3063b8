package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"steps.example/interp/changeset"
)

// TestSameCapture lets a random command run once with a layer and once with a
// snapshot. Both captures are the same; applying either gives the tree that the
// command makes when it runs on it plainly; rolling back and undoing give before.
func TestSameCapture(t *testing.T) {
	t.Parallel()
	needOverlay(t)
	stats := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		before := model{}
		for range rapid.IntRange(0, 14).Draw(rt, "objects") {
			randomPut(rt, before)
		}
		for _, o := range before {
			o.mode |= 0o400
			switch o.kind {
			case changeset.Dir:
				o.mode |= 0o500
			case changeset.Symlink:
				o.content = filepath.Base(o.content) // the command is in no jail
			}
		}
		var calls []call
		for range rapid.IntRange(1, 12).Draw(rt, "calls") {
			calls = append(calls, randomCall(rt, before))
		}
		sameCapture(t, rt, before, calls, rapid.Bool().Draw(rt, "roll back"), stats)
	})
	t.Log(stats)
}

func randomCall(t *rapid.T, before model) call {
	path := func(label string) string {
		names := rapid.SampledFrom([]string{"a", "a-b", "b", "c"})
		if known := sortedKeys(before); len(known) > 0 && rapid.IntRange(0, 2).Draw(t, label+" known") > 0 {
			return rapid.SampledFrom(known).Draw(t, label)
		}
		p := ""
		for range rapid.IntRange(1, 3).Draw(t, label+" depth") {
			p = filepath.Join(p, names.Draw(t, label))
		}
		return p
	}
	do := rapid.SampledFrom([]string{"write", "append", "truncate", "sparse", "again", "mkdir", "unlink", "rmdir", "rm -r",
		"remake", "symlink", "link", "mkfifo", "chmod", "touch", "mv", "mv", "write", "rm -r"}).Draw(t, "do")
	c := call{Do: do, Path: path("path"), Mode: 0o644}
	switch do {
	case "mv", "link":
		c.To = path("to")
	case "mkdir", "remake":
		c.Mode = rapid.SampledFrom([]uint32{0o755, 0o700}).Draw(t, "mode")
	case "chmod":
		c.Mode = rapid.SampledFrom([]uint32{0o755, 0o644, 0o700, 0o555, 0o400, 0, 0o2755}).Draw(t, "mode")
		if rapid.IntRange(0, 5).Draw(t, "root") == 0 {
			c.Path, c.Mode = ".", c.Mode|0o500
		}
	}
	c.Text = rapid.SampledFrom([]string{"", "x", "hello"}).Draw(t, "text")
	return c
}

type failer interface{ Fatalf(string, ...any) }

func sameCapture(t *testing.T, rt failer, before model, calls []call, rollBack bool, stats map[string]int) {
	dir, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		rt.Fatalf("%v", err)
	}
	if dir, err = os.MkdirTemp(dir, "commit"); err != nil {
		rt.Fatalf("%v", err)
	}
	defer func() { loosen(dir); os.RemoveAll(dir) }()
	b := bed{filepath.Join(dir, "root"), filepath.Join(dir, "store")}
	plain := filepath.Join(dir, "plain")
	for _, root := range []string{b.root, plain} {
		if err := os.Mkdir(root, 0o755); err != nil {
			rt.Fatalf("%v", err)
		}
		before.clone().make(t, root)
	}
	was := portrait(t, b.root)
	same := func(what string, want map[string]string) {
		if diff := gocmp.Diff(want, portrait(t, b.root)); diff != "" {
			rt.Fatalf("%s: (-want +got)\n%s\n%+v", what, diff, calls)
		}
	}
	said := perform(t, script{Dir: plain, Calls: calls})
	want := portrait(t, plain)
	s := b.open(t)
	defer s.Close()
	if rollBack {
		// A command that failed is not captured at all.
		set := openSet(t, b.root)
		tx, err := s.Begin(set, Options{})
		if err == nil {
			err = tx.Snapshot([]string{b.root})
		}
		if err == nil {
			perform(t, script{Dir: b.root, Calls: calls})
			err = tx.Rollback()
		}
		if err != nil {
			rt.Fatalf("not captured: %v\n%+v", err, calls)
		}
		same("not captured", was)
		nothingLeft(t, s)
		set.Close()
	}
	var first *changeset.Captured
	for _, way := range []string{"layers", "snapshot"} {
		set := openSet(t, b.root)
		tx, err := s.Begin(set, Options{})
		if err != nil {
			rt.Fatalf("%v", err)
		}
		sc := script{Dir: b.root, Calls: calls}
		if way == "layers" {
			list, err := tx.Layers([]string{b.root})
			if err != nil {
				rt.Fatalf("%v", err)
			}
			sc.Layer = &list[0]
		} else if err := tx.Snapshot([]string{b.root}); err != nil {
			rt.Fatalf("%v", err)
		}
		if got := perform(t, sc); got != said {
			rt.Fatalf("%s: the command saw something else: %s", way, gocmp.Diff(said, got))
		}
		got, err := map[string]func() (*changeset.Captured, error){"layers": tx.CaptureLayers, "snapshot": tx.Capture}[way]()
		if err != nil {
			rt.Fatalf("%s: %v\n%+v", way, err, calls)
		}
		same(way+": captured", was)
		if first == nil {
			first = gist(got)
		} else if diff := gocmp.Diff(first, gist(got)); diff != "" {
			rt.Fatalf("(-layers +snapshot)\n%s\n%+v", diff, calls)
		}
		err = tx.Apply(got.Changes)
		switch {
		case err != nil && len(special(got)) > 0:
			stats["special"]++
			same(way+": refused", was)
			if errors.Is(err, ErrBlocked) {
				rt.Fatalf("%s: %v", way, err)
			}
		case err != nil && os.Geteuid() != 0 && errors.Is(err, unix.EACCES):
			stats["no permission"]++
			same(way+": no permission", was)
		case err != nil:
			rt.Fatalf("%s: apply: %v\n%+v", way, err, calls)
		case rollBack:
			stats["rolled back"]++
			same(way+": applied", want)
			if err := tx.Rollback(); err != nil {
				rt.Fatalf("%s: %v", way, err)
			}
		default:
			stats["undone"]++
			same(way+": applied", want)
			id, err := tx.Commit(&Receipt{})
			if err != nil {
				rt.Fatalf("%s: %v", way, err)
			}
			nothingLeft(t, s)
			r, err := s.Receipt(id)
			if err != nil {
				rt.Fatalf("%v", err)
			}
			if drifts, err := s.Verify(r); err != nil || len(drifts) > 0 {
				rt.Fatalf("%s: verify: %v, %v", way, drifts, err)
			}
			if err := s.Undo(id); err != nil {
				rt.Fatalf("%s: undo: %v\n%+v", way, err, calls)
			}
		}
		same(way+": back", was)
		nothingLeft(t, s)
		set.Close()
	}
}

// TestSameCaptureTable has what the random commands may miss.
func TestSameCaptureTable(t *testing.T) {
	t.Parallel()
	needOverlay(t)
	const tree = `
		a/ 0755
		a/f 0644 f
		a/sub/ 0755
		a/sub/g 0600 g
		b/ 0755
		l -> a/f
		f 0644 content
		ro/ 0555
		ro/x 0444 x`
	for _, tc := range []struct {
		name  string
		calls []call
	}{
		{"nothing", nil},
		{"copied up, not changed", []call{{Do: "touch", Path: "f"}, {Do: "chmod", Path: "a", Mode: 0o700}, {Do: "chmod", Path: "a", Mode: 0o755}, {Do: "append", Path: "a/f"}}},
		{"equal file instead", []call{{Do: "again", Path: "f"}}},
		{"opaque", []call{{Do: "remake", Path: "a", Mode: 0o755}, {Do: "mkdir", Path: "a/sub", Mode: 0o755}, {Do: "write", Path: "a/sub/h", Text: "h", Mode: 0o644}}},
		{"opaque, and the same again", []call{{Do: "remake", Path: "a", Mode: 0o755}, {Do: "write", Path: "a/f", Text: "f", Mode: 0o644}}},
		{"opaque in opaque", []call{{Do: "remake", Path: "a", Mode: 0o755}, {Do: "mkdir", Path: "a/sub", Mode: 0o755}, {Do: "remake", Path: "a/sub", Mode: 0o700}, {Do: "rm -r", Path: "a/f"}}},
		{"file in place of a directory", []call{{Do: "rm -r", Path: "a"}, {Do: "write", Path: "a", Text: "file", Mode: 0o644}}},
		{"and back", []call{{Do: "rm -r", Path: "a"}, {Do: "write", Path: "a", Text: "file", Mode: 0o644}, {Do: "unlink", Path: "a"}, {Do: "mkdir", Path: "a", Mode: 0o755}, {Do: "write", Path: "a/f", Text: "F", Mode: 0o644}}},
		{"directory in place of a file", []call{{Do: "unlink", Path: "f"}, {Do: "mkdir", Path: "f", Mode: 0o755}, {Do: "write", Path: "f/in", Text: "in", Mode: 0o600}}},
		{"directory moved", []call{{Do: "mv", Path: "a", To: "c"}, {Do: "mv", Path: "c/sub", To: "b/sub"}}},
		{"moved over", []call{{Do: "mv", Path: "f", To: "a/f"}, {Do: "mv", Path: "l", To: "f"}}},
		{"link to what was there", []call{{Do: "link", Path: "f", To: "b/f"}}},
		{"link to what was there, written to", []call{{Do: "link", Path: "f", To: "b/f"}, {Do: "append", Path: "b/f", Text: "more"}}},
		{"link to what was there, touched", []call{{Do: "touch", Path: "f"}, {Do: "link", Path: "f", To: "b/f"}, {Do: "link", Path: "f", To: "g"}}},
		{"one link instead of two", []call{{Do: "symlink", Path: "l2", Text: "a/f"}, {Do: "mv", Path: "l2", To: "l"}, {Do: "link", Path: "l", To: "l3"}}},
		{"links among new ones", []call{{Do: "write", Path: "n", Text: "n", Mode: 0o644}, {Do: "link", Path: "n", To: "b/n"}, {Do: "link", Path: "n", To: "a/n"}}},
		{"link whose first name goes", []call{{Do: "link", Path: "f", To: "g"}, {Do: "unlink", Path: "f"}}},
		{"link to a link", []call{{Do: "link", Path: "l", To: "l2"}}},
		{"fifo", []call{{Do: "mkfifo", Path: "p"}}},
		{"closed", []call{{Do: "write", Path: "a/n", Text: "n", Mode: 0o000}, {Do: "chmod", Path: "a/sub/g", Mode: 0}, {Do: "mkdir", Path: "a/d", Mode: 0o755},
			{Do: "write", Path: "a/d/e", Text: "e", Mode: 0}, {Do: "chmod", Path: "a/d", Mode: 0}, {Do: "chmod", Path: "a/sub", Mode: 0}, {Do: "chmod", Path: "a", Mode: 0}}},
		{"closed, with two names", []call{{Do: "write", Path: "n", Text: "n", Mode: 0}, {Do: "link", Path: "n", To: "b/n"}, {Do: "chmod", Path: "f", Mode: 0}, {Do: "link", Path: "f", To: "a/a"}}},
		{"as it was once it is opened up", []call{{Do: "chmod", Path: ".", Mode: 0o555}, {Do: "chmod", Path: "b", Mode: 0o055}, {Do: "chmod", Path: "f", Mode: 0o244}}},
		{"root closed", []call{{Do: "chmod", Path: ".", Mode: 0o2700}}},
		{"in a read-only directory", []call{{Do: "chmod", Path: "ro", Mode: 0o755}, {Do: "unlink", Path: "ro/x"}}},
		{"sparse", []call{{Do: "sparse", Path: "big", Text: "end"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			stats := map[string]int{}
			sameCapture(t, t, parse(t, tree), tc.calls, true, map[string]int{})
			sameCapture(t, t, parse(t, tree), tc.calls, false, stats)
			if want := fmt.Sprint(map[string]int{"undone": 2}); tc.name != "fifo" && fmt.Sprint(stats) != want {
				t.Errorf("%v, want %s", stats, want)
			}
		})
	}
}
