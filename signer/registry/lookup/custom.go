package lookup

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// Custom is what the index says of a package beside the digest of its bundle. Both
// the indexer and clients read it strictly.
type Custom struct {
	Revision int `json:"revision"`
	// StepsRequired: the document has steps, so a package without its bundle must not
	// be installed. If it is false, the bundle says that there are none.
	StepsRequired bool   `json:"stepsRequired"`
	Artifact      string `json:"artifactSha256"`
	Payload       string `json:"payloadSha256"`
}

const (
	maxCustomBytes = 1 << 10
	maxRevision    = 1<<31 - 1
)

// ParseCustom reads the custom member of a target, and refuses what it does not know.
func ParseCustom(data []byte) (c Custom, err error) {
	if len(data) > maxCustomBytes {
		return c, fmt.Errorf("has %d bytes, more than %d", len(data), maxCustomBytes)
	}
	if err := json.Unmarshal(data, &c, json.RejectUnknownMembers(true)); err != nil {
		return Custom{}, err
	}
	if c.Revision < 1 || c.Revision > maxRevision {
		return Custom{}, fmt.Errorf("has revision %d, not one in 1..%d", c.Revision, maxRevision)
	}
	if !isDigest(c.Artifact) || !isDigest(c.Payload) {
		return Custom{}, errors.New("has a digest that is not 64 lower-case hex digits")
	}
	return c, nil
}

func isDigest(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32 && strings.ToLower(s) == s
}
