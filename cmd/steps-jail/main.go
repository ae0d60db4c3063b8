// The command steps-jail is the helper with which steps runs commands in a
// jail. Steps starts it from beside itself; it has no use by hand.
package main

import (
	"fmt"
	"os"

	"steps.example/interp/jail"
)

func main() {
	if !jail.IsHelper() {
		fmt.Fprintln(os.Stderr, "steps-jail: this program is started by steps and has no use by hand; see `steps help`")
		os.Exit(2)
	}
	jail.Main()
}
