//go:build !light

package main

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"steps.example/signer"
)

func newTrust(t *terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: verbTrust.use, Short: verbTrust.short, GroupID: verbTrust.group,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no steps trust %s; steps trust --help lists what there is", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTrustInit(t), newTrustCheck(t), newTrustLog(t))
	return cmd
}

const trustInitLong = `Write your first trust policy to FILE, which must not be there yet: whose
signatures count for which packages. What it does not name is not trusted.
Each part says in its "comment" what it means; edit it from there, and look
with steps trust check what came of it.

Keep it where only those can write who may decide for this machine.

EXAMPLES
  steps trust init trust.json --registry https://registry.example \
      --package 'pkg:generic/acme/*' --key acme.pub
  steps trust init trust.json --registry https://registry.example \
      --package 'pkg:generic/acme/*' --trusted-root trusted_root.json \
      --identity https://ci.example/acme/release --issuer https://oidc.example

EXIT STATUS
  as in steps --help`

type trustInitOptions struct {
	registry, pkg            string
	keys                     []string
	identity, issuer, root   string
	witnesses                []string
	index, indexRoot, maxAge string
	homebrewKey, homebrewKID string
}

func newTrustInit(t *terminal) *cobra.Command {
	var o trustInitOptions
	cmd := &cobra.Command{
		Use: "init FILE", Short: "Write a first trust policy, with explanations", Long: trustInitLong, Args: exactArgs("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return runTrustInit(t, o, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.registry, "registry", "", "the registry that packages come from, an https `URL`")
	f.StringVar(&o.pkg, "package", "", "the packages to trust it for, a package `URL` with * at its end")
	f.StringArrayVar(&o.keys, "key", nil, "trust the public key in `FILE`; repeatable")
	f.StringVar(&o.identity, "identity", "", "trust certificates for this `NAME`")
	f.StringVar(&o.issuer, "issuer", "", "  by this issuer, a `URL`")
	f.StringVar(&o.root, "trusted-root", "", "  of the Sigstore deployment with this trusted_root.json `FILE`")
	f.StringArrayVar(&o.witnesses, "witness", nil, "  whose log is cosigned by the witness with this `KEY`; repeatable")
	f.StringVar(&o.index, "index", "", "ask the registry's signed index at this `URL`")
	f.StringVar(&o.indexRoot, "index-root", "", "  whose first root.json is this `FILE`")
	f.StringVar(&o.maxAge, "max-age", "24h", "how old the index, or a file of the Homebrew API, may be; a `TIME` like 24h or 90m")
	f.StringVar(&o.homebrewKey, "homebrew-key", "", "trust Homebrew's JSON API, whose public key is in `FILE`")
	f.StringVar(&o.homebrewKID, "homebrew-kid", "homebrew-1", "  and is called `NAME` there")
	for _, name := range []string{"registry", "package"} {
		_ = cmd.MarkFlagRequired(name)
	}
	cmd.MarkFlagsOneRequired("key", "identity")
	cmd.MarkFlagsRequiredTogether("identity", "issuer", "trusted-root")
	cmd.MarkFlagsRequiredTogether("index", "index-root")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if len(o.witnesses) > 0 && o.root == "" {
			return usagef("--witness goes with --trusted-root: witnesses cosign the log of a Sigstore deployment")
		}
		return nil
	}
	return cmd
}

func runTrustInit(t *terminal, o trustInitOptions, path string) error {
	var signers []whoText
	for _, file := range o.keys {
		key, err := readPublicKey(file)
		if err != nil {
			return err
		}
		signers = append(signers, whoText{Key: key})
	}
	if o.identity != "" {
		signers = append(signers, whoText{Keyless: firstIdentity(o.issuer, o.identity)})
	}
	p := firstPolicy(o.registry, o.pkg, signers)
	if err := o.addSources(p); err != nil {
		return err
	}
	if err := writePolicy(path, p); err != nil {
		return err
	}
	if t.json {
		return t.object("policy", map[string]any{"path": path})
	}
	t.say("trust policy in %s", path)
	t.say("look at it with steps trust check %s", path)
	return nil
}

// addSources pins the files that the policy depends on.
func (o *trustInitOptions) addSources(p *policyText) error {
	if o.root != "" {
		path, sum, err := pin(o.root)
		if err != nil {
			return err
		}
		if _, _, err := readTrustRoot(o.root); err != nil {
			return err
		}
		p.Trust = &trustText{
			Comment: "The authorities and logs of the Sigstore deployment by which identities are certified. The file must have this sha256; when the deployment sends a new one that you believe, write its sha256 here.",
			Mode:    "file", TrustedRoot: path, SHA256: sum,
		}
		if len(o.witnesses) > 0 {
			p.Trust.Witnesses = &witnessesText{Threshold: len(o.witnesses), Keys: o.witnesses}
		}
	}
	if o.index != "" {
		path, sum, err := pin(o.indexRoot)
		if err != nil {
			return err
		}
		required := true
		p.Index = &indexText{
			Comment:  "The registry's signed index says which revision is current, and whether a package has steps at all. With required, a package that is not in it is refused. Offline, what was fetched longer ago than maxAge counts only with --allow-stale.",
			Required: &required, URL: o.index, Root: path, SHA256: sum, MaxAge: o.maxAge,
		}
	}
	if o.homebrewKey != "" {
		text, err := readBounded(o.homebrewKey, maxTrustFile)
		if err != nil {
			return err
		}
		p.Homebrew = &homebrewText{
			Comment: "Who signs the files of Homebrew's JSON API, and how long ago they may have been fetched: the signature itself has no date.",
			Keys:    []apiKey{{KID: o.homebrewKID, PEM: string(text)}}, MaxAge: o.maxAge,
		}
	}
	return nil
}

// firstPolicy is a policy with one rule, explained.
func firstPolicy(registry, pkg string, signers []whoText) *policyText {
	return &policyText{
		Comment: "Whose signatures count for which packages. What no rule matches is refused. Add rules to the list; the first that matches a package decides about it. steps trust check FILE says in words what it all comes to.",
		Version: 1,
		Rules: []ruleText{{
			Comment: "match says which packages of which registry: a * is one whole part of the name, or ends the last one. One signature by one in anyOf is enough; to want several, write \"allOf\": [{\"anyOf\": [...]}, {\"anyOf\": [...]}] in its place.",
			Match:   matchText{Registry: registry, Package: pkg},
			AnyOf:   signers,
		}},
		Revoked: &revokedText{Keys: []string{}},
	}
}

func firstKey(id, public string) *keyText {
	return &keyText{
		Comment: "A key. Limit it with \"notAfter\": \"2030-01-01T00:00:00Z\", so that a lost one does not count for ever. If it is stolen, write its id into revoked.keys.",
		ID:      id, PEM: public,
	}
}

func firstIdentity(issuer, name string) *keylessText {
	one := 1
	return &keylessText{
		Comment: "Who signs, as a certificate names him: exactly this name, by exactly this issuer. tlog, timestamps and sct are how many transparency logs, authorities of time and certificate logs must testify.",
		Issuer:  issuer, SAN: name, TLog: &one, Timestamps: &one, SCT: &one,
	}
}

// readPublicKey reads the file that steps keygen calls FILE.pub. A private key never
// gets into a policy.
func readPublicKey(path string) (*keyText, error) {
	text, err := readBounded(path, maxTrustFile)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PUBLIC KEY" {
		return nil, &trustError{Kind: string(signer.KindMalformed), Msg: path + ": is not a public key; give the .pub file that steps keygen wrote"}
	}
	if _, err := x509.ParsePKIXPublicKey(block.Bytes); err != nil {
		return nil, &trustError{Kind: string(signer.KindMalformed), Msg: fmt.Sprintf("%s: %s", path, err)}
	}
	sum := sha256.Sum256(block.Bytes)
	return firstKey(base64.StdEncoding.EncodeToString(sum[:]), string(pem.EncodeToMemory(block))), nil
}

// pin names a file and what is in it.
func pin(file string) (path, sum string, err error) {
	if path, err = filepath.Abs(file); err != nil {
		return "", "", err
	}
	data, err := readBounded(path, maxTrustFile)
	if err != nil {
		return "", "", err
	}
	digest := sha256.Sum256(data)
	return path, hex.EncodeToString(digest[:]), nil
}
