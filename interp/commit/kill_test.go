package commit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"steps.example/interp/internal/fsroot"
)

const killEnv = "STEPS_COMMIT_KILL_DIR"

// TestMain is the child of TestKill when the environment says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv(killEnv); dir != "" {
		if err := killChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
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
func killChild(dir string) error {
	b := bed{filepath.Join(dir, "root"), filepath.Join(dir, "store")}
	before, after := killModels()
	t := &testing.T{}
	for {
		cs := derive(t, b.root, before, after)
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
	t.Parallel()
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
		cmd.Env = append(os.Environ(), killEnv+"="+filepath.Dir(b.root))
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
		eitherWay(t, b, s, fmt.Sprint("round ", round), was, before, after, false)
		s.Close()
		os.RemoveAll(filepath.Dir(b.root))
	}
	t.Logf("%d of %d kills left work to recover", seen[true], rounds)
}
