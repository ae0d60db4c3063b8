package signer

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/transparency-dev/merkle/proof"
)

// evidence is what a rule demands beside the signature. The numbers come from the
// policy alone: whatever more a bundle offers counts for nothing, and what it lacks
// is a refusal.
type evidence struct {
	logs    int // transparency logs that include the signature
	times   int // authorities, of timestamps or logs, that signed a time for it
	stamps  int // timestamp authorities among them
	scts    int // certificate logs that promise to include the certificate
	current bool
}

// needsRoot tells whether a trust root is needed to check it.
func (e evidence) needsRoot() bool { return e.logs+e.times+e.stamps+e.scts > 0 }

func (e evidence) options() []verify.VerifierOption {
	// The strict decoder reads the predicate; sigstore-go's is lenient and slow.
	list := []verify.VerifierOption{verify.WithoutStatementPredicate()}
	for _, x := range []struct {
		n      int
		option func(int) verify.VerifierOption
	}{
		{e.logs, verify.WithTransparencyLog},
		{e.times, verify.WithObserverTimestamps},
		{e.stamps, verify.WithSignedTimestamps},
		{e.scts, verify.WithSignedCertificateTimestamps},
	} {
		if x.n > 0 {
			list = append(list, x.option(x.n))
		}
	}
	if e.current {
		list = append(list, verify.WithCurrentTime())
	}
	return list
}

// diagnose words an error of sigstore-go's by asking again for each part. It is for
// people only: what it looks at has been refused already.
func (e evidence) diagnose(b *bundle.Bundle, material root.TrustedMaterial, signer string, err error) *Error {
	const hint = "fetch the bundle again; if it stays so, do not install"
	var times int
	if e.logs > 0 {
		stamps, logErr := verify.VerifyTlogEntry(b, material, e.logs, true)
		if logErr != nil {
			return fail(KindEvidence, hint, "bundle: transparency log: %s", logFault(logErr))
		}
		times = len(stamps)
	}
	if want := max(e.times, e.stamps); want > 0 {
		if e.stamps > 0 {
			times = 0
		}
		stamps, faults, stampErr := verify.VerifySignedTimestamp(b, material)
		if times += len(stamps); stampErr != nil || times < want {
			reason := ""
			if err := cmp.Or(stampErr, errors.Join(faults...)); err != nil {
				reason = ": " + printable(err)
			}
			return fail(KindEvidence, hint, "bundle: %d trusted times, want %d%s", times, want, reason)
		}
	}
	if sigErr := checkSignature(b, material); sigErr != nil {
		return fail(KindBadSignature, "fetch the bundle again; if it stays so, someone altered it: do not install",
			"bundle: the signature is not by %s over this payload", signer)
	}
	return fail(KindEvidence, hint, "bundle: %s", printable(err))
}

// logFault words an error about log entries. A proof that leads elsewhere is reported
// with its roots as lists of numbers, which nobody can compare with what logs print.
func logFault(err error) string {
	if e, ok := errors.AsType[proof.RootMismatchError](err); ok {
		return fmt.Sprintf("the entry is not in the tree that the log signed: its proof leads to root %x, not to %x", e.CalculatedRoot, e.ExpectedRoot)
	}
	return printable(err)
}

func checkSignature(b *bundle.Bundle, material root.TrustedMaterial) error {
	content, err := b.SignatureContent()
	if err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	who, err := b.VerificationContent()
	if err != nil {
		return fmt.Errorf("signer: %w", err)
	}
	return verify.VerifySignature(content, who, material)
}
