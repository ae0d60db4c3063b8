package online

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin/common"
	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin/handler"
)

const pluginName = "sigstore-kms-steptest"

// TestMain makes this program a plugin as well, under the plugin's name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == pluginName {
		plugin()
		return
	}
	os.Exit(withPlugin(m))
}

func withPlugin(m *testing.M) int {
	dir, err := os.MkdirTemp("", "steps-online-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, pluginName))
	}
	if err == nil {
		err = os.Setenv("PATH", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// plugin is a key service whose keys are derived from their names. The names also say
// what it does wrong.
func plugin() {
	args, err := handler.GetPluginArgs(os.Args)
	if err != nil {
		_ = handler.WriteErrorResponse(os.Stdout, err)
		return
	}
	if args.InitOptions.KeyResourceID == "garbage" {
		fmt.Println("hello")
		return
	}
	resp, err := answer(args)
	if err != nil {
		_ = handler.WriteErrorResponse(os.Stdout, err)
		return
	}
	_ = handler.WriteResponse(os.Stdout, resp)
}

func answer(args *common.PluginArgs) (*common.PluginResp, error) {
	id := args.InitOptions.KeyResourceID
	switch {
	case id == "empty":
		return &common.PluginResp{}, nil
	case strings.HasPrefix(id, "missing"):
		return nil, errors.New("no such key \x1b[2J")
	}
	switch args.MethodName {
	case common.PublicKeyMethodName:
		key, err := deviceKey(id)
		if err != nil {
			return nil, err
		}
		der, err := x509.MarshalPKIXPublicKey(key.Public())
		text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		return &common.PluginResp{PublicKey: &common.PublicKeyResp{PublicKeyPEM: text}}, err
	case common.SignMessageMethodName:
		switch id {
		case "fickle":
			id = "another"
		case "mute":
			return &common.PluginResp{}, nil
		}
		key, err := deviceKey(id)
		if err != nil {
			return nil, err
		}
		message, err := io.ReadAll(os.Stdin)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(message)
		sig, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
		return &common.PluginResp{SignMessage: &common.SignMessageResp{Signature: sig}}, err
	}
	return nil, fmt.Errorf("method %s", args.MethodName)
}

func deviceKey(id string) (*ecdsa.PrivateKey, error) {
	sum := sha256.Sum256([]byte(id))
	if id == "p384" {
		return ecdsa.ParseRawPrivateKey(elliptic.P384(), append(sum[:], sum[:16]...))
	}
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), sum[:])
}
