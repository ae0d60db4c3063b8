package lookup

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"github.com/theupdateframework/go-tuf/v2/metadata"

	"steps.example/signer"
)

// Kinds of errors beside those of package signer; all errors are [*signer.Error].
const (
	KindRollback     signer.Kind = "index-rollback"
	KindExpired      signer.Kind = "index-expired"
	KindMixed        signer.Kind = "index-mixed"
	KindOmitted      signer.Kind = "index-omitted"      // named, but its bundle is not there
	KindAbsent       signer.Kind = "index-absent"       // the signed index does not name it
	KindEquivocation signer.Kind = "index-equivocation" // two truths
	KindFastForward  signer.Kind = "index-fast-forward"
	KindSignature    signer.Kind = "index-signature"
	KindUnreachable  signer.Kind = "index-unreachable" // not fetched
	KindState        signer.Kind = "index-state"       // this machine's directory
)

func fail(kind signer.Kind, hint, format string, args ...any) *signer.Error {
	return &signer.Error{Kind: kind, Msg: "index: " + fmt.Sprintf(format, args...), Hint: hint}
}

const (
	hintAttack = "somebody may be replaying it: do not install; tell the registry if it stays so"
	hintFetch  = "try again; if it stays so, tell the registry"
)

// classify words an error of go-tuf or the fetcher, which asked for the file last before
// it. The subtypes come first: go-tuf's errors are sets within sets.
func classify(err error, last string) error {
	var own *signer.Error
	var download *metadata.ErrDownloadHTTP
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.Is(err, fs.ErrNotExist):
		return fail(KindUnreachable, "fetch it once while there is a network", "not stored on this machine: %s", printable(err))
	case errors.Is(err, &metadata.ErrExpiredMetadata{}):
		return fail(KindExpired, "check this machine's clock; if it is right, the registry stands still or somebody withholds news; --allow-stale accepts that",
			"%s: news may be withheld (freeze)", printable(err))
	case errors.Is(err, &metadata.ErrBadVersionNumber{}) && last == timestampName:
		return fail(KindRollback, hintAttack, "older than the one that this machine has seen (rollback): %s", printable(err))
	case errors.Is(err, &metadata.ErrBadVersionNumber{}):
		return fail(KindMixed, hintAttack, "put together from parts of different versions (mix and match): %s", printable(err))
	case errors.Is(err, &metadata.ErrUnsignedMetadata{}):
		return fail(KindSignature, hintAttack, "not signed by the keys of the pinned root: %s", printable(err))
	case errors.As(err, &download):
		return fail(KindUnreachable, hintFetch, "%s", printable(err))
	case errors.Is(err, &metadata.ErrLengthOrHashMismatch{}):
		return fail(KindMixed, hintAttack, "a part is not the one that the signed index names (mix and match): %s", printable(err))
	case errors.Is(err, &metadata.ErrDownload{}), errors.Is(err, &metadata.ErrDownloadLengthMismatch{}):
		return fail(signer.KindTooLarge, hintFetch, "%s", printable(err))
	case errors.Is(err, &metadata.ErrRepository{}):
		return fail(KindMixed, hintAttack, "%s", printable(err))
	}
	return fail(signer.KindMalformed, hintFetch, "%s", printable(err))
}

// printable makes foreign text, which may quote an attacker, fit for a terminal.
func printable(err error) string {
	s := strings.Map(func(r rune) rune {
		if r != ' ' && !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, err.Error())
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}
