//go:build !light

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"steps.example/schema"
)

const validateLong = `Check documents against the schema, and that the schema and the checks that
apply uses agree. A file is one document, or with the ending .jsonl one a
line. A trust policy is checked with --trust.

EXAMPLES
  steps validate demo.json
  steps validate registry.jsonl
  steps validate --trust trust.json

EXIT STATUS
  0 if all are valid, 3 if one is not; the others as in steps --help`

// maxShown is how many invalid documents are shown in full.
const maxShown = 20

func newValidate(t *terminal) *cobra.Command {
	var trust bool
	cmd := &cobra.Command{
		Use: verbValidate.use, Short: verbValidate.short, Long: validateLong,
		GroupID: verbValidate.group, Args: atLeastOne("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			v := validation{t: t, check: schema.CrossCheck}
			if trust {
				v.check = schema.ValidateTrust
			}
			for _, path := range args {
				if err := v.file(path); err != nil {
					return err
				}
			}
			return v.end()
		},
	}
	cmd.Flags().BoolVar(&trust, "trust", false, "the files are trust policies")
	return cmd
}

type validation struct {
	t         *terminal
	check     func([]byte) error
	good, bad int
	bug       error
}

func (v *validation) file(path string) error {
	data, err := readInput(v.t, path)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(path, ".jsonl") {
		return v.document(path, data)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxSource)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := v.document(fmt.Sprintf("%s:%d", path, n), lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (v *validation) document(where string, data []byte) error {
	err := v.check(data)
	if err == nil {
		v.good++
		if v.t.json {
			return v.t.object("document", map[string]any{"where": where, "valid": true})
		}
		return nil
	}
	v.bad++
	if strings.HasPrefix(err.Error(), "BUG(steps)") {
		v.bug = errors.Join(v.bug, err)
	}
	err = inFile(where, err)
	if v.t.json {
		return v.t.object("document", map[string]any{"where": where, "valid": false, "message": err.Error()})
	}
	if v.bad <= maxShown {
		v.t.say("%s", err)
	}
	return nil
}

func (v *validation) end() error {
	if v.bug != nil {
		return &exitError{code: exitBug, err: v.bug}
	}
	if v.bad > 0 {
		return &exitError{code: exitInvalid, err: fmt.Errorf("%d of %d document(s) are not valid", v.bad, v.good+v.bad)}
	}
	v.t.say("%d document(s) valid", v.good)
	return nil
}
