package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

// Keeper decides, for root, about what a caller asks.
type Keeper interface {
	// Admit verifies what a hello says by root's policy. What is not in the errand
	// that it gives is not believed. Receipt is for the receipt, and accepted is
	// called when all is committed.
	Admit(ctx context.Context, h *Hello) (errand interp.Errand, receipt commit.Receipt, accepted func() error, err error)
	// Store is where the transactions for the caller are.
	Store() (*commit.Store, error)
	// Within are the directories, physical, that may be changed.
	Within() []string
	// Kind gives the [Failure.Kind] of an error; "" for the broker's own choice.
	Kind(err error) string
}

// The names in the Meta of a broker's receipt for the transaction that it went with.
const (
	MetaStore       = "user_store"
	MetaTransaction = "user_transaction"
)

// Serve answers the requests of one caller until their end. It returns an error where
// the connection or a request is not as it should be, or something could not be done or
// taken back; the caller was told.
func Serve(ctx context.Context, in io.Reader, out io.Writer, k Keeper) error {
	s := &session{ctx: ctx, in: bufio.NewReaderSize(in, MaxRequest), out: out, keeper: k}
	first, err := s.next(MaxHello)
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return s.fail(err)
	}
	store, err := k.Store()
	if err != nil {
		return s.fail(err)
	}
	defer store.Close()
	switch {
	case first.Hello != nil:
		return s.transaction(store, first.Hello)
	case first.Undo != nil:
		return s.answer(s.undo(store, first.Undo))
	case first.Settle != nil:
		return s.answer(s.undo(store, first.Settle))
	case first.Verify != nil:
		return s.verify(store, first.Verify)
	}
	return s.fail(errors.New("the first request must say what it is about"))
}

// session is one caller's connection.
type session struct {
	ctx    context.Context
	in     *bufio.Reader
	out    io.Writer
	keeper Keeper
}

func (s *session) next(max int) (*Request, error) {
	line, err := readLine(s.in, max)
	if err == errTooLong {
		return nil, fmt.Errorf("the request has more than %d bytes", max)
	}
	if err != nil {
		return nil, err
	}
	return decodeRequest(line)
}

// fail tells the caller, and gives err.
func (s *session) fail(err error) error {
	kind := s.keeper.Kind(err)
	if kind == "" {
		switch {
		case isA[*interp.RefusedError](err), isA[*interp.NeedError](err):
			kind = KindRefused
		case errors.Is(err, commit.ErrDrift), errors.Is(err, commit.ErrMoved), errors.Is(err, interp.ErrPlanMoved):
			kind = KindDrift
		case errors.Is(err, commit.ErrLocked):
			kind = KindLocked
		case errors.Is(err, commit.ErrBlocked), errors.Is(err, commit.ErrInterrupted):
			kind = KindRecover
		default:
			kind = KindFailed
		}
	}
	text := err.Error()
	if len(text) > MaxRequest {
		text = text[:MaxRequest] + " ..."
	}
	return errors.Join(err, write(s.out, Answer{Error: &Failure{kind, text}}))
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func (s *session) answer(a Answer, err error) error {
	if err != nil {
		return s.fail(err)
	}
	return write(s.out, a)
}

// transaction does what a hello is about.
func (s *session) transaction(store *commit.Store, h *Hello) error {
	// What an earlier broker could not end was not committed, or is.
	if err := clean(store); err != nil {
		return s.fail(err)
	}
	errand, receipt, accepted, err := s.keeper.Admit(s.ctx, h)
	if err != nil {
		return s.fail(err)
	}
	errand.Steps, errand.Store, errand.Within = h.Steps, store, s.keeper.Within()
	tx, err := interp.Elevate(s.ctx, errand)
	if err != nil {
		return s.fail(err)
	}
	if tx.Digest() != h.Plan {
		return errors.Join(s.fail(interp.ErrPlanMoved), tx.Abort())
	}
	if err := s.answer(Answer{Store: store.Path(), Transaction: tx.ID()}, nil); err != nil {
		return errors.Join(err, tx.Abort())
	}
	for {
		r, err := s.next(MaxRequest)
		switch {
		case err == io.EOF:
			return tx.Abort()
		case err == nil && r.Do > 0:
			err = tx.Do(s.ctx, r.Do)
		case err == nil && r.Abort:
			return s.answer(Answer{}, tx.Abort())
		case err == nil && r.Commit:
			if receipt.Meta == nil {
				receipt.Meta = map[string]string{}
			}
			receipt.Meta[MetaStore], receipt.Meta[MetaTransaction] = h.Store, h.Transaction
			if err := tx.Commit(&receipt); err != nil {
				return s.fail(err)
			}
			if err := accepted(); err != nil {
				return errors.Join(s.fail(err), s.committed(store, receipt.ID))
			}
			return errors.Join(write(s.out, Answer{}), s.committed(store, receipt.ID))
		case err == nil:
			err = errors.New("the request is out of turn")
		}
		if err != nil {
			return errors.Join(s.fail(err), tx.Abort())
		}
		if err := write(s.out, Answer{}); err != nil {
			return errors.Join(err, tx.Abort())
		}
	}
}

// committed waits for the end, or for the caller who could not do his part.
func (s *session) committed(store *commit.Store, id string) error {
	r, err := s.next(MaxRequest)
	switch {
	case err == io.EOF:
		return nil
	case err == nil && r.Abort:
		return s.answer(Answer{}, store.Undo(id))
	case err == nil:
		err = errors.New("the request is out of turn")
	}
	return s.fail(err)
}

// clean brings to their end what brokers before this one left open.
func clean(store *commit.Store) error {
	pending, err := store.Pending()
	if err != nil || len(pending) == 0 {
		return err
	}
	_, err = store.Recover(commit.RecoverOptions{})
	return err
}

// find reads the receipt that went with a transaction of the caller; nil where there is
// none.
func (s *session) find(store *commit.Store, a *About) (*commit.Receipt, error) {
	if err := clean(store); err != nil {
		return nil, err
	}
	r, err := store.Receipt(a.Receipt)
	switch {
	case errors.Is(err, commit.ErrNoReceipt):
		return nil, nil
	case err != nil:
		return nil, err
	case r.Meta[MetaTransaction] != a.Transaction:
		return nil, fmt.Errorf("the receipt %s does not go with the transaction %s", a.Receipt, a.Transaction)
	}
	// What the configuration allowed then it may not allow now.
	for i := range r.Changeset.Changes {
		path := r.Changeset.Changes[i].Path
		if !slices.ContainsFunc(s.keeper.Within(), func(dir string) bool { return changeset.Within(path, dir) }) {
			return nil, fmt.Errorf("%s is outside the directories that the broker's configuration allows", changeset.Printable(path))
		}
	}
	return r, nil
}

func (s *session) undo(store *commit.Store, a *About) (Answer, error) {
	r, err := s.find(store, a)
	if err != nil || r == nil {
		return Answer{Gone: true}, err
	}
	return Answer{}, store.Undo(r.ID)
}

func (s *session) verify(store *commit.Store, a *About) error {
	r, err := s.find(store, a)
	if err != nil || r == nil {
		return s.answer(Answer{Gone: true}, err)
	}
	drifts, err := store.Verify(r)
	answer := Answer{Drifts: drifts}
	for i := range r.Changeset.Changes {
		answer.Paths = append(answer.Paths, r.Changeset.Changes[i].Path)
	}
	return s.answer(answer, err)
}
