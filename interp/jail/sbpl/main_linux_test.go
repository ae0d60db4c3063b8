package sbpl_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"steps.example/interp/jail"
)

// The test binary is also the jail's helper and the command in the jail, which
// tries one action and exits 0 if it could, 1 if not.
func TestMain(m *testing.M) {
	if jail.IsHelper() {
		jail.Main()
	}
	if len(os.Args) == 4 && os.Args[1] == "try" {
		var w place
		action, ok := actions[os.Args[2]]
		if err := json.Unmarshal([]byte(os.Args[3]), &w); err != nil || !ok {
			fmt.Println("no such action", os.Args[2], err)
			os.Exit(2)
		}
		if err := action(w); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
