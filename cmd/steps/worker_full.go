//go:build !light

package main

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"
)

// maxRequest bounds what a light build asks: a source, in base64, and the rest.
const maxRequest = 4 * maxSource

// addWorker adds the verb that a light build calls.
func addWorker(root *cobra.Command, t *terminal) {
	root.AddCommand(&cobra.Command{
		Use: verifyWorker, Hidden: true, GroupID: "test", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fewerCollections()
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
