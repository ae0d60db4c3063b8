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
	"slices"

	"github.com/spf13/cobra"
)

// verifyBundle and verifyAPI have the full build verify, in a process of its own: the
// request goes in and the answer comes out by pipes, so both speak of the same bytes.
func verifyBundle(ctx context.Context, r verifyRequest) (*verifiedDocument, error) {
	return askFull(ctx, workerRequest{Bundle: &r})
}

func verifyAPI(ctx context.Context, r apiRequest) (*verifiedDocument, error) {
	return askFull(ctx, workerRequest{API: &r})
}

func askFull(ctx context.Context, r workerRequest) (*verifiedDocument, error) {
	full, err := beside(fullName)
	if err != nil {
		return nil, err
	}
	in, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, full, verifyWorker)
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr, cmd.Env = os.Stderr, rarelyCollecting()
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

// straight hands over, before this build sets up its verbs and flags, which takes longer
// than the hand-over, what others run file by file. It returns if there is nothing to
// hand over, or if that fails: the verb's own way says why.
func straight(args []string) {
	if len(args) > 1 && slices.Contains([]string{"validate", "sign", "verify-bundle"}, args[1]) {
		_ = handOverWith(fullName, rarelyCollecting())
	}
}

func newValidate(*terminal) *cobra.Command     { return delegated(verbValidate, fullName) }
func newSchema(*terminal) *cobra.Command       { return delegated(verbSchema, fullName) }
func newKeygen(*terminal) *cobra.Command       { return delegated(verbKeygen, fullName) }
func newSign(*terminal) *cobra.Command         { return delegated(verbSign, fullName) }
func newVerifyBundle(*terminal) *cobra.Command { return delegated(verbVerifyBundle, fullName) }
func newSignBundle(*terminal) *cobra.Command   { return delegated(verbSignBundle, fullName) }
func newTrust(*terminal) *cobra.Command        { return delegated(verbTrust, fullName) }
func newBroker(*terminal) *cobra.Command       { return delegated(verbBroker, fullName) }

// withBatch changes nothing: the full build has the flags.
func withBatch(cmd *cobra.Command, _ *terminal) *cobra.Command { return cmd }

func addWorker(*cobra.Command, *terminal) {}
