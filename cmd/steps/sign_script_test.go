package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin/common"
	"github.com/sigstore/sigstore/pkg/signature/kms/cliplugin/handler"

	"steps.example/signer/sigstoretest"
)

// startSigstore makes the command sigstore SUBJECT ISSUER: a deployment at $SIGSTORE on
// loopback, its trusted_root.json and signing_config.json, an identity token for the
// subject, and the key of the witness of its log. Who signs by
// split_config.json gets into a second history of the log, at $SIGSTORE_SPLIT, which the
// witness does not see.
func startSigstore(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: sigstore SUBJECT ISSUER")
		}
		s := sigstoretest.New(t, "scripts", time.Now)
		split := s.SplitView()
		witness := s.Witness("witness.example")
		server, splitServer := httptest.NewServer(s), httptest.NewServer(split)
		ts.Defer(server.Close)
		ts.Defer(splitServer.Close)
		ts.Setenv("SIGSTORE", server.URL)
		ts.Setenv("SIGSTORE_SPLIT", splitServer.URL)
		for name, data := range map[string][]byte{
			"trusted_root.json": s.TrustRoot(), "signing_config.json": s.SigningConfig(server.URL),
			"split_config.json": split.SigningConfig(splitServer.URL), "witness": []byte(witness),
			"token": []byte(s.Token(args[0], args[1]) + "\n"),
		} {
			ts.Check(os.WriteFile(ts.MkAbs(name), data, 0o600))
		}
	}
}

// member changes one member of a JSON file: member FILE PATH VALUE, where PATH is like
// rules.0.anyOf, and VALUE is JSON, or @FILE:PATH to take it from there, or - to drop it.
func member(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: member FILE PATH VALUE")
	}
	file := parsed(ts, args[0])
	var value any
	switch text := args[2]; {
	case text[0] == '@':
		name, path, _ := strings.Cut(text[1:], ":")
		value = at(ts, parsed(ts, name), strings.Split(path, "."))
	case text != "-":
		ts.Check(json.Unmarshal([]byte(text), &value))
	}
	path := strings.Split(args[1], ".")
	last := path[len(path)-1]
	in, ok := at(ts, file, path[:len(path)-1]).(map[string]any)
	if !ok {
		ts.Fatalf("%s: %s is in no object", args[0], args[1])
	}
	if _, there := in[last]; args[2] == "-" && !there {
		ts.Fatalf("%s: there is no %s", args[0], args[1])
	}
	in[last] = value
	if args[2] == "-" {
		delete(in, last)
	}
	data, err := json.Marshal(file)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o644))
}

func parsed(ts *testscript.TestScript, name string) (value any) {
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &value))
	return value
}

func at(ts *testscript.TestScript, value any, path []string) any {
	for _, name := range path {
		switch in := value.(type) {
		case map[string]any:
			value = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			ts.Check(err)
			value = in[i]
		default:
			ts.Fatalf("there is no %s", strings.Join(path, "."))
		}
	}
	return value
}

// homebrewAPI signs a payload as Homebrew signs its API, with a new key whose public
// half goes to a file: homebrewapi PAYLOAD OUT PUBLIC.
func homebrewAPI(ts *testscript.TestScript, neg bool, args []string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	ts.Check(err)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	ts.Check(err)
	payload := ts.ReadFile(args[0])
	protected := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"PS512","b64":false,"crit":["b64"]}`))
	sum := sha512.Sum512([]byte(protected + "." + payload))
	sig, err := rsa.SignPSS(rand.Reader, key, crypto.SHA512, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
	ts.Check(err)
	data, err := json.Marshal(map[string]any{"payload": payload, "signatures": []any{map[string]any{
		"protected": protected, "header": map[string]string{"kid": "homebrew-1"}, "signature": base64.RawURLEncoding.EncodeToString(sig),
	}}})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o644))
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644))
}

// kmsName is the plugin that this program is under that name: a key service whose keys
// follow from their names.
const kmsName = "sigstore-kms-steptest"

func kms() {
	args, err := handler.GetPluginArgs(os.Args)
	if err == nil {
		var resp *common.PluginResp
		if resp, err = kmsAnswer(args); err == nil {
			_ = handler.WriteResponse(os.Stdout, resp)
			return
		}
	}
	_ = handler.WriteErrorResponse(os.Stdout, err)
}

// kmsKey writes the public half of the service's key: kmskey NAME FILE.
func kmsKey(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: kmskey NAME FILE")
	}
	key, err := deviceKey(args[0])
	ts.Check(err)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644))
}

func deviceKey(name string) (*ecdsa.PrivateKey, error) {
	scalar := sha256.Sum256([]byte(name))
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
}

func kmsAnswer(args *common.PluginArgs) (*common.PluginResp, error) {
	key, err := deviceKey(args.InitOptions.KeyResourceID)
	if err != nil {
		return nil, err
	}
	switch args.MethodName {
	case common.PublicKeyMethodName:
		der, err := x509.MarshalPKIXPublicKey(key.Public())
		text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		return &common.PluginResp{PublicKey: &common.PublicKeyResp{PublicKeyPEM: text}}, err
	case common.SignMessageMethodName:
		message, err := io.ReadAll(os.Stdin)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(message)
		sig, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
		return &common.PluginResp{SignMessage: &common.SignMessageResp{Signature: sig}}, err
	}
	return nil, errors.New("no such method")
}
