package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
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
	packageID   string
	with        []string
	offline     bool
	allowStale  bool
	homebrew    homebrewFlags

	// trustDir remembers what was accepted; "" for nowhere.
	trustDir string
	// cosigned are the bundles of with.
	cosigned [][]byte
}

// add adds the flags about signed documents.
func (f *sourceFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.policy, "policy", "", "trust policy `FILE`: who may sign for what")
	flags.StringVar(&f.artifact, "artifact", "", "the package `FILE` that the steps were signed for")
	flags.StringVar(&f.artifactSum, "artifact-sha256", "", "its SHA-256 in `HEX`, in the place of the file")
	flags.StringVar(&f.purl, "purl", "", "the package `URL` that is being installed, such as pkg:generic/acme/demo@1.0")
	flags.StringVar(&f.registry, "registry", "", "the registry's `URL`, where the policy has rules for several")
	flags.StringVar(&f.packageID, "package-id", "", "the registry's own `NAME` for the package, if it must be that")
	flags.StringArrayVar(&f.with, "with", nil, "another signer's bundle `FILE`, where the policy wants several; repeatable")
	flags.BoolVar(&f.offline, "offline", false, "do not fetch the index; use what was fetched before")
	flags.BoolVar(&f.allowStale, "allow-stale", false, "accept an index that is too old; the receipt says so")
}

// addOthers adds the flags about documents that are not signed as bundles.
func (f *sourceFlags) addOthers(flags *pflag.FlagSet) {
	f.homebrew.add(flags)
	flags.BoolVar(&f.unsigned, "unsigned", false, "take a bare document that nobody vouches for (for authors)")
}

// remember says whose state is asked for what was accepted before.
func (f *sourceFlags) remember(where storeFlags) error {
	state, err := where.path()
	if err != nil {
		return err
	}
	f.trustDir = trustDirOf(state)
	return nil
}

func trustDirOf(state string) string { return filepath.Join(state, "trust") }

// path is where the document is: the argument, or the file of the Homebrew API.
func (f *sourceFlags) path(args []string) (string, bool) {
	switch {
	case f.homebrew.file == "" && len(args) == 1:
		return args[0], true
	case f.homebrew.file != "" && len(args) == 0:
		return f.homebrew.file, true
	}
	return "", false
}

// args insists on one document, as argument or by --homebrew-api.
func (f *sourceFlags) args(cmd *cobra.Command, args []string) error {
	if _, found := f.path(args); !found && f.homebrew.file == "" {
		return exactArgs("FILE")(cmd, args)
	} else if !found {
		return usagef("steps %s takes either FILE or --homebrew-api FILE", verbOf(cmd))
	}
	return f.homebrew.check(f)
}

// prepare loads the document that is meant, and says what to do with it where.
func prepare(ctx context.Context, t *terminal, src *sourceFlags, target *targetFlags, args []string) (*subject, interp.Job, error) {
	if err := src.remember(target.storeFlags); err != nil {
		return nil, interp.Job{}, err
	}
	path, _ := src.path(args)
	s, err := src.load(ctx, t, path)
	if err != nil {
		return nil, interp.Job{}, err
	}
	job, err := target.job(s.document)
	return s, job, err
}

// subject is a document that may be interpreted: the bytes that were verified,
// decoded.
type subject struct {
	document   *steps.Document
	provenance interp.Provenance
	// verified is nil where nobody vouches for the document.
	verified *verifiedDocument
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
	for _, name := range f.with {
		bundle, err := readInput(t, name)
		if err != nil {
			return nil, err
		}
		f.cosigned = append(f.cosigned, bundle)
	}
	return f.check(ctx, t, path, data)
}

func (f sourceFlags) check(ctx context.Context, t *terminal, path string, data []byte) (*subject, error) {
	s := &subject{source: data, flags: f}
	switch {
	case f.unsigned && (f.policy != "" || f.homebrew.file != ""):
		return nil, usagef("--unsigned does not go with --policy or --homebrew-api, by which somebody vouches for the document")
	case f.unsigned:
		t.talk("WARNING: %s is NOT VERIFIED; nobody vouches for what it does (--unsigned)", path)
	default:
		verify := f.verify
		if f.homebrew.file != "" {
			verify = f.verifyAPI
		}
		if err := verify(ctx, t, s, path, data); err != nil {
			return nil, err
		}
		data = s.verified.Document
	}
	doc, err := steps.Decode(data, steps.DefaultLimits)
	if err != nil {
		return nil, inFile(path, err)
	}
	s.document = doc
	sum := sha256.Sum256(data)
	s.provenance.DocumentSHA256 = hex.EncodeToString(sum[:])
	if s.verified != nil && s.verified.PURL != "" {
		if err := agrees(s.verified.PURL, doc); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// verify makes s of a bundle, or of several that are all wanted.
func (f *sourceFlags) verify(ctx context.Context, t *terminal, s *subject, path string, data []byte) error {
	switch {
	case f.policy == "":
		return usagef("%s: say who is trusted with --policy FILE, or use --unsigned for a document of your own", path)
	case f.purl == "":
		return usagef("%s: say which package is being installed with --purl URL", path)
	case f.artifact == "" && f.artifactSum == "":
		return usagef("%s: say for which package file with --artifact FILE", path)
	}
	policy, err := readPolicy(t, f.policy)
	if err != nil {
		return err
	}
	if f.artifact != "" {
		sum, err := hashFile(f.artifact)
		if err != nil {
			return err
		}
		if f.artifactSum != "" && f.artifactSum != sum {
			return &exitError{code: exitTrust, err: fmt.Errorf("%s has the SHA-256 %s, not the %s given", f.artifact, sum, f.artifactSum)}
		}
		f.artifactSum = sum
	}
	if sum, err := hex.DecodeString(f.artifactSum); err != nil || len(sum) != sha256.Size {
		return usagef("%q is no SHA-256 in hex", f.artifactSum)
	}
	s.flags = *f
	r := verifyRequest{
		Bundles: append([][]byte{data}, f.cosigned...), Policy: policy,
		PURL: f.purl, Registry: f.registry, PackageID: f.packageID, ArtifactSHA256: f.artifactSum,
		Index: indexRequest{Offline: f.offline, AllowStale: f.allowStale},
	}
	if f.trustDir != "" {
		r.Index.Dir = filepath.Join(f.trustDir, "index")
		if r.Seen, err = (trustState{f.trustDir}).seen(f.purl); err != nil {
			return err
		}
	}
	v, err := verifyBundle(ctx, r)
	if err != nil {
		return inFile(path, err)
	}
	if v.Stale != "" {
		t.talk("WARNING: accepted all the same (--allow-stale): %s", v.Stale)
	}
	s.accept(v)
	s.provenance.PURL, s.provenance.Revision = v.PURL, v.Revision
	s.note("registry", v.Registry)
	s.note("payload_sha256", v.PayloadSHA256)
	s.note("stale_index", v.Stale)
	return nil
}

// accept takes over what was verified.
func (s *subject) accept(v *verifiedDocument) {
	s.verified = v
	s.provenance = interp.Provenance{BundleSHA256: v.BundleSHA256, KeyID: v.Signers[0].KeyID, Notes: map[string]string{}}
	s.note("signed_by", signedBy(v.Signers))
	s.note("policy_sha256", v.PolicySHA256)
}

// signers are who vouches for the document, for programs.
func (s *subject) signers() []signatory {
	if s.verified == nil {
		return []signatory{}
	}
	return s.verified.Signers
}

// note adds what the receipt is to say beside the rest.
func (s *subject) note(name, value string) {
	if value != "" {
		s.provenance.Notes[name] = value
	}
}

// mark is what the state is to remember of a subject that was accepted; ok is false
// where there is nothing.
func (s *subject) mark() (m seenMark, ok bool) {
	if s.verified == nil || s.verified.PURL == "" || s.flags.trustDir == "" {
		return m, false
	}
	return seenMark{s.verified.Registry, s.verified.Revision, s.verified.PayloadSHA256}, true
}

// accepting runs do, by which s is accepted, and remembers s for good once that is
// done. What it needs for that is seen to first, so that do is not done in vain.
func (s *subject) accepting(do func() error) error {
	m, ok := s.mark()
	if !ok {
		return do()
	}
	state, err := trustState{s.flags.trustDir}.keep()
	if err != nil {
		return err
	}
	defer state.close()
	if err := state.unchanged(s.verified.PURL, m); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	if err := state.record(s.verified.PURL, m); err != nil {
		return &exitError{code: exitFailed, err: fmt.Errorf("it is done, but not remembered: %w", err)}
	}
	return nil
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
