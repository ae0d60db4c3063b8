package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"steps.example/interp/broker"
)

// TestBrokerStart: a broker gets three descriptors, no variables, and the root directory; and
// what the caller starts beside it has no end of its pipes.
func TestBrokerStart(t *testing.T) {
	// Alone: another test may have a descriptor for a moment that children inherit.
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("needs /proc")
	}
	// What a child of this process has anyway.
	list := func() string {
		out, err := exec.Command("/bin/sh", "-c", "cd /proc/$$/fd && echo *").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	plain := list()
	show := `printf '{"store":"%s %s %s"}\n' "$PWD" "$(env | grep -c SECRET)" "$(cd /proc/$$/fd && echo *)"; cat >/dev/null`
	conn, err := startBroker(t.Context(), "/bin/sh", "-c", show)
	if err != nil {
		t.Fatal(err)
	}
	beside := list()
	a, err := conn.Ask(&broker.Request{Abort: true})
	if err != nil {
		t.Fatal(err)
	}
	if a.Store != "/ 0 "+plain {
		t.Errorf("the broker has %q, and any other child the descriptors %s", a.Store, plain)
	}
	if beside != plain {
		t.Errorf("another child has the descriptors %s, and had %s before", beside, plain)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}
