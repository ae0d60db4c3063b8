package e2e

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	prototrustroot "github.com/sigstore/protobuf-specs/gen/pb-go/trustroot/v1"
	rekornote "github.com/sigstore/rekor-tiles/v2/pkg/note"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore/pkg/signature"
	checkpoint "github.com/transparency-dev/formats/log"
	cosignature "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"

	"steps.example/signer"
	"steps.example/signer/logwatch"
	"steps.example/signer/online"
)

// TestWitness has a real log cosigned by a witness, and then run by somebody who shows one
// victim another history: the witness does not sign that, so no policy that names it
// takes the bundle, and who compares finds it out.
func TestWitness(t *testing.T) {
	if _, err := rekor.installed(); err != nil {
		t.Skip(err)
	}
	logKey, key := newKey(t), must(signer.GenerateKey())(t)
	w := newWitness(t, logKey)
	witnessed := httptest.NewServer(w)
	defer witnessed.Close()
	dir := t.TempDir()
	run := func(storage string) (*server, string) {
		s, base := serve(t, must(rekor.installed())(t), nil, "/healthz", func(port, other int) []string {
			return []string{
				"serve", "--hostname=127.0.0.1", "--http-address=127.0.0.1", "--http-port=" + strconv.Itoa(port),
				"--grpc-address=127.0.0.1", "--grpc-port=" + strconv.Itoa(other), "--http-metrics-port=0",
				"--signer-filepath=" + writeKey(t, dir, "log.key", logKey), "--storage-dir=" + filepath.Join(dir, storage),
				"--checkpoint-interval=" + publication,
				"--witness-policy-path=" + write(t, dir, "witnesses", fmt.Appendf(nil, "witness w1 %s %s\nquorum w1\n", w.public, witnessed.URL)),
			}
		})
		return s, base
	}
	sign := func(base string, revision int) []byte {
		services := must(online.ParseServices(logOnly(t, base), online.Options{}))(t)
		trustRoot := must(signer.ParseTrustRoot(rootOfLog(t, logKey, base)))(t)
		r := request(t)
		r.Revision = revision
		return must(must(signer.NewSigner(key, services.Evidence(trustRoot)))(t).Sign(t.Context(), r))(t)
	}
	verify := func(base string, bundle []byte, witnesses ...string) error {
		trustRoot := rootOfLog(t, logKey, base)
		sum := sha256.Sum256(trustRoot)
		trust := map[string]any{"mode": "file", "trustedRoot": "/etc/steps/trusted_root.json", "sha256": hex.EncodeToString(sum[:])}
		if len(witnesses) > 0 {
			trust["witnesses"] = map[string]any{"threshold": len(witnesses), "keys": witnesses}
		}
		p := must(signer.ParsePolicy(marshal(t, map[string]any{"version": 1, "trust": trust, "rules": []any{map[string]any{
			"match": map[string]any{"registry": registry, "package": "pkg:generic/acme/*"},
			"anyOf": []any{map[string]any{"key": map[string]any{"id": key.ID(), "pem": string(key.PublicPEM()), "tlog": 1}}}}}})))(t)
		_, err := signer.Verify(bundle, must(p.WithTrustRoot(trustRoot))(t), want())
		return err
	}
	watch := func(base, storage string) *logwatch.Watch {
		trustRoot := must(signer.ParseTrustRoot(rootOfLog(t, logKey, base)))(t)
		return must(logwatch.Open(logwatch.Config{Log: trustRoot.Logs()[0], URL: "file://" + filepath.ToSlash(filepath.Join(dir, storage))}))(t)
	}
	inBundle := func(bundle []byte) []byte { return must(signer.Checkpoints(bundle))(t)[0].Text }

	honest, base := run("public")
	first := sign(base, 1)
	seen := must(watch(base, "public").Update(t.Context(), nil))(t)
	second := sign(base, 2)
	for _, bundle := range [][]byte{first, second} {
		if err := verify(base, bundle, w.public); err != nil {
			t.Fatal("control:", err)
		}
	}
	public := watch(base, "public")
	must(public.Update(t.Context(), seen.Checkpoint))(t)
	for _, bundle := range [][]byte{first, second} {
		if err := public.Check(t.Context(), inBundle(bundle)); err != nil {
			t.Error("control:", err)
		}
	}
	honest.stop(t, false)

	// The same key, for one victim.
	_, base = run("hidden")
	victim := sign(base, 3)
	if err := verify(base, victim); err != nil {
		t.Fatal("without witnesses it is as good as any:", err)
	}
	wantError(t, verify(base, victim, w.public), signer.KindEvidence, "cosigned by 0")
	wantError(t, public.Check(t.Context(), inBundle(victim)), signer.KindEquivocation, "split view")
	if w.refused() == 0 {
		t.Error("the witness was not asked")
	}
}

// witness is one of C2SP's tlog-witness for one log.
type witness struct {
	log    note.Verifier
	signer *cosignature.Signer
	public string

	mu   sync.Mutex
	last checkpoint.Checkpoint
	no   int // refusals
}

func newWitness(t *testing.T, logKey *ecdsa.PrivateKey) *witness {
	t.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, "witness.test")
	if err != nil {
		t.Fatal(err)
	}
	verifier := must(signature.LoadVerifier(logKey.Public(), crypto.SHA256))(t)
	return &witness{
		log: must(rekornote.NewNoteVerifier("127.0.0.1", verifier))(t), signer: must(cosignature.NewSignerForCosignatureV1(secret))(t), public: public,
	}
}

func (w *witness) refused() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.no
}

func (w *witness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	head, text, found := bytes.Cut(body, []byte("\n\n"))
	if err != nil || !found || r.URL.Path != "/add-checkpoint" {
		http.Error(out, "bad request", http.StatusBadRequest)
		return
	}
	lines := strings.Split(string(head), "\n")
	if old, _ := strings.CutPrefix(lines[0], "old "); old != strconv.FormatUint(w.last.Size, 10) {
		w.no++
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(http.StatusConflict)
		fmt.Fprintln(out, w.last.Size)
		return
	}
	signed, err := w.cosign(text, lines[1:])
	if err != nil {
		w.no++
		http.Error(out, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	out.Write(signed)
}

// cosign signs a checkpoint that continues the last one.
func (w *witness) cosign(text []byte, lines []string) ([]byte, error) {
	c, _, n, err := checkpoint.ParseCheckpoint(text, w.log.Name(), w.log)
	if err != nil {
		return nil, err
	}
	steps := make([][]byte, len(lines))
	for i, line := range lines {
		if steps[i], err = base64.StdEncoding.DecodeString(line); err != nil {
			return nil, err
		}
	}
	if w.last.Size > 0 {
		if err := proof.VerifyConsistency(rfc6962.DefaultHasher, w.last.Size, c.Size, steps, w.last.Hash, c.Hash); err != nil {
			return nil, err
		}
	}
	whole, err := note.Sign(&note.Note{Text: n.Text}, w.signer)
	if err != nil {
		return nil, err
	}
	_, line, found := bytes.Cut(whole, []byte("\n\n"))
	if !found {
		return nil, errors.New("no signature")
	}
	w.last = *c
	return line, nil
}

// logOnly is a signing configuration with a log and nothing else.
func logOnly(t *testing.T, base string) []byte {
	t.Helper()
	c := must(root.NewSigningConfig(root.SigningConfigMediaType02, nil, nil,
		[]root.Service{{URL: base, MajorAPIVersion: 2, ValidityPeriodStart: begun(), Operator: "e2e"}},
		root.ServiceConfiguration{Selector: prototrustroot.ServiceSelector_ANY}, nil, root.ServiceConfiguration{}))(t)
	return must(c.MarshalJSON())(t)
}

// rootOfLog is a trust root with a log and nothing else.
func rootOfLog(t *testing.T, key *ecdsa.PrivateKey, base string) []byte {
	t.Helper()
	id := sha256.Sum256(must(x509.MarshalPKIXPublicKey(key.Public()))(t))
	made := must(root.NewTrustedRoot(root.TrustedRootMediaType01, nil, nil, nil, map[string]*root.TransparencyLog{hex.EncodeToString(id[:]): {
		BaseURL: base, ID: id[:], ValidityPeriodStart: begun(), HashFunc: crypto.SHA256, PublicKey: key.Public(), SignatureHashFunc: crypto.SHA256,
	}}))(t)
	return must(made.MarshalJSON())(t)
}
