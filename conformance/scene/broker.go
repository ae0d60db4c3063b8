package scene

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"golang.org/x/sys/unix"

	"steps.example/interp"
	"steps.example/interp/broker"
	"steps.example/interp/commit"
)

// broker is the broker's store, with its calls shown to Watch; nil where the scene has
// no broker.
func (w *World) broker() (*commit.Store, error) {
	if !w.Broker {
		return nil, nil
	}
	store, err := commit.OpenStore(w.Theirs)
	if err == nil && w.Watch != nil {
		store.Intercept(w.Watch)
	}
	return store, err
}

// Recover recovers as the command does, the broker's part included.
func (w *World) Recover(store *commit.Store) error {
	_, err := interp.Recover(store, commit.RecoverOptions{}, func(p commit.Partner) error {
		conn := w.converse(context.Background(), interp.Job{})
		_, err := conn.Ask(&broker.Request{Settle: &broker.About{Version: broker.Version, Receipt: p.Transaction, Transaction: p.ID}})
		return errors.Join(err, conn.Close())
	})
	if err != nil || !w.Broker {
		return err
	}
	// The next broker does that, before anything else.
	theirs, err := w.broker()
	if err == nil {
		defer theirs.Close()
		_, err = theirs.Recover(commit.RecoverOptions{})
	}
	return err
}

// Undo takes back what a receipt tells of, as the command does: first the broker's part.
func (w *World) Undo(store *commit.Store, r *commit.Receipt) error {
	if id := r.Meta[interp.MetaBrokerReceipt]; id != "" {
		conn := w.converse(context.Background(), interp.Job{})
		_, err := conn.Ask(&broker.Request{Undo: &broker.About{Version: broker.Version, Receipt: id, Transaction: r.ID}})
		if err = errors.Join(err, conn.Close()); err != nil {
			return err
		}
	}
	return store.Undo(r.ID)
}

// Agree says where the broker's store is not at the same end as the user's: with a
// receipt for each of its receipts and nothing more.
func (w *World) Agree(store *commit.Store) error {
	theirs, err := w.broker()
	if theirs == nil {
		return err
	}
	defer theirs.Close()
	pending, err := theirs.Pending()
	if err != nil {
		return err
	}
	parts, err := theirs.Receipts()
	if err != nil {
		return err
	}
	all, err := store.Receipts()
	if err != nil {
		return err
	}
	notes, err := store.Partners()
	if err != nil {
		return err
	}
	if len(parts) != len(all) || len(pending) > 0 || len(notes) > 0 {
		return fmt.Errorf("the user's store has %d receipts and %d notes of a broker, whose has %d receipts and %d open transactions", len(all), len(notes), len(parts), len(pending))
	}
	return nil
}

// client has the broker's part of a job done in this process and in its turn, so that
// a suite can stop both sides at once.
func (w *World) client(job interp.Job) *broker.Client {
	return &broker.Client{
		Start: func(ctx context.Context) (*broker.Conn, error) { return w.converse(ctx, job), nil },
		Vouch: broker.Hello{Bundles: [][]byte{{}}},
	}
}

// user is a host where the process is a user, though it is root.
type user struct{ scripted }

func (user) Root() bool { return false }

// keeper admits a job as if it had been verified.
type keeper struct {
	w   *World
	job interp.Job
}

func (k keeper) Admit(context.Context, *broker.Hello) (interp.Errand, commit.Receipt, func() error, error) {
	caller := interp.Caller{UID: unix.Geteuid(), GID: unix.Getegid()}
	return interp.Errand{Job: k.job, Caller: caller, Host: scripted{w: k.w}}, commit.Receipt{}, func() error { return nil }, nil
}

func (k keeper) Store() (*commit.Store, error) { return k.w.broker() }
func (k keeper) Within() []string              { return []string{k.w.Root, k.w.Home} }
func (k keeper) Kind(error) string             { return "" }

// converse starts a broker that runs only while it is waited for.
func (w *World) converse(ctx context.Context, job interp.Job) *broker.Conn {
	l := &line{}
	l.run, l.stop = iter.Pull(func(wait func(struct{}) bool) {
		l.wait = wait
		_ = broker.Serve(ctx, serverEnd{l}, &l.answers, keeper{w, job})
	})
	w.hangUp = l.stop
	return broker.NewConn(clientEnd{l}, clientEnd{l}, func() error { l.stop(); return nil })
}

// line connects the two.
type line struct {
	requests, answers bytes.Buffer
	hungUp            bool
	wait              func(struct{}) bool
	run               func() (struct{}, bool)
	stop              func()
}

type serverEnd struct{ *line }

func (e serverEnd) Read(p []byte) (int, error) {
	for e.requests.Len() == 0 {
		if e.hungUp || !e.wait(struct{}{}) {
			return 0, io.EOF
		}
	}
	return e.requests.Read(p)
}

type clientEnd struct{ *line }

func (e clientEnd) Read(p []byte) (int, error) {
	for e.answers.Len() == 0 {
		if _, on := e.run(); !on && e.answers.Len() == 0 {
			return 0, io.EOF
		}
	}
	return e.answers.Read(p)
}

func (e clientEnd) Write(p []byte) (int, error) { return e.requests.Write(p) }

func (e clientEnd) Close() error {
	e.hungUp = true
	return nil
}
