package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// homebrewFlags say which document of Homebrew's JSON API is meant.
type homebrewFlags struct {
	file, formula, cask, obtained string
}

func (f *homebrewFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "homebrew-api", "", "a signed `FILE` of Homebrew's JSON API, formula.jws.json or cask.jws.json, in the place of a bundle; --policy says whose keys")
	flags.StringVar(&f.formula, "formula", "", "the `NAME` of the formula in it")
	flags.StringVar(&f.cask, "cask", "", "the `TOKEN` of the cask in it")
	flags.StringVar(&f.obtained, "obtained", "", "the `TIME` when it was fetched, like 2026-01-31T12:00:00Z; without it, when the file was last written")
}

// check refuses flags that do not go together.
func (f *homebrewFlags) check(source *sourceFlags) error {
	switch {
	case f.file == "" && (f.formula != "" || f.cask != "" || f.obtained != ""):
		return usagef("--formula, --cask and --obtained go with --homebrew-api FILE")
	case f.file == "":
		return nil
	case (f.formula == "") == (f.cask == ""):
		return usagef("--homebrew-api: say which document with either --formula NAME or --cask TOKEN")
	case source.artifact+source.artifactSum+source.purl+source.registry+source.packageID != "" || len(source.with) > 0:
		return usagef("--homebrew-api: a file of the API is signed as a whole, for no package URL, package file or registry")
	case source.policy == "" && !source.unsigned:
		return usagef("--homebrew-api: say whose keys are trusted with --policy FILE, in its homebrewAPI")
	}
	return nil
}

// verifyAPI makes s of an element of a file of the API.
func (f *sourceFlags) verifyAPI(ctx context.Context, t *terminal, s *subject, path string, data []byte) error {
	policy, err := readPolicy(t, f.policy)
	if err != nil {
		return err
	}
	at, err := fetchedAt(t, path, f.homebrew.obtained)
	if err != nil {
		return err
	}
	v, err := verifyAPI(ctx, apiRequest{File: data, Policy: policy, Formula: f.homebrew.formula, Cask: f.homebrew.cask, Obtained: at})
	if err != nil {
		return inFile(path, err)
	}
	s.accept(v)
	s.note("source", "homebrew-api")
	s.note("obtained", at.UTC().Format(time.RFC3339))
	return nil
}

// fetchedAt is when a file was fetched: what the flag says, or else when the file was
// last written.
func fetchedAt(t *terminal, path, given string) (time.Time, error) {
	if given != "" {
		at, err := time.Parse(time.RFC3339, given)
		if err != nil {
			return at, usagef("--obtained %q: write it like 2026-01-31T12:00:00Z", given)
		}
		return at, nil
	}
	if path == "-" {
		return time.Time{}, usagef("say when standard input was fetched with --obtained TIME")
	}
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	at := info.ModTime()
	t.talk("%s: taken as fetched when it was last written, %s; --obtained says otherwise", path, at.UTC().Format(time.RFC3339))
	return at, nil
}
