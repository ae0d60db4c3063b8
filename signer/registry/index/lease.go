package index

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"steps.example/signer/registry/store"
)

const leasePrefix = "index/lease/"

// lease lets one indexer work at a time. Each holder has an epoch of its own, taken by
// creating its key, and renews it by writing a later time under that key. Clocks of
// machines may differ: that costs waiting or double work, never the index.
type lease struct {
	store  *store.Store
	holder string
	length time.Duration
	now    func() time.Time
	gone   func(holder string) bool
	epoch  int // held, or 0
}

type leaseFile struct {
	Holder  string    `json:"holder"`
	Expires time.Time `json:"expires"`
}

// errHeld says who holds the lease.
type errHeld struct{ leaseFile }

func (e *errHeld) Error() string {
	return fmt.Sprintf("another indexer, %s, holds the lease until %s", e.Holder, e.Expires.Format(time.RFC3339))
}

// errLost says that another indexer has taken over.
var errLost = errors.New("the lease is lost to another indexer")

// acquire takes the lease if nobody holds it, else returns an [errHeld].
func (l *lease) acquire(ctx context.Context) error {
	epoch, err := l.last(ctx)
	if err != nil {
		return err
	}
	if epoch > 0 {
		file, err := l.read(ctx, epoch)
		if err != nil {
			return err
		}
		if l.now().Before(file.Expires) && file.Holder != l.holder && !l.gone(file.Holder) {
			return &errHeld{file}
		}
	}
	epoch++
	err = l.store.Create(ctx, leaseKey(epoch), l.file())
	if errors.Is(err, store.ErrExists) {
		return errLost
	}
	if err != nil {
		return err
	}
	l.epoch = epoch
	// Earlier epochs are of no use. One that is written again by a late holder stays
	// behind this one.
	return l.store.Delete(ctx, leaseKey(epoch-1))
}

// renew makes the lease last from now, or returns [errLost].
func (l *lease) renew(ctx context.Context) error {
	if epoch, err := l.last(ctx); err != nil {
		return err
	} else if epoch != l.epoch {
		return errLost
	}
	return l.store.Write(ctx, leaseKey(l.epoch), l.file())
}

// release lets the next one in at once.
func (l *lease) release(ctx context.Context) error {
	if l.epoch == 0 {
		return nil
	}
	if epoch, err := l.last(ctx); err != nil || epoch != l.epoch {
		return err
	}
	l.length = 0
	return l.store.Write(ctx, leaseKey(l.epoch), l.file())
}

func (l *lease) file() []byte {
	data, err := json.Marshal(leaseFile{l.holder, l.now().Add(l.length).UTC()})
	if err != nil {
		panic("BUG(steps): " + err.Error())
	}
	return data
}

func (l *lease) read(ctx context.Context, epoch int) (file leaseFile, err error) {
	data, err := l.store.Read(ctx, leaseKey(epoch), 4<<10)
	if err != nil {
		return file, err
	}
	if err := json.Unmarshal(data, &file); err != nil {
		// Whoever wrote it, it must not stop the registry for ever.
		return leaseFile{}, nil
	}
	return file, nil
}

func (l *lease) last(ctx context.Context) (epoch int, err error) {
	err = l.store.List(ctx, leasePrefix, func(key string, _ time.Time) error {
		if n, ok := number(key, leasePrefix, ".json"); ok {
			epoch = max(epoch, n)
		}
		return nil
	})
	return epoch, err
}

func leaseKey(epoch int) string { return fmt.Sprintf("%s%010d.json", leasePrefix, epoch) }

// number reads the number in a key that is prefix, ten digits, suffix.
func number(key, prefix, suffix string) (int, bool) {
	digits, ok := strings.CutPrefix(key, prefix)
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, suffix)
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n > 0 && len(digits) == 10
}
