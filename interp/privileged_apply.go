package interp

import (
	"context"
	"errors"
	"fmt"

	"steps.example/interp/commit"
	"steps.example/interp/internal/fsroot"
)

// Broker does steps that need root, in transactions of its own. It believes nothing
// of what it is asked, see package broker.
type Broker interface {
	// Begin opens a transaction for the steps of a request, or says why they are not
	// done. Nothing is changed yet.
	Begin(ctx context.Context, r PrivilegedRequest) (PrivilegedTx, error)
}

// PrivilegedRequest asks for steps to be done.
type PrivilegedRequest struct {
	Job   Job
	Steps []int
	// Digest is of what the steps are to do.
	Digest string
	// Store and Transaction are the asking side's.
	Store, Transaction string
}

// PrivilegedTx is a transaction of a broker.
type PrivilegedTx interface {
	// ID tells the broker's store and the transaction, later its receipt.
	ID() (store, transaction string)
	// Do does the next step.
	Do(step int) error
	Commit() error
	// Abort takes everything back, also after Commit.
	Abort() error
	// Close ends it; what is not committed is taken back.
	Close()
}

// The names in a receipt's Meta of the broker's receipt that goes with it.
const (
	MetaBrokerStore   = "broker_store"
	MetaBrokerReceipt = "broker_receipt"
)

// planRest plans the only job of w once more, without what needs root, which it leaves
// out from now on.
func planRest(ctx context.Context, envs []*environment, w *work, host Host, set *fsroot.Set, whole *Plan) (*Plan, error) {
	job := &w.jobs[0]
	job.Broker, job.skip = false, map[int]bool{}
	for _, step := range whole.Privileged {
		job.skip[step.Step] = true
	}
	rest, err := makePlan(ctx, envs, w.jobs, host, set)
	if err != nil {
		return nil, err
	}
	if len(rest.Refused) > 0 {
		return nil, &RefusedError{Refusals: rest.Refused}
	}
	whole.settled = rest.settled
	return rest, nil
}

// ascent is the part of an apply that a broker does. It is nil where there is none.
type ascent struct {
	store *commit.Store
	id    string // of the transaction here
	tx    PrivilegedTx
}

// ascend has the broker do what of a job needs root, after all the rest is done.
func (x *executor) ascend(ctx context.Context, env *environment, job Job, list []Privileged, opt ApplyOptions) (_ *ascent, err error) {
	if opt.Broker == nil {
		return nil, errors.New("BUG(steps): a job with a broker was applied without one")
	}
	asked := numbers(list)
	x.set.Forget("/")
	alone, err := newEnvironment(PrivilegedTarget(job.Target))
	if err != nil {
		return nil, err
	}
	alone.claims.ledger = env.claims.ledger
	cs, err := inTurn(ctx, alone, job, forCaller{x.host, self()}, x.set, only(asked))
	if err != nil || cs.Empty() {
		return nil, err
	}
	tx, err := opt.Broker.Begin(ctx, PrivilegedRequest{
		Job: job, Steps: asked, Digest: cs.Digest(), Store: opt.Store.Path(), Transaction: x.tx.ID(),
	})
	if err != nil {
		return nil, fmt.Errorf("the broker for steps that need root: %w", err)
	}
	a := &ascent{opt.Store, x.tx.ID(), tx}
	theirs, id := tx.ID()
	if err := opt.Store.NotePartner(commit.Partner{ID: a.id, Store: theirs, Transaction: id}); err != nil {
		tx.Close()
		return nil, err
	}
	for _, step := range asked {
		if err := tx.Do(step); err != nil {
			return nil, errors.Join(fmt.Errorf("%s, by the broker: %w", job.Place(step), err), a.end())
		}
	}
	return a, nil
}

// commit commits what the broker did, before the rest is.
func (a *ascent) commit(r *commit.Receipt) error {
	if a == nil {
		return nil
	}
	if err := a.tx.Commit(); err != nil {
		return fmt.Errorf("the broker for steps that need root: %w", err)
	}
	if r.Meta == nil {
		r.Meta = map[string]string{}
	}
	r.Meta[MetaBrokerStore], r.Meta[MetaBrokerReceipt] = a.tx.ID()
	return nil
}

// end brings the broker's part to the end that the part here has: committed, or else
// taken back. Where that fails the note of it stays, for recovery.
func (a *ascent) end() error {
	if a == nil {
		return nil
	}
	defer a.tx.Close()
	err := settlePartner(a.store, a.id, a.tx.Abort)
	if err != nil {
		store, theirs := a.tx.ID()
		return fmt.Errorf("%w: %w", &PartnerError{commit.Partner{ID: a.id, Store: store, Transaction: theirs}}, err)
	}
	return nil
}

// PartnerError says that a broker's transaction must be brought to its end first.
type PartnerError struct{ Partner commit.Partner }

func (e *PartnerError) Error() string {
	return fmt.Sprintf("transaction %s was interrupted while a broker did its part (%s in %s)", e.Partner.ID, e.Partner.Transaction, e.Partner.Store)
}

// Is makes it a [commit.ErrInterrupted].
func (e *PartnerError) Is(target error) bool { return target == commit.ErrInterrupted }

// CheckPartners insists that no broker's transaction waits for its end, and forgets those
// that are at it. It is for who holds the store's lock, or is about to.
func CheckPartners(store *commit.Store) error {
	return SettlePartners(store, func(p commit.Partner) error { return &PartnerError{p} })
}

// Recover brings interrupted transactions to their end as [commit.Store.Recover] does,
// and what brokers did for them: before that, since it was done on top, settle takes back
// each broker's transaction that goes with one that is to be taken back. An error of
// settle ends it.
func Recover(store *commit.Store, o commit.RecoverOptions, settle func(commit.Partner) error) ([]commit.Recovered, error) {
	if err := SettlePartners(store, settle); err != nil {
		return nil, err
	}
	done, err := store.Recover(o)
	if err == nil {
		err = SettlePartners(store, settle)
	}
	return done, err
}

// SettlePartners calls settle for each broker's transaction that goes with one that is
// not committed here, and forgets all that are then at their end. An error of settle
// ends it.
func SettlePartners(store *commit.Store, settle func(commit.Partner) error) error {
	list, err := store.Partners()
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := settlePartner(store, p.ID, func() error { return settle(p) }); err != nil {
			return err
		}
	}
	return nil
}

func settlePartner(store *commit.Store, id string, settle func() error) error {
	standing, err := store.Standing(id)
	switch {
	case err != nil:
		return err
	case standing == commit.Committing: // that may still be lost, and then the note is needed
		return nil
	case standing == commit.Unmade:
		if err := settle(); err != nil {
			return err
		}
	}
	return store.ForgetPartner(id)
}
