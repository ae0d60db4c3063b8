package main

import (
	"context"
	"os"
	"os/exec"

	"steps.example/interp/broker"
)

// startBroker starts a broker by a command, such as sudo, in the root directory and without
// this process' variables. What it says to people goes to this process' standard error.
// The broker has no descriptors of this process but those three, and nothing that this
// process starts has the other ends.
func startBroker(ctx context.Context, name string, args ...string) (*broker.Conn, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = "/", os.Stderr
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	// It is told by the end of its input, never killed in the middle of something.
	cmd.Cancel = func() error { return nil }
	out, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return broker.NewConn(in, out, cmd.Wait), nil
}
