package sigstoretest

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"time"

	cosignature "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/tessera/api/layout"
	"golang.org/x/mod/sumdb/note"
)

// Witness makes a witness who cosigns all checkpoints from now on, and returns its
// verifier key.
func (s *Sigstore) Witness(name string) string {
	s.t.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		s.t.Fatal(err)
	}
	signer, err := cosignature.NewSignerForCosignatureV1(secret)
	if err != nil {
		s.t.Fatal(err)
	}
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.witnesses = append(s.log.witnesses, signer)
	return public
}

// Now is the deployment's clock.
func (s *Sigstore) Now() time.Time { return s.now() }

// SplitView is the same deployment, whose log shows other people something else from now
// on. Witnesses do not sign that.
func (s *Sigstore) SplitView() *Sigstore {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	other := *s
	other.log = &transparencyLog{key: s.log.key, leaves: slices.Clone(s.log.leaves)}
	return &other
}

// serveFile serves the log's checkpoint and tiles, as C2SP's tlog-tiles says.
func (l *transparencyLog) serveFile(w http.ResponseWriter, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var data []byte
	if name == layout.CheckpointPath && len(l.leaves) > 0 {
		data, _, _ = l.checkpoint()
	} else if rest, ok := strings.CutPrefix(name, "tile/"); ok {
		level, place, _ := strings.Cut(rest, "/")
		if level, index, p, err := layout.ParseTileLevelIndexPartial(level, place); err == nil {
			data = l.tile(level, index, p)
		}
	}
	if data == nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	_, _ = w.Write(data)
}

// tile is the hashes of one tile, or nil if the tree does not have them yet.
func (l *transparencyLog) tile(level, index uint64, p uint8) (data []byte) {
	width := uint64(p)
	if p == 0 {
		width = layout.TileWidth
	}
	size := uint64(1) << (level * layout.TileHeight) // leaves below each
	for i := index * layout.TileWidth; i < index*layout.TileWidth+width; i++ {
		if (i+1)*size > uint64(len(l.leaves)) {
			return nil
		}
		data = append(data, treeHash(l.leaves[i*size:(i+1)*size])...)
	}
	return data
}
