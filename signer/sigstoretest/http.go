package sigstoretest

import (
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/digitorus/timestamp"
	rekor "github.com/sigstore/rekor-tiles/v2/pkg/generated/protobuf"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	certificatePath = "/api/v2/signingCert"
	logPath         = "/api/v2/log/entries"
	stampPath       = "/api/v1/timestamp"
	readPath        = "/api/v2/" // of the log's checkpoint and tiles
	maxBody         = 1 << 20
)

// ServeHTTP is the deployment's one address.
func (s *Sigstore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, readPath); ok && r.Method == http.MethodGet {
		s.log.serveFile(w, name)
		return
	}
	serve, ok := map[string]func(*http.Request, []byte) ([]byte, error){
		certificatePath: s.serveCertificate,
		logPath:         s.serveLog,
		stampPath:       s.serveTimestamp,
	}[r.URL.Path]
	if !ok || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := serve(r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.URL.Path != certificatePath {
		w.WriteHeader(http.StatusCreated)
	}
	_, _ = w.Write(answer)
}

// claims are what a token says. The subject becomes the certificate's name.
type claims struct {
	Issuer  string `json:"iss"`
	Subject string `json:"sub"`
}

// Token is an identity token for a subject, as the issuer would give it.
func (s *Sigstore) Token(subject, issuer string) string {
	s.t.Helper()
	body, err := json.Marshal(claims{issuer, subject})
	if err != nil {
		s.t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + base64.RawURLEncoding.EncodeToString(body)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.mac(text))
}

func (s *Sigstore) mac(text string) []byte {
	h := hmac.New(sha256.New, s.secret)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func (s *Sigstore) checkToken(header string) (c claims, err error) {
	token, ok := strings.CutPrefix(header, "Bearer ")
	i := strings.LastIndexByte(token, '.')
	if !ok || i < 0 {
		return c, errors.New("no token")
	}
	mac, err := base64.RawURLEncoding.DecodeString(token[i+1:])
	if err != nil || !hmac.Equal(mac, s.mac(token[:i])) {
		return c, errors.New("not our token")
	}
	_, body, _ := strings.Cut(token[:i], ".")
	data, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(data, &c)
}

// serveCertificate is Fulcio's: a certificate for who holds both token and key.
func (s *Sigstore) serveCertificate(r *http.Request, body []byte) ([]byte, error) {
	c, err := s.checkToken(r.Header.Get("Authorization"))
	if err != nil {
		return nil, err
	}
	var request struct {
		PublicKeyRequest struct {
			PublicKey         struct{ Content string }
			ProofOfPossession []byte
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	block, _ := pem.Decode([]byte(request.PublicKeyRequest.PublicKey.Content))
	if block == nil {
		return nil, errors.New("no key")
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(c.Subject))
	key, ok := public.(*ecdsa.PublicKey)
	if !ok || !ecdsa.VerifyASN1(key, sum[:], request.PublicKeyRequest.ProofOfPossession) {
		return nil, errors.New("no proof that the key is yours")
	}
	der := s.Certificate(key, Identity{SAN: c.Subject, Issuer: c.Issuer})
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return json.Marshal(map[string]any{"signedCertificateEmbeddedSct": map[string]any{"chain": map[string]any{"certificates": []string{string(text)}}}})
}

// serveLog is Rekor v2's.
func (s *Sigstore) serveLog(_ *http.Request, body []byte) ([]byte, error) {
	var request rekor.CreateEntryRequest
	if err := protojson.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	record := request.GetHashedRekordRequestV002()
	if record == nil {
		return nil, fmt.Errorf("not a hashedrekord")
	}
	entry, err := s.log.add(record)
	if err != nil {
		return nil, err
	}
	return protojson.Marshal(entry)
}

// serveTimestamp is RFC 3161's.
func (s *Sigstore) serveTimestamp(_ *http.Request, body []byte) ([]byte, error) {
	request, err := timestamp.ParseRequest(body)
	if err != nil {
		return nil, err
	}
	return s.stampDigest(request.HashedMessage, s.now()), nil
}
