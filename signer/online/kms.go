package online

import (
	"bytes"
	"context"
	"crypto"
	"fmt"
	"strings"

	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin"
	"github.com/sigstore/sigstore/pkg/signature/options"

	"steps.example/signer"
)

// OpenKMS returns the P-256 key that a key service has under a reference like
// NAME://KEY. The service is asked through a program sigstore-kms-NAME on the PATH, by
// Sigstore's plugin protocol; it is started anew for each signature.
func OpenKMS(ctx context.Context, reference string) (*signer.Key, error) {
	name, key, ok := strings.Cut(reference, "://")
	if !ok || key == "" || !isPluginName(name) {
		return nil, &signer.Error{Kind: signer.KindMalformed, Hint: "write it like awskms://KEY, with the program sigstore-kms-awskms on the PATH",
			Msg: fmt.Sprintf("key %q is not a reference to a key service", reference)}
	}
	plugin, err := cliplugin.LoadSignerVerifier(ctx, reference, crypto.SHA256)
	if err != nil {
		return nil, pluginFault(name, err)
	}
	public, err := guarded(func() (crypto.PublicKey, error) { return plugin.PublicKey(options.WithContext(ctx)) })
	if err != nil {
		return nil, pluginFault(name, err)
	}
	return signer.RemoteKey(public, func(ctx context.Context, message []byte) ([]byte, error) {
		return guarded(func() ([]byte, error) {
			return plugin.SignMessage(bytes.NewReader(message), options.WithContext(ctx))
		})
	})
}

// isPluginName keeps a name from leading to a program elsewhere.
func isPluginName(s string) bool {
	for i, c := range []byte(s) {
		if letter := 'a' <= c && c <= 'z'; !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// guarded turns a panic into an error: the plugin client takes for granted that the
// program answers what it was asked.
func guarded[T any](call func() (T, error)) (value T, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the program's answer is not one to what it was asked: %v", fault)
		}
	}()
	return call()
}

func pluginFault(name string, err error) error {
	return &signer.Error{Kind: signer.KindService, Hint: "install the program on the PATH, and see what it printed",
		Msg: fmt.Sprintf("key service sigstore-kms-%s: %q", name, err.Error())}
}
