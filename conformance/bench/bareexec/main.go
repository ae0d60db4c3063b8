// Command bareexec executes its arguments and waits: the least that a helper
// written in Go can do, against which bench measures the jail's.
package main

import (
	"os"
	"os/exec"
)

func main() {
	cmd := exec.Cmd{Path: os.Args[1], Args: os.Args[1:], Env: []string{}, Stdout: os.Stdout, Stderr: os.Stderr}
	if cmd.Run() != nil {
		os.Exit(1)
	}
}
