//go:build !light

package main

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"
)

// addWorker adds the verb that a light build calls.
func addWorker(root *cobra.Command, t *terminal) {
	root.AddCommand(&cobra.Command{
		Use: verifyWorker, Hidden: true, GroupID: "test", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, err := io.ReadAll(io.LimitReader(t.in, 4*maxSource))
			if err != nil {
				return err
			}
			var r verifyRequest
			if err := json.Unmarshal(in, &r); err != nil {
				return err
			}
			var answer verifyAnswer
			answer.Verified, err = verifyBundle(cmd.Context(), r)
			if err != nil && !errors.As(err, &answer.Error) {
				answer.Error = &trustError{Kind: "failed", Msg: err.Error()}
			}
			return json.NewEncoder(t.out).Encode(answer)
		},
	})
}
