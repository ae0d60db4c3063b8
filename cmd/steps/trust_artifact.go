//go:build !light

package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"steps.example/signer"
)

// trustRootVariable names the trust root of the public Sigstore deployment on this
// machine. steps fetches none.
const trustRootVariable = "STEPS_SIGSTORE_TRUSTED_ROOT"

// artifactFlags are the protocol of Sigstore's conformance suite.
type artifactFlags struct {
	bundle, identity, issuer, key, root string
	staging                             bool
}

var artifactFlagNames = []string{"bundle", "certificate-identity", "certificate-oidc-issuer", "key", "trusted-root", "staging"}

func (*artifactFlags) has(name string) bool { return slices.Contains(artifactFlagNames, name) }

func (f *artifactFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.bundle, "bundle", "", "any Sigstore bundle, in `FILE`; then with:")
	flags.StringVar(&f.identity, "certificate-identity", "", "the `NAME` that signed, or")
	flags.StringVar(&f.issuer, "certificate-oidc-issuer", "", "  and the `URL` of its issuer")
	flags.StringVar(&f.key, "key", "", "the public key `FILE` that signed")
	flags.StringVar(&f.root, "trusted-root", "", "the deployment's trusted_root.json `FILE`; without it, the one in $"+trustRootVariable)
	flags.BoolVar(&f.staging, "staging", false, "signed with Sigstore's staging deployment, whose --trusted-root must be given")
}

func runVerifyFile(t *terminal, f artifactFlags, name string) error {
	fewerCollections()
	a := signer.Artifact{Identity: f.identity, Issuer: f.issuer}
	who := f.identity + " of " + f.issuer
	switch {
	case f.key != "" && (f.identity != "" || f.issuer != ""):
		return usagef("say who signed either with --key or with --certificate-identity and --certificate-oidc-issuer")
	case f.key == "" && (f.identity == "" || f.issuer == ""):
		return usagef("say who signed with --certificate-identity NAME and --certificate-oidc-issuer URL, or with --key FILE")
	case f.key != "":
		text, err := readBounded(f.key, maxTrustFile)
		if err != nil {
			return err
		}
		a.PublicKey, who = text, "the key in "+f.key
	}
	rootPath, err := publicRoot(f.root, f.staging)
	if err != nil {
		return err
	}
	root, _, err := readTrustRoot(rootPath)
	if err != nil {
		return err
	}
	bundle, err := readInput(t, f.bundle)
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, "sha256:") {
		a.Digest = name
	} else if a.Bytes, err = readInput(t, name); err != nil {
		return err
	}
	if err := signer.VerifyArtifact(bundle, root, a); err != nil {
		return inFile(f.bundle, trustErrorOf("", err))
	}
	if t.json {
		return t.object("artifact", map[string]any{"artifact": name, "signed_by": who})
	}
	t.say("good: %s, signed by %s", name, who)
	return nil
}

// publicRoot is the trust root given, or the public deployment's on this machine.
func publicRoot(given string, staging bool) (string, error) {
	if given != "" {
		return given, nil
	}
	if staging {
		return "", usagef("--staging: give the staging deployment's trust root with --trusted-root FILE: steps fetches none")
	}
	if path := os.Getenv(trustRootVariable); path != "" {
		return path, nil
	}
	return "", usagef("no trust root: steps fetches none; get the deployment's trusted_root.json and give it with --trusted-root FILE or in $%s", trustRootVariable)
}
