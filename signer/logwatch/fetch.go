package logwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/transparency-dev/tessera/api/layout"

	"steps.example/signer"
)

const (
	// maxCheckpoint is far above any with its cosignatures, in bytes.
	maxCheckpoint = 64 << 10
	// maxTile is a full tile: 256 hashes of 32 bytes.
	maxTile = layout.TileWidth * 32
)

// fetcher reads files below a base URL: http, https or file. Tessera's own does not
// bound what it reads.
type fetcher struct {
	base *url.URL
	http *http.Client
}

func newFetcher(base string, c *http.Client) (fetcher, error) {
	u, err := url.Parse(base)
	if err != nil || u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" ||
		!(u.Scheme == "file" && u.Host == "" || (u.Scheme == "https" || u.Scheme == "http") && u.Host != "") {
		return fetcher{}, fail(signer.KindMalformed, "write it like https://log.example/api/v2 or file:///srv/log", "%q is no base URL", base)
	}
	if c == nil {
		c = &http.Client{Timeout: defaultTimeout}
	}
	return fetcher{u, c}, nil
}

func (f fetcher) checkpoint(ctx context.Context) ([]byte, error) {
	data, err := f.get(ctx, layout.CheckpointPath, maxCheckpoint)
	if err != nil {
		return nil, fail(signer.KindService, "try again, and check the URL", "its checkpoint: %s", clean(err))
	}
	return data, nil
}

// tile is Tessera's TileFetcherFunc. A log may drop a partial tile once it has the full
// one.
func (f fetcher) tile(ctx context.Context, level, index uint64, p uint8) ([]byte, error) {
	data, err := f.get(ctx, layout.TilePath(level, index, p), maxTile)
	if p != 0 && errors.Is(err, os.ErrNotExist) {
		return f.get(ctx, layout.TilePath(level, index, 0), maxTile)
	}
	return data, err
}

func (f fetcher) get(ctx context.Context, name string, limit int64) ([]byte, error) {
	body, err := f.open(ctx, f.base.JoinPath(name))
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, err
}

func (f fetcher) open(ctx context.Context, u *url.URL) (io.ReadCloser, error) {
	if u.Scheme == "file" {
		return os.Open(filepath.FromSlash(u.Path))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := f.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("%s: %w", u.Redacted(), os.ErrNotExist)
	}
	return nil, fmt.Errorf("%s: %s", u.Redacted(), resp.Status)
}

// clean makes foreign text, which may quote an attacker, fit for a terminal.
func clean(err error) string {
	s := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, err.Error())
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}
