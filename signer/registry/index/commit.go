package index

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"steps.example/signer/registry/store"
)

const (
	commitPrefix = "index/commits/"
	maxMetaBytes = 16 << 20
	// grace is how long files stay that a later commit replaced: a client may be in
	// the middle of reading them. At least keepCommits links of the chain stay, so
	// that a late indexer finds its place taken.
	grace       = time.Hour
	keepCommits = 16
)

// commit is one link of the chain. It holds the timestamp metadata, which by digest
// holds the rest.
type commit struct {
	Number    int       `json:"number"`
	Version   int64     `json:"version"` // of the files written with it
	At        time.Time `json:"at"`
	Renewed   time.Time `json:"renewed"` // when old signatures were last looked for
	Timestamp []byte    `json:"timestamp"`
	// Superseded are the keys of files that it put out of use.
	Superseded []string `json:"superseded,omitempty"`
}

func commitKey(n int) string { return fmt.Sprintf("%s%010d.json", commitPrefix, n) }

// errBehind says that another indexer committed first.
var errBehind = errors.New("another indexer committed first")

// latest reads the end of the chain, nil if there is none.
func latest(ctx context.Context, s *store.Store) (*commit, error) {
	last, err := lastCommit(ctx, s)
	if err != nil || last == 0 {
		return nil, err
	}
	return readCommit(ctx, s, last)
}

func lastCommit(ctx context.Context, s *store.Store) (last int, err error) {
	err = s.List(ctx, commitPrefix, func(key string, _ time.Time) error {
		if n, ok := number(key, commitPrefix, ".json"); ok {
			last = max(last, n)
		}
		return nil
	})
	return last, err
}

func readCommit(ctx context.Context, s *store.Store, n int) (*commit, error) {
	data, err := s.Read(ctx, commitKey(n), maxMetaBytes)
	if err != nil {
		return nil, err
	}
	c := new(commit)
	if err := json.Unmarshal(data, c); err != nil || c.Number != n {
		return nil, fmt.Errorf("index: %s is no commit (%v); somebody else wrote it", commitKey(n), err)
	}
	return c, nil
}

// append adds c to the chain as the link after the last, or returns [errBehind].
func (c *commit) append(ctx context.Context, s *store.Store) error {
	data, err := json.Marshal(c)
	if err != nil {
		panic("BUG(steps): " + err.Error())
	}
	err = s.Create(ctx, commitKey(c.Number), data)
	if errors.Is(err, store.ErrExists) {
		return errBehind
	}
	if err != nil {
		return err
	}
	// Old links are pruned, so a very late indexer may find its place free again.
	last, err := lastCommit(ctx, s)
	if err == nil && last != c.Number {
		return errBehind
	}
	return err
}

// prune removes what commits up to the last replaced longer than grace ago. What is in
// use stays whatever a commit says: a late indexer's may name it.
func prune(ctx context.Context, s *store.Store, last int, now time.Time, inUse func(key string) bool) error {
	var old []int
	if err := s.List(ctx, commitPrefix, func(key string, _ time.Time) error {
		if n, ok := number(key, commitPrefix, ".json"); ok && n <= last-keepCommits {
			old = append(old, n)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, n := range old {
		c, err := readCommit(ctx, s, n)
		if err != nil {
			return err
		}
		if now.Sub(c.At) < grace {
			return nil
		}
		for _, key := range c.Superseded {
			if inUse(key) {
				continue
			}
			if err := s.Delete(ctx, key); err != nil {
				return err
			}
		}
		if err := s.Delete(ctx, commitKey(n)); err != nil {
			return err
		}
	}
	return nil
}
