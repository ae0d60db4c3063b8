package batch

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"steps.example/signer/registry/store"
	"steps.example/steps"
)

// MaxSubmissionBytes bounds a line or file.
const MaxSubmissionBytes = store.MaxDocumentBytes + 64<<10

// Submission is one that was read, and where its document begins, for messages.
type Submission struct {
	store.Submission
	line, column int // of the document's first byte, from 0
}

// ParseSubmission reads one submission strictly: unknown and repeated members, and
// anything after it but white space, are refused. The document is kept to the byte, and
// not looked at.
func ParseSubmission(data []byte) (*Submission, error) {
	if len(data) > MaxSubmissionBytes {
		return nil, fmt.Errorf("has %d bytes, more than %d", len(data), MaxSubmissionBytes)
	}
	s := new(Submission)
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	if token, err := d.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return nil, errors.New(`is no JSON object; write {"purl": …, "artifact_sha256": …, "document": {…}}`)
	}
	seen := map[string]bool{}
	for d.PeekKind() != jsontext.KindEndObject {
		token, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("is not strict JSON: %w", err)
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("is not strict JSON: %w", err)
		}
		seen[name] = true
		if err := s.set(name, value); err != nil {
			return nil, err
		}
		if name == "document" {
			before := data[:int(d.InputOffset())-len(value)]
			s.line = bytes.Count(before, []byte("\n"))
			s.column = len(before) - (bytes.LastIndexByte(before, '\n') + 1)
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, fmt.Errorf("is not strict JSON: %w", err)
	}
	if rest := bytes.TrimSpace(data[d.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("has %d bytes after its end; write one submission a line or file", len(rest))
	}
	for _, name := range []string{"purl", "artifact_sha256", "document"} {
		if !seen[name] {
			return nil, fmt.Errorf("has no %s", name)
		}
	}
	return s, nil
}

func (s *Submission) set(name string, value jsontext.Value) error {
	switch name {
	case "document":
		s.Document = bytes.Clone(value)
		return nil
	case "revision":
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 1 {
			return fmt.Errorf("has the revision %.30s, which is no number from 1", value)
		}
		s.Revision = n
		return nil
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return fmt.Errorf("has a %.30q that is no string", name)
	}
	switch name {
	case "purl":
		s.PURL = string(text)
	case "artifact_sha256":
		sum, err := hex.DecodeString(string(text))
		if err != nil || len(sum) != len(s.Artifact) || strings.ToLower(string(text)) != string(text) {
			return fmt.Errorf("has an artifact_sha256 %.80q that is not 64 lower-case hex digits", text)
		}
		s.Artifact = [32]byte(sum)
	case "subject":
		s.Subject = string(text)
	default:
		return fmt.Errorf("has a member %.50q; purl, artifact_sha256, document, revision and subject are known", name)
	}
	return nil
}

// place words an error of a document as one of the file that it was read from, whose
// line line (from 1) the submission begins in.
func (s *Submission) place(file string, line int, err error) string {
	var faults steps.Errors
	if !errors.As(err, &faults) {
		return fmt.Sprintf("%s:%d: %s", file, line, err)
	}
	text := make([]string, len(faults))
	for i, fault := range faults {
		moved := *fault
		if moved.Pos.Line == 1 {
			moved.Pos.Col += s.column
		}
		moved.Pos.Line += line - 1 + s.line
		text[i] = fmt.Sprintf("%s:%s", file, &moved)
	}
	return strings.Join(text, "\n")
}
