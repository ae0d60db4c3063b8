package lookup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/theupdateframework/go-tuf/v2/metadata"
)

const timestampName = "timestamp.json"

// source reads files below a base URL: http, https or file.
type source struct {
	ctx     context.Context // of the call in progress; go-tuf has no place for it
	base    *url.URL
	client  *http.Client
	offline bool

	last      string // the file asked for last
	timestamp []byte // the timestamp as it came last
}

func newSource(base string, client *http.Client) (*source, error) {
	u, err := url.Parse(base)
	if err != nil || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fail(KindUnreachable, "write it like https://registry.example/index", "%q is no base URL", clipped(base))
	}
	switch u.Scheme {
	case "http", "https":
	case "file":
		if u.Host != "" {
			return nil, fail(KindUnreachable, "write it like file:///srv/index", "%q names a host", clipped(base))
		}
	default:
		return nil, fail(KindUnreachable, "use https, http or file", "%q has a scheme that is not known", clipped(base))
	}
	if client == nil {
		client = &http.Client{Timeout: 30 * time.Second}
	}
	return &source{base: u, client: client}, nil
}

// DownloadFile is go-tuf's Fetcher. It reads no more than limit+1 bytes.
func (s *source) DownloadFile(name string, limit int64, _ time.Duration) ([]byte, error) {
	s.last = path.Base(name)
	if s.offline {
		return nil, fail(KindUnreachable, "fetch it once while there is a network", "%s is not stored here, and this is offline", s.last)
	}
	// go-tuf hands back the base URL that it was given, with the file's name.
	rel, ok := strings.CutPrefix(name, s.base.String())
	if !ok {
		return nil, fail(KindUnreachable, hintFetch, "%q is not below the base URL", clipped(name))
	}
	data, err := s.get(strings.TrimPrefix(rel, "/"), limit)
	if err == nil && s.last == timestampName {
		s.timestamp = data
	}
	return data, err
}

func (s *source) get(name string, limit int64) ([]byte, error) {
	u := s.base.JoinPath(name)
	body, err := s.open(u)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, fail(KindUnreachable, hintFetch, "%s: %s", u.Redacted(), printable(err))
	}
	if int64(len(data)) > limit {
		return nil, &metadata.ErrDownloadLengthMismatch{Msg: fmt.Sprintf("%s has more than %d bytes", path.Base(name), limit)}
	}
	return data, nil
}

func (s *source) open(u *url.URL) (io.ReadCloser, error) {
	missing := &metadata.ErrDownloadHTTP{StatusCode: http.StatusNotFound, URL: u.Redacted()}
	if u.Scheme == "file" {
		f, err := os.Open(filepath.FromSlash(u.Path))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, missing
		}
		if err != nil {
			return nil, fail(KindUnreachable, hintFetch, "%s", printable(err))
		}
		return f, nil
	}
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fail(KindUnreachable, hintFetch, "%s", printable(err))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, fail(KindUnreachable, hintFetch, "%s", printable(err))
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		missing.StatusCode = resp.StatusCode
		return nil, missing
	}
	return resp.Body, nil
}

// contradict tells whether two timestamps are of one version and say different things.
// Signatures of one thing may differ.
func contradict(a, b []byte) bool {
	x, errX := metadata.Timestamp().FromBytes(a)
	y, errY := metadata.Timestamp().FromBytes(b)
	if errX != nil || errY != nil || x.Signed.Version != y.Signed.Version {
		return false
	}
	x.ClearSignatures()
	y.ClearSignatures()
	one, errX := x.ToBytes(false)
	other, errY := y.ToBytes(false)
	return errX != nil || errY != nil || !bytes.Equal(one, other)
}

func clipped(s string) string { return s[:min(len(s), 200)] }
