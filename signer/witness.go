package signer

import (
	"fmt"
	"strings"

	cosignature "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

// witnesses are third parties who sign a log's checkpoint (C2SP tlog-cosignature) after
// they checked that it continues every one they signed before. A log that shows people
// different histories then has to have that many of them lie.
type witnesses struct {
	need int
	keys []note.Verifier
}

// witnessesFile is the form of them in a policy's "trust".
type witnessesFile struct {
	Threshold int      `json:"threshold"`
	Keys      []string `json:"keys"`
}

// maxWitnesses is how many a policy may list.
const maxWitnesses = 16

func (f *witnessesFile) build() (w witnesses, err error) {
	if len(f.Keys) == 0 || len(f.Keys) > maxWitnesses {
		return w, policyFault("list the keys of the witnesses that you trust", "%d keys, want 1 to %d", len(f.Keys), maxWitnesses)
	}
	if f.Threshold < 1 || f.Threshold > len(f.Keys) {
		return w, policyFault("choose one in that range", "threshold %d is not in 1..%d", f.Threshold, len(f.Keys))
	}
	names := make(map[string]bool)
	for i, text := range f.Keys {
		key, ok := parseWitnessKey(text)
		if !ok {
			return w, policyFault("write it like witness.example+1f2e3d4c+BASE64, as the witness publishes it",
				"key %d, %q, is not the key of a witness", i+1, clip(text, 200))
		}
		// Two keys of one name would be two votes of one witness.
		if names[key.Name()] {
			return w, policyFault("list each witness once", "key %d is another of %q", i+1, key.Name())
		}
		names[key.Name()] = true
		w.keys = append(w.keys, key)
	}
	w.need = f.Threshold
	return w, nil
}

// parseWitnessKey reads a verifier key, and refuses one whose checksum is wrong, which
// the library lets pass.
func parseWitnessKey(s string) (note.Verifier, bool) {
	key, err := cosignature.NewVerifierForCosignatureV1(s)
	if err != nil {
		return nil, false
	}
	if _, err := note.NewVerifier(s); err == nil { // a plain Ed25519 key
		return key, true
	}
	_, rest, _ := strings.Cut(s, "+")
	sum, _, _ := strings.Cut(rest, "+")
	return key, sum == fmt.Sprintf("%08x", key.KeyHash())
}

// check demands the cosignatures on the checkpoint of each log entry in an authentic
// bundle, so that none without can stand in for one that has them.
func (w *witnesses) check(e envelope) error {
	if w.need == 0 {
		return nil
	}
	for _, entry := range e.bundle.GetVerificationMaterial().GetTlogEntries() {
		signed := 0
		// An error is of a checkpoint that none of them signed, or one wrongly.
		n, err := note.Open([]byte(entry.GetInclusionProof().GetCheckpoint().GetEnvelope()), note.VerifierList(w.keys...))
		if err == nil {
			signed = len(n.Sigs) // Open counts each key once
		}
		if signed < w.need {
			return fail(KindEvidence, "fetch the bundle again later; if it stays so, ask who runs the log for its witnesses",
				"bundle: the log's checkpoint is cosigned by %d of the policy's witnesses, want %d", signed, w.need)
		}
	}
	return nil
}
