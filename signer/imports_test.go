package signer

import (
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The package decides about bytes. It must have no way to read others: no files, no
// network, no command line, and no second authority on documents.
func TestImports(t *testing.T) {
	t.Parallel()
	allowed := map[string]bool{}
	for _, path := range strings.Fields(`
		bytes cmp context crypto crypto/ecdsa crypto/elliptic crypto/rand crypto/rsa crypto/sha256 crypto/sha512 crypto/x509
		encoding/asn1 encoding/base64 encoding/hex encoding/pem errors fmt io net/url regexp slices
		strconv strings sync time unicode unicode/utf8
		github.com/go-json-experiment/json github.com/go-json-experiment/json/jsontext
		github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1
		github.com/sigstore/protobuf-specs/gen/pb-go/common/v1
		github.com/sigstore/sigstore-go/pkg/bundle github.com/sigstore/sigstore-go/pkg/fulcio/certificate
		github.com/sigstore/sigstore-go/pkg/root
		github.com/sigstore/sigstore-go/pkg/sign github.com/sigstore/sigstore-go/pkg/verify
		github.com/sigstore/sigstore/pkg/signature
		github.com/transparency-dev/formats/note github.com/transparency-dev/merkle/proof golang.org/x/mod/sumdb/note
		golang.org/x/text/unicode/norm google.golang.org/protobuf/encoding/protojson
		steps.example/steps`) {
		allowed[path] = true
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := file.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err != nil || !allowed[path] {
				t.Errorf("%s imports %s, which is not on the list", name, spec.Path.Value)
			}
		}
	}
}
