//go:build !light

package main

import "github.com/spf13/cobra"

const signBatchLong = `

With --batch, FILE is a list of submissions, one JSON object a line, or a
directory of .json files with one each:

  {"purl": …, "artifact_sha256": …, "document": {…}}

and the bundles go to a store, with a revision each that is kept for good. It
can be killed and run again: what is signed stays as it is. What is not valid
goes to the rejects with its line; the others are signed.

  steps sign --batch submissions.jsonl --key steps.key --store signed \
      --registry https://registry.example --rejects rejects.jsonl

With -o in the place of --store, they go to one file, a line with purl,
revision and bundle each, several times as fast. The submissions must be in the
order of their package URLs, and the same when it is run again. A registry that
has other revisions of these package versions needs them said ("revision").

  LC_ALL=C sort submissions.jsonl | steps sign --batch - --fast \
      --key steps.key --registry https://registry.example -o bundles.jsonl`

type batchFlags struct {
	batch, fast             bool
	store, rejects, results string
	out                     string // one file in the place of a store
	jobs                    int
}

// withBatch adds batch signing to the verb that signs one document.
func withBatch(cmd *cobra.Command, t *terminal) *cobra.Command {
	var f batchFlags
	one := cmd.RunE
	cmd.Long += signBatchLong
	flags := cmd.Flags()
	flags.BoolVar(&f.batch, "batch", false, "sign a list or directory of submissions")
	flags.StringVar(&f.store, "store", "", "with --batch: a `DIRECTORY` or bucket's URL for records and bundles")
	flags.StringVar(&f.rejects, "rejects", "", "with --batch: `FILE` for what was not signed, and why")
	flags.StringVar(&f.results, "results", "", "with --batch: `FILE` for what was signed, and where its bundle is")
	flags.IntVar(&f.jobs, "jobs", 0, "with --batch: `NUMBER` of signatures at the same time; 0 is one a processor")
	flags.BoolVar(&f.fast, "fast", false, "with --batch: check documents as clients do, without the CUE schema")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range []string{"store", "rejects", "results", "jobs", "fast"} {
			if !f.batch && flags.Changed(name) {
				return usagef("--%s goes with --batch", name)
			}
		}
		if !f.batch {
			return nil
		}
		for _, name := range []string{
			"purl", "artifact", "artifact-sha256", "revision", "previous", "package-id", "min-interpreter", "no-steps", "layout",
		} {
			if flags.Changed(name) {
				return usagef("--%s is for one document; with --batch, each submission says its own", name)
			}
			// What one document needs, a batch does not.
			flags.Lookup(name).Annotations = nil
		}
		f.out = flags.Lookup("output").Value.String()
		switch {
		case (f.store == "") == (f.out == ""):
			return usagef("--batch: say where the bundles go, either by --store DIRECTORY or by --output FILE")
		case f.out != "" && f.results != "":
			return usagef("--results goes with --store; the output says itself what was signed")
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !f.batch {
			return one(cmd, args)
		}
		return runSignBatch(cmd.Context(), t, f, flags, args[0])
	}
	return cmd
}
