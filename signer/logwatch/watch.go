package logwatch

import (
	"bytes"
	"context"
	"crypto"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	rekornote "github.com/sigstore/rekor-tiles/v2/pkg/note"
	"github.com/sigstore/sigstore/pkg/signature"
	checkpoint "github.com/transparency-dev/formats/log"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/client"
	"golang.org/x/mod/sumdb/note"

	"steps.example/signer"
)

// Config says which log to watch. Log is needed.
type Config struct {
	Log signer.Log
	// URL is where its checkpoint and tiles lie; "" is where Rekor v2 has them.
	URL string
	// Client fetches; nil is one with a time limit.
	Client *http.Client
}

// Watch compares what one log shows. It is not safe for concurrent use.
type Watch struct {
	origin string
	key    note.Verifier
	tiles  fetcher
	head   *checkpoint.Checkpoint // set by Update
	proofs *client.ProofBuilder   // of trees up to head
}

// Head is the state of a log.
type Head struct {
	Size uint64
	Root []byte
	// Checkpoint is the log's signed word for it, to be kept for the next Update.
	Checkpoint []byte
}

// readPath is where Rekor v2 serves its tiles.
const readPath = "/api/v2"

// Open checks the configuration, and fetches nothing.
func Open(c Config) (*Watch, error) {
	const hint = "give the trust root that the log's operator publishes"
	u, err := url.Parse(c.Log.URL)
	if err != nil || u.Hostname() == "" {
		return nil, fail(signer.KindMalformed, hint, "its URL %q has no host", c.Log.URL)
	}
	where := c.URL
	if where == "" {
		where = strings.TrimSuffix(c.Log.URL, "/") + readPath
	}
	tiles, err := newFetcher(where, c.Client)
	if err != nil {
		return nil, err
	}
	verifier, err := signature.LoadVerifier(c.Log.Key, crypto.SHA256)
	if err != nil {
		return nil, fail(signer.KindUnsupported, hint, "its key: %s", clean(err))
	}
	// Rekor's rule: the origin is the host in the log's URL.
	key, err := rekornote.NewNoteVerifier(u.Hostname(), verifier)
	if err != nil {
		return nil, fail(signer.KindUnsupported, hint, "its key: %s", clean(err))
	}
	return &Watch{origin: u.Hostname(), key: key, tiles: tiles}, nil
}

// Update fetches the log's checkpoint, and insists that its tree continues the one in
// seen, a checkpoint that an earlier Update returned, or nil. An error of
// [signer.KindEquivocation] means that the log has two histories.
func (w *Watch) Update(ctx context.Context, seen []byte) (Head, error) {
	raw, err := w.tiles.checkpoint(ctx)
	if err != nil {
		return Head{}, err
	}
	head, err := w.parse(raw, "the checkpoint that it shows")
	if err != nil {
		return Head{}, err
	}
	// The client counts in ints here and there.
	if head.Size > 1<<56 {
		return Head{}, fail(signer.KindMalformed, hintTell, "it claims %d entries", head.Size)
	}
	proofs, err := client.NewProofBuilder(ctx, head.Size, w.tiles.tile)
	if err != nil {
		return Head{}, fail(signer.KindService, hintAgain, "%s", clean(err))
	}
	w.head, w.proofs = head, proofs
	if len(seen) > 0 {
		before, err := w.parse(seen, "the checkpoint kept from the last look")
		if err == nil {
			err = w.continues(ctx, before, "it showed before")
		}
		if err != nil {
			w.head, w.proofs = nil, nil
			return Head{}, err
		}
	}
	return Head{Size: head.Size, Root: head.Hash, Checkpoint: raw}, nil
}

// Check insists that a checkpoint that came from elsewhere is of the history that the
// log showed to the last Update.
func (w *Watch) Check(ctx context.Context, raw []byte) error {
	if w.head == nil {
		return fail(signer.KindMalformed, "look at the log first", "nothing to compare with")
	}
	other, err := w.parse(raw, "the checkpoint to compare with")
	if err != nil {
		return err
	}
	return w.continues(ctx, other, "others were shown")
}

// continues insists that the head's tree begins with that of an earlier checkpoint.
func (w *Watch) continues(ctx context.Context, before *checkpoint.Checkpoint, who string) error {
	head := w.head
	switch {
	case before.Size > head.Size:
		return fail(signer.KindStale, "look again in a minute; if it stays so, the log takes entries back: "+hintTell,
			"it shows %d entries, but %s %d", head.Size, who, before.Size)
	case before.Size == head.Size && !bytes.Equal(before.Hash, head.Hash):
		return w.split(before, who)
	case before.Size == head.Size || before.Size == 0:
		return nil
	}
	steps, err := w.proofs.ConsistencyProof(ctx, before.Size, head.Size)
	if err != nil {
		return fail(signer.KindService, hintAgain, "no proof from %d to %d entries: %s", before.Size, head.Size, clean(err))
	}
	if err := proof.VerifyConsistency(rfc6962.DefaultHasher, before.Size, head.Size, steps, before.Hash, head.Hash); err != nil {
		return w.split(before, who)
	}
	return nil
}

func (w *Watch) split(before *checkpoint.Checkpoint, who string) error {
	return fail(signer.KindEquivocation, "keep both checkpoints, do not install, and tell everybody who relies on the log",
		"two histories (split view): no proof leads from the %d entries that %s, root %s, to the %d it shows now, root %s",
		before.Size, who, hex.EncodeToString(before.Hash), w.head.Size, hex.EncodeToString(w.head.Hash))
}

// parse believes nothing that the log's key did not sign.
func (w *Watch) parse(raw []byte, what string) (*checkpoint.Checkpoint, error) {
	if len(raw) > maxCheckpoint {
		return nil, fail(signer.KindTooLarge, hintTell, "%s has %d bytes, more than %d", what, len(raw), maxCheckpoint)
	}
	c, _, _, err := checkpoint.ParseCheckpoint(raw, w.origin, w.key)
	if err != nil {
		return nil, fail(signer.KindBadSignature, "check the trust root, and where the checkpoint comes from",
			"%s is not signed by %s: %s", what, w.origin, clean(err))
	}
	if len(c.Hash) != rfc6962.DefaultHasher.Size() {
		return nil, fail(signer.KindMalformed, hintTell, "%s has a root of %d bytes", what, len(c.Hash))
	}
	return c, nil
}

const (
	hintAgain = "try again"
	hintTell  = "tell who runs the log"

	defaultTimeout = 30 * time.Second
)

func fail(kind signer.Kind, hint, format string, args ...any) *signer.Error {
	return &signer.Error{Kind: kind, Msg: "log: " + fmt.Sprintf(format, args...), Hint: hint}
}
