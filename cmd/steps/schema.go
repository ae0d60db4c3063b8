//go:build !light

package main

import (
	"github.com/spf13/cobra"

	"steps.example/schema"
)

const schemaLong = `Print the JSON Schema of documents, exported from the CUE that defines them.
Point your editor at it.

EXAMPLES
  steps schema > steps.schema.json

EXIT STATUS
  as in steps --help`

func newSchema(t *terminal) *cobra.Command {
	return &cobra.Command{
		Use: verbSchema.use, Short: verbSchema.short, Long: schemaLong, GroupID: verbSchema.group, Args: exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			text, err := schema.JSONSchema()
			if err != nil {
				return err
			}
			_, err = t.out.Write(append(text, '\n'))
			return err
		},
	}
}
