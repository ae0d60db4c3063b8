//go:build !light

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"steps.example/signer"
	"steps.example/signer/online"
)

// tokenVariable is where other Sigstore clients look for an identity token, too.
const tokenVariable = "SIGSTORE_ID_TOKEN"

const maxToken = 64 << 10

// signingFlags say who signs, and who testifies to it.
type signingFlags struct {
	key, kms, config, root  string
	token, identity, issuer string
	certificateLogs         int
}

func (f *signingFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.key, "key", "", "private key `FILE`, from steps keygen")
	flags.StringVar(&f.kms, "kms", "", "key of a key service, a `URI` like awskms://alias/steps")
	flags.StringVar(&f.config, "signing-config", "", "the services of a Sigstore deployment, its signing_config.v0.2.json `FILE`")
	flags.StringVar(&f.root, "trusted-root", "", "with --signing-config: the deployment's trusted_root.json `FILE`")
	flags.StringVar(&f.token, "identity-token", "", "identity token in a `FILE`, - for standard input; without it, the one in $"+tokenVariable)
	flags.StringVar(&f.identity, "identity", "", "the `NAME` that the certificate must have")
	flags.StringVar(&f.issuer, "issuer", "", "the `URL` of who must have issued the token")
	flags.IntVar(&f.certificateLogs, "sct", 1, "`NUMBER` of certificate logs that must have the certificate")
}

// open makes the signer and names it for people.
func (f *signingFlags) open(ctx context.Context, t *terminal) (*signer.Signer, string, error) {
	if err := f.check(); err != nil {
		return nil, "", err
	}
	var services *online.Services
	var root *signer.TrustRoot
	var evidence signer.Evidence
	if f.config != "" {
		var err error
		if services, root, err = openServices(f.config, f.root); err != nil {
			return nil, "", err
		}
		evidence = services.Evidence(root)
	}
	if f.keyless() {
		token, err := f.tokens(t)
		if err != nil {
			return nil, "", err
		}
		s, err := services.IdentitySigner(online.Identity{
			Token: token, Name: f.identity, Issuer: f.issuer, CertificateLogs: f.certificateLogs,
		}, root)
		return s, f.identity + " of " + f.issuer, trustErrorOf("", err)
	}
	key, err := f.openKey(ctx)
	if err != nil {
		return nil, "", err
	}
	s, err := signer.NewSigner(key, evidence)
	return s, "key " + key.ID(), trustErrorOf("", err)
}

func (f *signingFlags) keyless() bool { return f.key == "" && f.kms == "" }

func (f *signingFlags) check() error {
	named := f.token != "" || f.identity != "" || f.issuer != ""
	switch {
	case f.key != "" && f.kms != "":
		return usagef("--key and --kms: one key signs")
	case f.keyless() && f.config == "":
		return usagef("say who signs: --key FILE, --kms URI, or --signing-config FILE for an identity")
	case !f.keyless() && named:
		return usagef("--identity-token, --identity and --issuer are for signing without a key")
	case f.config != "" && f.root == "":
		return usagef("--signing-config: say whom to believe of its services with --trusted-root FILE")
	case f.config == "" && f.root != "":
		return usagef("--trusted-root goes with --signing-config")
	case f.keyless() && (f.identity == "" || f.issuer == ""):
		return usagef("say who the certificate must be for with --identity NAME and --issuer URL")
	}
	return nil
}

func (f *signingFlags) openKey(ctx context.Context) (*signer.Key, error) {
	if f.kms != "" {
		key, err := online.OpenKMS(ctx, f.kms)
		return key, trustErrorOf("", err)
	}
	text, err := os.ReadFile(f.key)
	if err != nil {
		return nil, err
	}
	key, err := signer.ParsePrivateKey(text)
	return key, trustErrorOf(f.key+": ", err)
}

// tokens gives identity tokens. One in a file is read anew each time it is needed:
// whoever issues it may replace it.
func (f *signingFlags) tokens(t *terminal) (func(context.Context) (string, error), error) {
	first, err := f.readToken(t)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (string, error) {
		if f.token == "" || f.token == "-" {
			return first, nil
		}
		return f.readToken(t)
	}, nil
}

func (f *signingFlags) readToken(t *terminal) (string, error) {
	var text []byte
	var err error
	switch f.token {
	case "":
		text = []byte(os.Getenv(tokenVariable))
	case "-":
		text, err = io.ReadAll(io.LimitReader(t.in, maxToken))
	default:
		text, err = readBounded(f.token, maxToken)
	}
	if text = bytes.TrimSpace(text); err == nil && len(text) == 0 {
		err = usagef("there is no identity token; give it with --identity-token FILE or in $%s", tokenVariable)
	}
	return string(text), err
}

// openServices reads a deployment's services and trust root.
func openServices(configPath, rootPath string) (*online.Services, *signer.TrustRoot, error) {
	config, err := readBounded(configPath, maxTrustFile)
	if err != nil {
		return nil, nil, err
	}
	services, err := online.ParseServices(config, online.Options{})
	if err != nil {
		return nil, nil, trustErrorOf(configPath+": ", err)
	}
	root, _, err := readTrustRoot(rootPath)
	return services, root, err
}

func readTrustRoot(path string) (*signer.TrustRoot, []byte, error) {
	data, err := readBounded(path, maxTrustFile)
	if err != nil {
		return nil, nil, fmt.Errorf("trust root: %w", err)
	}
	root, err := signer.ParseTrustRoot(data)
	return root, data, trustErrorOf(path+": ", err)
}
