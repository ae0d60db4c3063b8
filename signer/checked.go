package signer

import (
	"bytes"
	"slices"

	"steps.example/steps"
)

// CheckedDocument is a document that can be signed, and what it asks for. Only
// [CheckDocument] makes one, so that the two belong together; its text must not change.
type CheckedDocument struct {
	text         []byte
	decoded      *steps.Document
	count        int // an upper bound of the number of steps
	capabilities []string
}

// CheckDocument decodes a document once for who looks at it before it is signed and for
// [Signer.Sign]. The error is of type [steps.Errors], with positions, or [*Error]. The
// text is kept, not copied.
func CheckDocument(text []byte) (*CheckedDocument, error) {
	decoded, err := steps.Decode(text, steps.DefaultLimits)
	if err != nil {
		return nil, err
	}
	count, err := countSteps(text)
	if err != nil {
		return nil, err
	}
	return &CheckedDocument{text, decoded, count, steps.Capabilities(decoded)}, nil
}

// Steps is the decoded document. It must not be changed.
func (d *CheckedDocument) Steps() *steps.Document { return d.decoded }

// Capabilities are what the document asks for, as [Request] wants them.
func (d *CheckedDocument) Capabilities() []string { return slices.Clone(d.capabilities) }

// checkedAs returns d if it is of these bytes, and else what [CheckDocument] makes of
// them, with errors that speak of a statement.
func (d *CheckedDocument) checkedAs(text []byte) (*CheckedDocument, error) {
	if d != nil && bytes.Equal(d.text, text) {
		return d, nil
	}
	// The cheap scan first: what it refuses is not decoded.
	count, err := countSteps(text)
	if err != nil {
		return nil, err
	}
	decoded, err := steps.Decode(text, steps.DefaultLimits)
	if err != nil {
		return nil, fail(KindMalformed, "give a steps document that `steps validate` accepts", "statement: document: %s", printable(err))
	}
	return &CheckedDocument{text, decoded, count, steps.Capabilities(decoded)}, nil
}

// countSteps scans a document, and bounds its steps by what any policy can allow.
func countSteps(text []byte) (int, error) {
	count, err := scanDocument(text)
	if err == nil && count > maxLimits.Steps {
		err = fail(KindTooLarge, "split the document", "statement: %d steps, more than %d", count, maxLimits.Steps)
	}
	return count, err
}
