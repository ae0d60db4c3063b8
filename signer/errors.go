package signer

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
)

// Kind classifies an [Error] so that a command can choose its exit status.
type Kind string

const (
	KindTooLarge      Kind = "too-large"      // over a size, depth or count limit
	KindMalformed     Kind = "malformed"      // an input is not what it has to be
	KindUnsupported   Kind = "unsupported"    // well-formed, but not for this version
	KindUntrustedKey  Kind = "untrusted-key"  // signed by a key or identity the rule does not list
	KindBadSignature  Kind = "bad-signature"  // the signature does not fit the bytes
	KindEvidence      Kind = "evidence"       // log entry, timestamp or certificate chain missing or wrong
	KindIncomplete    Kind = "incomplete"     // the rule wants further signatures
	KindWrongArtifact Kind = "wrong-artifact" // signed for another artifact digest
	KindWrongPackage  Kind = "wrong-package"  // signed for another package or registry
	KindPolicy        Kind = "policy"         // the policy is unusable or has no rule
	KindTrustRoot     Kind = "trust-root"     // not the trust root that the policy pins
	KindRevoked       Kind = "revoked"        // the policy revokes signer, bundle or package
	KindExpired       Kind = "expired"        // outside the key's window
	KindStale         Kind = "stale"          // older than the caller or the policy requires
	KindEquivocation  Kind = "equivocation"   // other content under a revision already seen
	KindCapabilities  Kind = "capabilities"   // the document asks for other things than the statement says
	KindService       Kind = "service"        // a signing service did not do its part
)

// Error is the type of every error this package returns, except those of the
// reader given to [ReadBundle], of a [State], and of a cancelled context.
type Error struct {
	Kind Kind
	Msg  string // what is wrong, where and why
	Hint string // what to do about it
}

func (e *Error) Error() string { return e.Msg + "; " + e.Hint }

func fail(kind Kind, hint, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// printable makes text of a foreign error, which may quote the attacker's bytes,
// fit for a terminal.
func printable(err error) string {
	const limit = 300
	s := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, err.Error())
	return clip(s, limit)
}

// jsonFault words a decoding error for people who do not know our Go types.
func jsonFault(err error) string {
	e, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case !ok:
		return printable(err)
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Sprintf("unknown member at %q", clip(string(e.JSONPointer), 200))
	case e.Err != nil:
		return fmt.Sprintf("JSON %s at %q: %s", e.JSONKind, clip(string(e.JSONPointer), 200), printable(e.Err))
	}
	return fmt.Sprintf("unexpected JSON %s at %q", e.JSONKind, clip(string(e.JSONPointer), 200))
}

// clip shortens s to at most limit bytes, at a rune boundary.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
