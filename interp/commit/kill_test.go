package commit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// killEnv names the directory that a child of TestKill works in, and killWay how
// what it commits comes about.
const (
	killEnv = "STEPS_COMMIT_KILL_DIR"
	killWay = "STEPS_COMMIT_KILL_WAY"
)

// watchCommand runs a command in a transaction and captures what it changes, by
// the way of that name.
var watchCommand = map[string]func(t testing.TB, tx *Tx, root string, before, after model) (*changeset.Captured, error){
	"snapshot": func(t testing.TB, tx *Tx, root string, before, after model) (*changeset.Captured, error) {
		if err := tx.Snapshot([]string{root}); err != nil {
			return nil, err
		}
		execute(t, root, before.clone(), after)
		return tx.Capture()
	},
}

// children are what a child process of a test does, by the environment variable
// that says so and is its argument.
var children = map[string]func(string) error{
	killEnv: func(dir string) error { return killChild(dir, os.Getenv(killWay)) },
}

func TestMain(m *testing.M) {
	for name, child := range children {
		if arg := os.Getenv(name); arg != "" {
			if err := child(arg); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// killModels is a tree of a few hundred objects, and one that differs in all.
func killModels() (before, after model) {
	before = model{}
	for i := range 40 {
		d := fmt.Sprintf("d%02d", i)
		before.mkdir(d, 0o755)
		for k := range 4 {
			before.put(fmt.Sprintf("%s/f%d", d, k), file(0o644, fmt.Sprint("content ", i, k)))
		}
		before.put(d+"/l", link("f0"))
	}
	for p, o := range before {
		o.orig = p
	}
	after = before.clone()
	for i := range 40 {
		d := fmt.Sprintf("d%02d", i)
		switch i % 4 {
		case 0:
			after.remove(d)
		case 1:
			after.move(d, "moved-"+d)
		case 2:
			after.put(d+"/f1", file(0o600, "new"))
			after.put(d+"/l", link("f2"))
			after[d].mode = 0o700
		case 3:
			after.swap(d+"/f2", d+"/f3")
			after.mkdir(d+"/sub", 0o755)
			for k := range 10 {
				after.put(fmt.Sprintf("%s/sub/%d", d, k), file(0o644, "x"))
			}
		}
	}
	return before, after
}

// killChild commits and undoes until it is killed.
func killChild(dir, way string) error {
	b := bed{filepath.Join(dir, "root"), filepath.Join(dir, "store")}
	before, after := killModels()
	t := &testing.T{}
	for {
		s, err := OpenStore(b.store)
		if err != nil {
			return err
		}
		s.disk.noSync = true
		set, err := fsroot.New([]string{b.root})
		if err != nil {
			return err
		}
		tx, err := s.Begin(set, Options{})
		if err != nil {
			return err
		}
		cs := &changeset.Changeset{}
		if watch := watchCommand[way]; watch == nil {
			cs = derive(t, b.root, before, after)
		} else if got, err := watch(t, tx, b.root, before, after); err != nil {
			return err
		} else {
			cs = got.Changes
		}
		if err := tx.Apply(cs); err != nil {
			return err
		}
		id, err := tx.Commit(&Receipt{})
		if err != nil {
			return err
		}
		if err := s.Undo(id); err != nil {
			return err
		}
		set.Close()
		s.Close()
	}
}

// TestKill kills a process that commits and undoes, at random moments.
func TestKill(t *testing.T) {
	for _, way := range []string{"", "snapshot", "layers"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			if way == "layers" && watchCommand[way] == nil {
				t.Skip("needs Linux")
			}
			killOften(t, way)
		})
	}
}

func killOften(t *testing.T, way string) {
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	before, after := killModels()
	seen := map[bool]int{}
	for round := range rounds {
		b := newBedIn(t, t.TempDir(), before)
		was := dumpDisk(t, b.root, nil)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killEnv+"="+filepath.Dir(b.root), killWay+"="+way)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(5+rand.IntN(100)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); cmd.ProcessState.Exited() {
			t.Fatalf("round %d: child ended by itself: %v", round, err)
		}
		s := b.open(t)
		recovered, err := s.Recover(RecoverOptions{})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		seen[len(recovered) > 0]++
		if way == "" {
			eitherWay(t, b, s, fmt.Sprint("round ", round), was, before, after, false)
			s.Close()
		} else {
			recoverTo(t, b, s, fmt.Sprint("round ", round), before, after, false)
		}
		os.RemoveAll(filepath.Dir(b.root))
	}
	t.Logf("%d of %d kills left work to recover", seen[true], rounds)
}
