package broker

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"steps.example/interp/commit"
	"steps.example/steps"
)

// Version is the protocol's.
const Version = 1

// The greatest size, in bytes, of the first request, of a later one and of an answer.
const (
	MaxHello   = 32 << 20
	MaxRequest = 4 << 10
	MaxAnswer  = 16 << 20
)

// Request is what a user asks. Exactly one of its members is set.
type Request struct {
	Hello *Hello `json:"hello,omitzero"`
	// Do is a step's number, from 1.
	Do     int    `json:"do,omitzero"`
	Commit bool   `json:"commit,omitzero"`
	Abort  bool   `json:"abort,omitzero"`
	Undo   *About `json:"undo,omitzero"`
	Verify *About `json:"verify,omitzero"`
	Settle *About `json:"settle,omitzero"`
}

// Hello opens a transaction.
type Hello struct {
	Version int `json:"version"`
	// Bundles are what vouches for the document, as they were downloaded.
	Bundles        [][]byte `json:"bundles"`
	DocumentSHA256 string   `json:"document_sha256"`
	ArtifactSHA256 string   `json:"artifact_sha256"`
	PURL           string   `json:"purl"`
	Registry       string   `json:"registry,omitzero"`
	PackageID      string   `json:"package_id,omitzero"`
	// Target says where the document is interpreted.
	Target Target `json:"target"`
	// Steps are those that the caller wants done, and Plan is the digest of what they
	// are to change.
	Steps []int  `json:"steps"`
	Plan  string `json:"plan"`
	// Transaction and Store are the caller's.
	Transaction string `json:"transaction"`
	Store       string `json:"store"`
}

// Target is what of an [interp.Target] the caller can choose.
type Target struct {
	Phases         []steps.Phase     `json:"phases"`
	Version        string            `json:"version,omitzero"`
	OS             string            `json:"os"`
	Dirs           map[string]string `json:"dirs"`
	Umask          uint32            `json:"umask"`
	Approved       []string          `json:"approved,omitzero"`
	ProtectedNames []string          `json:"protected_names,omitzero"`
}

// About names a transaction of the broker: its receipt, and the caller's own that it
// went with.
type About struct {
	Version     int    `json:"version"`
	Receipt     string `json:"receipt"`
	Transaction string `json:"transaction"`
}

// Answer is what the broker answers. Error is set where it did not do what was asked.
type Answer struct {
	Error *Failure `json:"error,omitzero"`
	// Store and Transaction are the broker's, after hello.
	Store       string `json:"store,omitzero"`
	Transaction string `json:"transaction,omitzero"`
	// Paths and Drifts are those of a receipt, after verify.
	Paths  []string       `json:"paths,omitzero"`
	Drifts []commit.Drift `json:"drifts,omitzero"`
	// Gone: there is no such receipt, after undo, settle and verify.
	Gone bool `json:"gone,omitzero"`
}

// Failure says why something was not done.
type Failure struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// The kinds of a [Failure].
const (
	KindRefused = "refused"
	KindTrust   = "trust"
	KindDrift   = "drift"
	KindLocked  = "locked"
	KindRecover = "recover" // something could not be taken back, or is not yet
	KindFailed  = "failed"
)

func (f *Failure) Error() string { return f.Text }

// errTooLong is a line with more bytes than it may have.
var errTooLong = errors.New("is too long")

// readLine reads up to the next line end, at most max bytes. At the end of the input it
// gives [io.EOF], in the middle of a line [io.ErrUnexpectedEOF].
func readLine(in *bufio.Reader, max int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > max {
			return nil, errTooLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case err == io.EOF && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// decode reads one JSON object strictly: unknown and doubled members, and anything
// behind it, are errors.
func decode(line []byte, into any) error {
	dec := jsontext.NewDecoder(bytes.NewReader(line))
	if err := json.UnmarshalDecode(dec, into, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return errors.New("something follows it")
	}
	return nil
}

// decodeRequest reads a request; it is of one kind, and of this version.
func decodeRequest(line []byte) (*Request, error) {
	r := &Request{}
	if err := decode(line, r); err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	kinds, version := 0, Version
	for _, set := range []bool{r.Hello != nil, r.Do != 0, r.Commit, r.Abort, r.Undo != nil, r.Verify != nil, r.Settle != nil} {
		if set {
			kinds++
		}
	}
	if r.Hello != nil {
		version = r.Hello.Version
	}
	for _, about := range []*About{r.Undo, r.Verify, r.Settle} {
		if about != nil {
			version = about.Version
		}
	}
	switch {
	case kinds != 1:
		return nil, fmt.Errorf("the request asks for %d things, not one", kinds)
	case version != Version:
		return nil, fmt.Errorf("the request has version %d of the protocol, the broker has %d: both must be of one release", version, Version)
	}
	return r, nil
}

// write writes a message as a line.
func write(out io.Writer, message any) error {
	data, err := json.Marshal(message, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = out.Write(append(data, '\n'))
	return err
}
