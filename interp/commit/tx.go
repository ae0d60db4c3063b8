package commit

import (
	"errors"
	"fmt"
	"time"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// Options change how a transaction works.
type Options struct {
	// NoSync leaves out everything that makes it safe against power failure. It
	// is still safe against the death of the process. For tests and measuring.
	NoSync bool
	// Done, once closed, ends the transaction at its next call or in the middle
	// of one: all is taken back, and the error matches [context.Canceled]. From the
	// commit record on it has no say, nor in a rollback.
	Done <-chan struct{}
	// For is the verb that the transaction is for, in lower-case letters, which a
	// [*LockedError] of others tells.
	For string
}

// Tx is an open transaction. It holds the store's lock until Commit or Rollback.
// After an error from any other of its methods, but [ErrNoLayers], it is over: everything
// was taken back, or the error matches [ErrBlocked] as well and the transaction
// waits for [Store.Recover]. A Tx is for one goroutine.
type Tx struct {
	w    *work
	done bool
	nets []*changeset.Changeset
}

var errDone = errors.New("the transaction is over")

// Begin locks the store and starts a transaction on the roots of set, which
// must stay open until its end. It fails with a [*LockedError] where another
// process holds the lock, and with an [*InterruptedError] where an unfinished
// transaction must be recovered first.
func (s *Store) Begin(set *fsroot.Set, o Options) (*Tx, error) {
	if err := s.acquire(o.For); err != nil {
		return nil, err
	}
	tx, err := s.begin(set, o)
	if err != nil {
		s.unlock()
	}
	return tx, err
}

func (s *Store) begin(set *fsroot.Set, o Options) (*Tx, error) {
	pending, err := s.Pending()
	if err != nil {
		return nil, err
	}
	if len(pending) > 0 {
		return nil, &InterruptedError{Pending: pending}
	}
	if err := s.emptyTrash(); err != nil {
		return nil, err
	}
	id, err := s.freshID()
	if err != nil {
		return nil, err
	}
	w, err := s.create(set, id, !o.NoSync)
	if err != nil {
		return nil, err
	}
	w.done = o.Done
	return &Tx{w: w}, nil
}

// freshID is an id after all those of the store.
func (s *Store) freshID() (string, error) {
	now := time.Now()
	for _, dir := range []string{receiptsDir, keptDir} {
		ids, err := s.ids(dir)
		if err != nil {
			return "", err
		}
		if len(ids) == 0 {
			continue
		}
		if last, err := time.Parse("20060102T150405.000000000Z", ids[len(ids)-1]); err == nil && !last.Before(now) {
			now = last.Add(1)
		}
	}
	return newID(now), nil
}

// Over reports whether the transaction has ended, be it by an error of its own.
func (tx *Tx) Over() bool { return tx.done }

// ID names the transaction, and later its receipt.
func (tx *Tx) ID() string { return tx.w.id }

// Apply makes a changeset real. Owners of what it creates, and content hashes and
// sizes of files, are stored in cs. What was captured is applied before anything else is
// watched. On an error the whole transaction is taken back,
// earlier calls included.
func (tx *Tx) Apply(cs *changeset.Changeset) error {
	if tx.done {
		return errDone
	}
	if cs.Empty() {
		return nil
	}
	if err := tx.apply(cs); err != nil {
		return tx.fail(err)
	}
	tx.nets = append(tx.nets, cs)
	return nil
}

func (tx *Tx) apply(cs *changeset.Changeset) error {
	w := tx.w
	if err := w.idle(); err != nil {
		return err
	}
	p, err := newPlan(cs)
	if err != nil {
		return err
	}
	w.set.Forget("/")
	if err := w.inspect(p); err != nil {
		return err
	}
	if err := w.stage(p); err != nil {
		return err
	}
	g := p.build()
	if err := w.logProgram(g); err != nil {
		return err
	}
	if err := w.begin(applied, g.ops); err != nil {
		return err
	}
	return w.carryOut(p, g)
}

// Commit makes the transaction final and durable, and stores r as its receipt.
// It sets r's ID, Time if zero, Roots, and Changeset if nil: the net of all that
// was applied and captured. The transaction's end is its return: a crash
// before that may lead either way, but never half.
func (tx *Tx) Commit(r *Receipt) (string, error) {
	if tx.done {
		return "", errDone
	}
	recorded, err := tx.commit(r)
	if err != nil && !recorded {
		return "", tx.fail(err)
	}
	err = tx.w.unended("everything was changed", err)
	tx.end()
	return r.ID, err
}

// commit tells whether the commit record may have reached the disk: then there
// is no way back, and recovery completes what is left.
func (tx *Tx) commit(r *Receipt) (recorded bool, err error) {
	w := tx.w
	if err := w.idle(); err != nil {
		return false, err
	}
	r.Version, r.ID, r.Roots = receiptVersion, w.id, w.roots
	if r.Time.IsZero() {
		r.Time = time.Now().UTC().Truncate(time.Second)
	}
	if r.Changeset == nil {
		r.Changeset = net(tx.nets, false)
	}
	if r.Keep != nil {
		if r.Stored, err = w.writeDocument(r.Keep); err != nil {
			return false, err
		}
	}
	if len(r.Triggers)+len(r.Settles) > 0 {
		if err := w.writePrivate(triggersName, nil); err != nil {
			return false, fmt.Errorf("write %s: %w", w.path(triggersName), err)
		}
	}
	data, err := encodeReceipt(r, maxReceipt)
	if err != nil {
		return false, err
	}
	if err := w.writePrivate(receiptName, data); err != nil {
		return false, fmt.Errorf("write %s: %w", w.path(receiptName), err)
	}
	if err := w.stopped(); err != nil {
		return false, err
	}
	if err := w.log.add(func(e enc) enc { return append(e, recCommit).s(hashHex(data)) }); err != nil {
		return false, err
	}
	if err := w.record(); err != nil {
		return false, err
	}
	if err := w.durable(); err != nil {
		return true, err
	}
	w.state = stateCommitted
	return true, w.settle()
}

// Rollback takes back everything that the transaction did. After Commit or an
// earlier Rollback it does nothing. Where something stands in the way, that is
// left alone and a [*BlockedError] lists it; the rest is taken back.
func (tx *Tx) Rollback() error {
	if tx.done {
		return nil
	}
	defer tx.end()
	tx.w.done = nil
	return tx.w.rollBack()
}

func (tx *Tx) end() {
	tx.done = true
	tx.w.set.Forget("/")
	tx.w.close()
	tx.w.store.unlock()
}
