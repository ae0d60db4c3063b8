package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

const (
	// maxStdin is held in memory twice: here, and sealed for the command.
	maxStdin = 64 << 20
	// stdinPatience is after how long the user is told what is waited for.
	stdinPatience = 3 * time.Second
)

// isTerminal reports whether a stream of ours is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// readStdin is all of standard input, or nothing if that is a terminal.
func readStdin(ctx context.Context, t *terminal) ([]byte, error) {
	if isTerminal(t.in) {
		return nil, nil
	}
	type input struct {
		data []byte
		err  error
	}
	done := make(chan input, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(t.in, maxStdin+1))
		done <- input{data, err}
	}()
	patience := time.AfterFunc(stdinPatience, func() {
		t.talk("reading standard input to its end before the command starts; give it </dev/null if it needs none")
	})
	defer patience.Stop()
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("reading standard input: %w", ctx.Err())
	case in := <-done:
		if in.err != nil {
			return nil, &exitError{code: exitRefused, err: fmt.Errorf("reading standard input: %w", in.err)}
		}
		if len(in.data) > maxStdin {
			return nil, usagef("standard input is larger than %s bytes; put it into a file and grant that with --read", size(maxStdin))
		}
		return in.data, nil
	}
}
