//go:build light

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// fullName is the build of this command that has everything in it. This one
// leaves out signatures and CUE, whose start-up every verb would pay for.
const fullName = "steps-full"

func fullPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", err
	}
	full := filepath.Join(filepath.Dir(self), fullName)
	if _, err := os.Stat(full); err != nil {
		return "", fmt.Errorf("%s does signatures and schemas, and must be installed beside %s (make build does it): %w", fullName, self, err)
	}
	return full, nil
}

// verifyBundle and verifyAPI have the full build verify, in a process of its own: the
// request goes in and the answer comes out by pipes, so both speak of the same bytes.
func verifyBundle(ctx context.Context, r verifyRequest) (*verifiedDocument, error) {
	return askFull(ctx, workerRequest{Bundle: &r})
}

func verifyAPI(ctx context.Context, r apiRequest) (*verifiedDocument, error) {
	return askFull(ctx, workerRequest{API: &r})
}

func askFull(ctx context.Context, r workerRequest) (*verifiedDocument, error) {
	full, err := fullPath()
	if err != nil {
		return nil, err
	}
	in, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, full, verifyWorker)
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", full, err)
	}
	var answer workerAnswer
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", full, err)
	}
	switch {
	case answer.Error != nil:
		return nil, answer.Error
	case answer.Verified == nil:
		return nil, errors.New(full + ": gave no answer")
	}
	return answer.Verified, nil
}

// delegated is a verb that the full build has: it takes over this process.
func delegated(verb verb) *cobra.Command {
	return &cobra.Command{
		Use: verb.use, Short: verb.short, GroupID: verb.group, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			full, err := fullPath()
			if err != nil {
				return err
			}
			return syscall.Exec(full, append([]string{os.Args[0]}, os.Args[1:]...), os.Environ())
		},
	}
}

func newValidate(*terminal) *cobra.Command     { return delegated(verbValidate) }
func newSchema(*terminal) *cobra.Command       { return delegated(verbSchema) }
func newKeygen(*terminal) *cobra.Command       { return delegated(verbKeygen) }
func newSign(*terminal) *cobra.Command         { return delegated(verbSign) }
func newVerifyBundle(*terminal) *cobra.Command { return delegated(verbVerifyBundle) }
func newSignBundle(*terminal) *cobra.Command   { return delegated(verbSignBundle) }
func newTrust(*terminal) *cobra.Command        { return delegated(verbTrust) }

func addWorker(*cobra.Command, *terminal) {}
