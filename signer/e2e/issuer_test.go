package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// audience is whom the tokens are for.
const audience = "sigstore"

// issuer is an OpenID Connect issuer that attests whatever it is told.
type issuer struct {
	url string
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	o := &issuer{key: newKey(t)}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	o.url = server.URL
	serve := func(path string, value any) {
		text := marshal(t, value)
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text) // the client's loss
		})
	}
	serve("/.well-known/openid-configuration", map[string]any{
		"issuer": o.url, "jwks_uri": o.url + "/keys", "authorization_endpoint": o.url + "/auth", "token_endpoint": o.url + "/token",
		"response_types_supported": []string{"id_token"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256"},
	})
	point, err := o.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	serve("/keys", map[string]any{"keys": []any{map[string]any{
		"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "1", "x": b64(point[1:33]), "y": b64(point[33:]),
	}}})
	return o
}

// token is an identity token with these claims beside those about itself.
func (o *issuer) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	now := time.Now()
	all := map[string]any{"iss": o.url, "aud": audience, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix()}
	maps.Copy(all, claims)
	text := b64(marshal(t, map[string]any{"alg": "ES256", "typ": "JWT", "kid": "1"})) + "." + b64(marshal(t, all))
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, o.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	s.FillBytes(sig[32:])
	return text + "." + b64(sig)
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func b64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
