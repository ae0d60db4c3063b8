package commit

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// What is given up and cannot be taken back says both, once.
func TestAbandon(t *testing.T) {
	t.Parallel()
	before := parse(t, `f 0644 f`)
	b := newBed(t, before)
	after := before.clone()
	after.remove("f")
	tx, err := b.open(t).Begin(openSet(t, b.root), Options{NoSync: true})
	if err == nil {
		err = tx.Apply(derive(t, b.root, before, after))
	}
	if err == nil {
		err = os.WriteFile(b.root+"/f", []byte("theirs"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	reason := errors.New("the reason")
	err = tx.Abandon(reason)
	if !errors.Is(err, reason) || !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "something else is there now") {
		t.Errorf("got %v", err)
	}
	if again := tx.Abandon(err); again != err {
		t.Errorf("again: %v", again)
	}
}
