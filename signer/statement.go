package signer

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// PredicateType names the statement this package signs and verifies.
	PredicateType = "https://steps.example/install-steps/v1"

	// Interpreter is the interpreter version that documents signed here need.
	Interpreter = "1.0"

	statementType = "https://in-toto.io/Statement/v1"
	payloadType   = "application/vnd.in-toto+json"
	schemaVersion = 1

	// maxRevision bounds a fast-forward: no signer can use up all revisions at once
	// by accident of representation, and every language holds the number exactly.
	maxRevision     = 1<<31 - 1
	maxCapabilities = 256
	maxCapability   = 256
)

// statement is an in-toto Statement v1 with our predicate. Field order is the order
// of the members in signed bytes; decoding accepts any order.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type subject struct {
	Name   string `json:"name"`
	Digest digest `json:"digest"`
}

type digest struct {
	SHA256 string `json:"sha256"`
}

type predicate struct {
	Schema         int      `json:"schema"`
	Registry       string   `json:"registry"`
	PURL           string   `json:"purl"`
	PackageID      string   `json:"packageId,omitzero"`
	Revision       int      `json:"revision"`
	IssuedAt       string   `json:"issuedAt"`
	MinInterpreter string   `json:"minInterpreter"`
	Capabilities   []string `json:"capabilities"`
	Previous       *digest  `json:"previous,omitzero"`
	// Document stays last: encodeStatement appends it.
	Document jsontext.Value `json:"document,omitzero"`

	purl     purl
	issuedAt time.Time
	artifact [32]byte
	previous [32]byte
	steps    int
}

// newStatement makes the statement for a request and checks it as a verifier would.
func newStatement(r Request) (*statement, error) {
	capabilities := slices.Clone(r.Capabilities)
	slices.Sort(capabilities)
	if r.MinInterpreter == "" {
		r.MinInterpreter = Interpreter
	}
	s := &statement{
		Type:          statementType,
		Subject:       []subject{{Name: r.PURL, Digest: digest{hex.EncodeToString(r.ArtifactSHA256[:])}}},
		PredicateType: PredicateType,
		Predicate: predicate{
			Schema:         schemaVersion,
			Registry:       r.Registry,
			PURL:           r.PURL,
			PackageID:      r.PackageID,
			Revision:       r.Revision,
			IssuedAt:       r.IssuedAt.UTC().Format(time.RFC3339),
			MinInterpreter: r.MinInterpreter,
			Capabilities:   append([]string{}, slices.Compact(capabilities)...),
			Document:       r.Document,
		},
	}
	if r.Previous != ([32]byte{}) {
		s.Predicate.Previous = &digest{hex.EncodeToString(r.Previous[:])}
	}
	if err := s.check(r.Checked); err != nil {
		return nil, err
	}
	return s, nil
}

// encodeStatement returns the bytes to sign. The same statement always gives the same
// bytes, and the document stands in them as it is, white space and escapes included:
// the encoder would reformat it, so it is appended to the encoded rest.
func encodeStatement(s *statement) ([]byte, error) {
	head := *s
	head.Predicate.Document = nil
	payload, err := json.Marshal(&head, json.Deterministic(true))
	if err != nil {
		return nil, fail(KindMalformed, "check the request's strings", "encode statement: %s", printable(err))
	}
	const end = "}}" // of predicate and statement
	payload = append(payload[:len(payload)-len(end)], `,"document":`...)
	payload = append(payload, s.Predicate.Document...)
	return append(payload, end...), nil
}

// decodeStatement parses payload strictly: unknown, duplicate or case-variant
// members, invalid UTF-8 and trailing data are refused.
func decodeStatement(payload []byte) (*statement, error) {
	s := new(statement)
	if err := json.Unmarshal(payload, s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fail(KindMalformed, badStatement, "statement: %s", jsonFault(err))
	}
	if err := s.check(nil); err != nil {
		return nil, err
	}
	return s, nil
}

const badStatement = "have the package signed again by `steps sign`; if it was, update steps"

// check settles everything that can be known from the statement alone, and fills in
// the parsed fields. doc is its document if that was checked before, or nil.
func (s *statement) check(doc *CheckedDocument) (err error) {
	p := &s.Predicate
	switch {
	case s.Type != statementType:
		return fail(KindMalformed, badStatement, "statement: _type is %q, want %q", clip(s.Type, 100), statementType)
	case s.PredicateType != PredicateType:
		return fail(KindMalformed, badStatement, "statement: predicateType is %q, want %q", clip(s.PredicateType, 100), PredicateType)
	case len(s.Subject) != 1:
		return fail(KindMalformed, badStatement, "statement: %d subjects, want exactly one", len(s.Subject))
	case p.Schema != schemaVersion:
		return fail(KindUnsupported, "update steps", "statement: schema %d, but this version knows %d", p.Schema, schemaVersion)
	case p.Revision < 1 || p.Revision > maxRevision:
		return fail(KindMalformed, "count revisions from 1", "statement: revision %d is not in 1..%d", p.Revision, maxRevision)
	case s.Subject[0].Name != p.PURL:
		return fail(KindMalformed, badStatement, "statement: subject is %q but the predicate's purl is %q",
			clip(s.Subject[0].Name, 200), clip(p.PURL, 200))
	}
	if p.artifact, err = parseDigest(s.Subject[0].Digest.SHA256, "statement: subject digest"); err != nil {
		return err
	}
	if p.purl, err = parsePURL(p.PURL); err != nil {
		return err
	}
	if err = checkRegistry(p.Registry); err != nil {
		return err
	}
	if err = checkPackageID(p.PackageID); err != nil {
		return err
	}
	if p.Previous != nil {
		if p.Revision == 1 {
			return fail(KindMalformed, "count revisions on, or leave out the previous statement", "statement: revision 1 has a previous one")
		}
		if p.previous, err = parseDigest(p.Previous.SHA256, "statement: previous digest"); err != nil {
			return err
		}
	}
	if p.issuedAt, err = parseIssuedAt(p.IssuedAt); err != nil {
		return err
	}
	if err = checkInterpreter(p.MinInterpreter); err != nil {
		return err
	}
	if err = checkCapabilities(p.Capabilities); err != nil {
		return err
	}
	if doc, err = doc.checkedAs(p.Document); err != nil {
		return err
	}
	p.steps = doc.count
	// One that understates would get past an approval that was given for less.
	if !slices.Equal(doc.capabilities, p.Capabilities) {
		return fail(KindCapabilities, "have the package signed again by `steps sign`",
			"statement: the document asks for %q, but the statement says %q", doc.capabilities, p.Capabilities)
	}
	return nil
}

func checkPackageID(s string) error {
	if len(s) > maxNameBytes {
		return fail(KindMalformed, "use the registry's own identifier", "statement: packageId has more than %d bytes", maxNameBytes)
	}
	if reason := checkText(s); reason != "" {
		return fail(KindMalformed, "use the registry's own identifier", "statement: packageId %q %s", clip(s, 100), reason)
	}
	return nil
}

// parseDigest reads a sha256 in lower-case hex. All zeros is refused as what an
// unset variable looks like.
func parseDigest(s, what string) (sum [32]byte, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(sum) || strings.ToLower(s) != s {
		return sum, fail(KindMalformed, "write it as 64 lower-case hex digits", "%s %q is not a sha256", what, clip(s, 100))
	}
	if copy(sum[:], b); sum == [32]byte{} {
		return sum, fail(KindMalformed, "pass the sha256 of the package artifact", "%s is all zeros", what)
	}
	return sum, nil
}

func parseIssuedAt(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.UTC().Format(time.RFC3339) != s || t.Unix() <= 0 {
		return t, fail(KindMalformed, "write it like 2026-01-31T12:00:00Z", "statement: issuedAt %q is not a UTC time in whole seconds after 1970", clip(s, 100))
	}
	return t, nil
}

// checkInterpreter refuses versions above [Interpreter]: another major version, or
// the same with a higher minor version.
func checkInterpreter(s string) error {
	major, minor, ok := cutVersion(s)
	if !ok {
		return fail(KindMalformed, badStatement, "statement: minInterpreter %q is not like 1.0", clip(s, 100))
	}
	ourMajor, ourMinor, _ := cutVersion(Interpreter)
	if major != ourMajor || minor > ourMinor {
		return fail(KindUnsupported, "update steps", "statement: needs interpreter %s, this is %s", s, Interpreter)
	}
	return nil
}

func cutVersion(s string) (major, minor uint64, ok bool) {
	a, b, _ := strings.Cut(s, ".")
	major, errA := strconv.ParseUint(a, 10, 16)
	minor, errB := strconv.ParseUint(b, 10, 16)
	canonical := strconv.FormatUint(major, 10) + "." + strconv.FormatUint(minor, 10)
	return major, minor, errA == nil && errB == nil && canonical == s
}

// checkCapabilities wants a list, sorted and without repeats, so that the same set is
// always the same bytes.
func checkCapabilities(list []string) error {
	const hint = "list each capability once, as plain text"
	if list == nil || len(list) > maxCapabilities {
		return fail(KindMalformed, hint, "statement: capabilities is not a list of at most %d", maxCapabilities)
	}
	for i, c := range list {
		if c == "" || len(c) > maxCapability {
			return fail(KindMalformed, hint, "statement: capability %d is empty or has more than %d bytes", i, maxCapability)
		}
		if reason := checkText(c); reason != "" {
			return fail(KindMalformed, hint, "statement: capability %d, %q, %s", i, c, reason)
		}
		if i > 0 && c <= list[i-1] {
			return fail(KindMalformed, hint, "statement: capability %d, %q, is repeated or out of order", i, c)
		}
	}
	return nil
}
