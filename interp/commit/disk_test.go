package commit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A kernel that cannot exchange two files gets another way of doing it.
func TestNoExchange(t *testing.T) {
	t.Parallel()
	before := parse(t, `f 0644 old`)
	b := newBed(t, before)
	after := before.clone()
	after.put("f", file(0o644, "new"))
	s := b.open(t)
	s.disk.hook = func(c Call) error {
		if c.Op == "exchange" {
			return unix.EINVAL
		}
		return nil
	}
	if _, err := b.apply(t, s, derive(t, b.root, before, after)); err != nil {
		t.Fatal(err)
	}
	sameTree(t, "after", dumpDisk(t, b.root, nil), after)
}

// Where a file is to be made and something is, nothing is made: nobody else's file is
// written to.
func TestPlanted(t *testing.T) {
	t.Parallel()
	after := model{}
	after.put("f", file(0o644, "text"))
	for n := 0; ; n++ {
		b := newBed(t, model{})
		theirs := filepath.Join(filepath.Dir(b.root), "theirs")
		if err := os.WriteFile(theirs, []byte("theirs"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := b.open(t)
		made, what := 0, ""
		s.disk.hook = func(c Call) error {
			if c.Op != "create" || c.After {
				return nil
			}
			if made++; made == n+1 {
				what = c.Name
				if err := unix.Linkat(unix.AT_FDCWD, theirs, c.Dir, c.Entry, 0); err != nil {
					t.Error(err)
				}
			}
			return nil
		}
		_, err := b.apply(t, s, derive(t, b.root, model{}, after))
		if what == "" {
			if n < 3 {
				t.Errorf("only %d files were made", n)
			}
			return
		}
		// That a transaction had begun may be noted already.
		if err == nil && !strings.HasPrefix(what, begunPrefix) && what != ownersName+".new" {
			t.Errorf("%s: it went through", what)
		}
		if data, err := os.ReadFile(theirs); err != nil || string(data) != "theirs" {
			t.Errorf("%s: what is theirs has %q, %v", what, data, err)
		}
	}
}
