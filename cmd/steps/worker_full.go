//go:build !light

package main

import (
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// maxRequest bounds what a light build asks: a source, in base64, and the rest.
const maxRequest = 4 * maxSource

// atOnce is for a verb that ends right after one verification: collecting what the start
// of the process and that verification leave would take a tenth of its time. Sizes are
// bounded, so the heap is, to five times of what is alive.
func atOnce() { debug.SetGCPercent(400) }

// addWorker adds the verb that a light build calls.
func addWorker(root *cobra.Command, t *terminal) {
	root.AddCommand(&cobra.Command{
		Use: verifyWorker, Hidden: true, GroupID: "test", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			atOnce()
			in, err := io.ReadAll(io.LimitReader(t.in, maxRequest))
			if err != nil {
				return err
			}
			var r workerRequest
			if err := json.Unmarshal(in, &r); err != nil {
				return err
			}
			var answer workerAnswer
			switch {
			case r.Bundle != nil:
				answer.Verified, err = verifyBundle(cmd.Context(), *r.Bundle)
			case r.API != nil:
				answer.Verified, err = verifyAPI(cmd.Context(), *r.API)
			default:
				err = errors.New("the request is for nothing")
			}
			if err != nil && !errors.As(err, &answer.Error) {
				answer.Error = &trustError{Kind: "failed", Msg: err.Error()}
			}
			return json.NewEncoder(t.out).Encode(answer)
		},
	})
}
