package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"steps.example/interp"
)

// Conn is a connection to a broker.
type Conn struct {
	in  *bufio.Reader
	out io.WriteCloser
	end func() error
}

// NewConn speaks with a broker that is there: it reads answers from in and writes
// requests to out. end waits for it after out is closed; nil for nothing.
func NewConn(in io.Reader, out io.WriteCloser, end func() error) *Conn {
	return &Conn{bufio.NewReader(in), out, end}
}

// Close ends the connection; what is not committed is taken back.
func (c *Conn) Close() error {
	err := c.out.Close()
	if c.end != nil {
		_, _ = io.Copy(io.Discard, c.in)
		err = errors.Join(err, c.end())
	}
	return err
}

// Ask sends a request and gives the answer. A [*Failure] is the broker's word; any other
// error means that nobody knows what became of it.
func (c *Conn) Ask(r *Request) (*Answer, error) {
	if err := write(c.out, r); err != nil {
		return nil, c.lost(err)
	}
	line, err := readLine(c.in, MaxAnswer)
	if err != nil {
		return nil, c.lost(err)
	}
	a := &Answer{}
	if err := decode(line, a); err != nil {
		return nil, fmt.Errorf("the broker's answer cannot be read: %w", err)
	}
	if a.Error != nil {
		return nil, a.Error
	}
	return a, nil
}

func (c *Conn) lost(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || isA[*os.PathError](err) {
		err = errors.New("it, or sudo, ended without an answer")
	}
	return fmt.Errorf("the broker cannot be asked: %w", err)
}

// Client has a broker do steps, for [interp.ApplyOptions].
type Client struct {
	// Start connects to a broker.
	Start func(context.Context) (*Conn, error)
	// Vouch are the bundles, digests and names of the document.
	Vouch Hello
}

// Begin implements [interp.Broker].
func (c *Client) Begin(ctx context.Context, r interp.PrivilegedRequest) (interp.PrivilegedTx, error) {
	h, t := c.Vouch, r.Job.Target
	h.Version, h.Steps, h.Plan, h.Store, h.Transaction = Version, r.Steps, r.Digest, r.Store, r.Transaction
	h.Target = Target{
		Phases: r.Job.Phases, Version: t.Version, OS: t.OS, Dirs: t.Dirs, Umask: t.Umask,
		Approved: t.Approved, ProtectedNames: t.ProtectedNames,
	}
	conn, err := c.Start(ctx)
	if err != nil {
		return nil, err
	}
	a, err := conn.Ask(&Request{Hello: &h})
	if err != nil {
		_ = conn.Close() // says no more than err
		return nil, err
	}
	return &clientTx{conn: conn, store: a.Store, id: a.Transaction}, nil
}

type clientTx struct {
	conn      *Conn
	store, id string
	over      bool // what is there was taken back
}

func (t *clientTx) ID() (string, string) { return t.store, t.id }

func (t *clientTx) Do(step int) error {
	_, err := t.conn.Ask(&Request{Do: step})
	if refused, ok := errors.AsType[*Failure](err); ok {
		t.over = refused.Kind != KindRecover
	}
	return err
}

func (t *clientTx) Commit() error {
	_, err := t.conn.Ask(&Request{Commit: true})
	return err
}

// Abort is done already where the broker did not do a step: it took back all of them.
func (t *clientTx) Abort() error {
	if t.over {
		return nil
	}
	_, err := t.conn.Ask(&Request{Abort: true})
	return err
}

func (t *clientTx) Close() { _ = t.conn.Close() }
