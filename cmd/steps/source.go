package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"steps.example/interp"
	"steps.example/steps"
)

// sourceFlags say where a document comes from and what vouches for it.
type sourceFlags struct {
	unsigned    bool
	policy      string
	artifact    string
	artifactSum string
	purl        string
	registry    string
}

func (f *sourceFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.policy, "policy", "", "trust policy `FILE`: who may sign for what")
	flags.StringVar(&f.artifact, "artifact", "", "the package `FILE` that the steps were signed for")
	flags.StringVar(&f.artifactSum, "artifact-sha256", "", "its SHA-256 in `HEX`, in the place of the file")
	flags.StringVar(&f.purl, "purl", "", "the package `URL` that is being installed, such as pkg:generic/acme/demo@1.0")
	flags.StringVar(&f.registry, "registry", "", "the registry's `URL`, where the policy has rules for several")
	flags.BoolVar(&f.unsigned, "unsigned", false, "take a bare document that nobody vouches for (for authors)")
}

// subject is a document that may be interpreted: the bytes that were verified,
// decoded.
type subject struct {
	document   *steps.Document
	provenance interp.Provenance
	// source and the flags that vouch for it go into a plan file.
	source []byte
	flags  sourceFlags
}

// maxSource bounds, in bytes, a bundle or document that is read.
const maxSource = 64 << 20

// load reads path, "-" for standard input, and verifies it unless told not to.
func (f sourceFlags) load(ctx context.Context, t *terminal, path string) (*subject, error) {
	data, err := readInput(t, path)
	if err != nil {
		return nil, err
	}
	return f.check(ctx, t, path, data)
}

func (f sourceFlags) check(ctx context.Context, t *terminal, path string, data []byte) (*subject, error) {
	s := &subject{source: data, flags: f}
	if f.unsigned {
		t.talk("WARNING: %s is NOT VERIFIED; nobody vouches for what it does (--unsigned)", path)
	} else {
		var err error
		if data, err = f.verify(ctx, s, path, data); err != nil {
			return nil, err
		}
	}
	doc, err := steps.Decode(data, steps.DefaultLimits)
	if err != nil {
		return nil, inFile(path, err)
	}
	s.document = doc
	sum := sha256.Sum256(data)
	s.provenance.DocumentSHA256 = hex.EncodeToString(sum[:])
	if !f.unsigned {
		if err := agrees(s.provenance.PURL, doc); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (f *sourceFlags) verify(ctx context.Context, s *subject, path string, data []byte) ([]byte, error) {
	switch {
	case f.policy == "":
		return nil, usagef("%s: say who is trusted with --policy FILE, or use --unsigned for a document of your own", path)
	case f.purl == "":
		return nil, usagef("%s: say which package is being installed with --purl URL", path)
	case f.artifact == "" && f.artifactSum == "":
		return nil, usagef("%s: say for which package file with --artifact FILE", path)
	}
	policy, err := os.ReadFile(f.policy)
	if err != nil {
		return nil, &exitError{code: exitTrust, err: err}
	}
	if f.artifact != "" {
		sum, err := hashFile(f.artifact)
		if err != nil {
			return nil, err
		}
		if f.artifactSum != "" && f.artifactSum != sum {
			return nil, &exitError{code: exitTrust, err: fmt.Errorf("%s has the SHA-256 %s, not the %s given", f.artifact, sum, f.artifactSum)}
		}
		f.artifactSum = sum
	}
	if sum, err := hex.DecodeString(f.artifactSum); err != nil || len(sum) != sha256.Size {
		return nil, usagef("%q is no SHA-256 in hex", f.artifactSum)
	}
	s.flags = *f
	v, err := verifyBundle(ctx, verifyRequest{
		Bundle: data, Policy: policy, PURL: f.purl, Registry: f.registry, ArtifactSHA256: f.artifactSum,
	})
	if err != nil {
		return nil, inFile(path, err)
	}
	s.provenance = interp.Provenance{BundleSHA256: v.BundleSHA256, KeyID: v.KeyID, PURL: v.PURL, Revision: v.Revision}
	return v.Document, nil
}

// inFile says in which file an error is, keeping what kind of error it is.
func inFile(path string, err error) error {
	var list steps.Errors
	if errors.As(err, &list) {
		joined := make([]error, 0, len(list))
		for _, e := range list {
			joined = append(joined, fmt.Errorf("%s:%w", path, e))
		}
		return errors.Join(joined...)
	}
	if is[*steps.Error](err) {
		return fmt.Errorf("%s:%w", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

func readInput(t *terminal, path string) ([]byte, error) {
	in := t.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSource+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if len(data) > maxSource {
		return nil, &exitError{code: exitInvalid, err: fmt.Errorf("%s: is larger than %d MiB", path, maxSource>>20)}
	}
	return data, nil
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
