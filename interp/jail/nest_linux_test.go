package jail_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"steps.example/interp/jail"
)

// nested makes the command of a jail run another jail, depth deep, with the
// probe named at its bottom.
type nested struct {
	Depth  int
	Policy jail.Policy
	Self   string
	World  string
	Probe  string
}

// runNested is the command in a jail: it makes the next jail, and passes on
// what came of it. An error of a jail ends with status 3.
func runNested(encoded string) int {
	var n nested
	if err := json.Unmarshal([]byte(encoded), &n); err != nil {
		fmt.Println(err)
		return 2
	}
	c := jail.Command{Path: n.Self, Args: []string{"probe", n.Probe, n.World}}
	if n.Depth > 1 {
		n.Depth--
		next, err := json.Marshal(n)
		if err != nil {
			fmt.Println(err)
			return 2
		}
		c.Args = []string{"nested", string(next)}
	}
	res, err := jail.Run(context.Background(), n.Self, n.Policy, c)
	if err != nil {
		fmt.Println(err)
		return 3
	}
	os.Stdout.Write(res.Stdout)
	os.Stdout.Write(res.Stderr)
	return res.ExitCode
}

func TestJailInJail(t *testing.T) {
	t.Parallel()
	needJail(t)
	if jail.Check().Landlock < 6 {
		t.Skip("no landlock signal scope, and a jail has no /proc to do without")
	}
	for _, tc := range []struct {
		name  string
		depth int
		probe string
		code  int
		want  string
	}{
		{"works", 3, "rename across directories", 0, ""},
		{"works eight deep", 8, "rename across directories", 0, ""},
		{"runs programs", 2, "run a program", 0, ""},
		{"denies", 3, "read outside", 1, "/out/file"},
		{"denies the network", 2, "tcp connect", 1, "EPERM"},
		// Landlock has 16 layers and a jail takes two, or one with namespaces.
		{"too deep", 9, "write in", 3, "layers"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := policy(t, w.In)
			encoded, err := json.Marshal(nested{tc.depth - 1, p, p.Execs[len(p.Execs)-1], w.encode(t), tc.probe})
			if err != nil {
				t.Fatal(err)
			}
			res := run(t, p, self(t), "nested", string(encoded))
			if res.ExitCode != tc.code || !strings.Contains(string(res.Stdout), tc.want) {
				t.Errorf("exit %d %s, want %d with %q\n%s%s", res.ExitCode, res.Signal, tc.code, tc.want, res.Stdout, res.Stderr)
			}
		})
	}
}
