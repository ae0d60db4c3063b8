package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"steps.example/interp"
	"steps.example/interp/broker"
	"steps.example/interp/commit"
)

// sudoPaths are where sudo is looked for. What the user's PATH has first is not asked.
var sudoPaths = []string{"/usr/bin/sudo", "/run/wrappers/bin/sudo"}

// brokerFlags say how steps are done that need root.
type brokerFlags struct{ how string }

func (f *brokerFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.how, "broker", "auto", "how to do steps that need root, `auto|off`: through steps broker, where that is set up, or not at all")
}

// choose tells job whether a broker does what needs root, and gives it.
func (f *brokerFlags) choose(s *subject, job *interp.Job) (interp.Broker, error) {
	if f.how != "auto" && f.how != "off" {
		return nil, usagef("--broker %s: must be auto or off", f.how)
	}
	if os.Geteuid() == 0 {
		return nil, nil
	}
	command, err := brokerCommand()
	switch {
	case f.how == "off":
		job.NoBroker = "you said --broker off"
	case err != nil:
		job.NoBroker = err.Error()
	case s.verified == nil || s.verified.PURL == "":
		job.NoBroker = "it takes signed bundles only"
	default:
		job.Broker = true
		return &broker.Client{Start: command.start, Vouch: broker.Hello{
			Bundles: append([][]byte{s.source}, s.flags.cosigned...), DocumentSHA256: s.provenance.DocumentSHA256,
			ArtifactSHA256: s.flags.artifactSum, PURL: s.flags.purl, Registry: s.flags.registry, PackageID: s.flags.packageID,
		}}, nil
	}
	return nil, nil
}

// command starts a broker.
type command []string

func (c command) start(ctx context.Context) (*broker.Conn, error) {
	return startBroker(ctx, c[0], c[1:]...)
}

// brokerCommand is how this user gets a broker, or why he does not.
func brokerCommand() (command, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		return command{self, verbBroker.use}, nil
	}
	i := slices.IndexFunc(sudoPaths, trustedProgram)
	if i < 0 {
		return nil, fmt.Errorf("sudo is not there (%s)", strings.Join(sudoPaths, ", "))
	}
	if _, err := os.Stat(filepath.Join(brokerConfigDir, brokerFile)); errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("it is not set up on this machine: steps broker --help says how an administrator does that")
	}
	out := command{sudoPaths[i], "-n"}
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		tty.Close()
		out = out[:1] // sudo may ask there
	}
	return append(out, "--", self, verbBroker.use), nil
}

// trustedProgram reports whether a program is there, and only root can have put it there.
func trustedProgram(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Uid == 0 && st.Mode&0o022 == 0
}

// brokerPart is the broker's transaction that a receipt goes with; ok is false where none
// does.
func brokerPart(r *commit.Receipt) (p commit.Partner, ok bool) {
	id, ok := r.Meta[interp.MetaBrokerReceipt]
	return commit.Partner{ID: r.ID, Store: r.Meta[interp.MetaBrokerStore], Transaction: id}, ok
}

// askBroker asks a broker about one transaction.
func askBroker(ctx context.Context, p commit.Partner, ask func(*broker.About) *broker.Request) (*broker.Answer, error) {
	fail := func(err error) error {
		return fmt.Errorf("a broker has a part in %s, its %s in %s, and must be asked: %w", p.ID, p.Transaction, p.Store, err)
	}
	command, err := brokerCommand()
	if err != nil {
		return nil, fail(err)
	}
	conn, err := command.start(ctx)
	if err != nil {
		return nil, fail(err)
	}
	a, err := conn.Ask(ask(&broker.About{Version: broker.Version, Receipt: p.Transaction, Transaction: p.ID}))
	// What the broker answered counts, however it ended.
	if end := conn.Close(); err != nil {
		if !is[*broker.Failure](err) {
			err = errors.Join(err, end)
		}
		return nil, fail(err)
	}
	return a, nil
}

// undoPart has the broker take back its part in what receipts did, the newest first.
func undoPart(ctx context.Context, t *terminal, receipts ...*commit.Receipt) error {
	for _, r := range slices.Backward(receipts) {
		p, ok := brokerPart(r)
		if !ok {
			continue
		}
		a, err := askBroker(ctx, p, func(about *broker.About) *broker.Request { return &broker.Request{Undo: about} })
		if err != nil {
			return err
		}
		if !a.Gone {
			t.talk("the broker took back its part in %s", r.ID)
		}
	}
	return nil
}

// settleByBroker has the broker take back its part in a transaction that was interrupted
// before it was committed here.
func settleByBroker(ctx context.Context, t *terminal) func(commit.Partner) error {
	return func(p commit.Partner) error {
		a, err := askBroker(ctx, p, func(about *broker.About) *broker.Request { return &broker.Request{Settle: about} })
		if err != nil {
			return &exitError{code: exitRecover, err: fmt.Errorf(
				"%w\nnothing here is applied or recovered before that: once sudo and the broker can be used again, run steps recover; or let an administrator look at that transaction", err)}
		}
		if !a.Gone {
			t.talk("the broker took back its part in %s", p.ID)
		}
		return nil
	}
}

// verifyPart is what the broker says about its part in a receipt; nil where it has none.
func verifyPart(ctx context.Context, r *commit.Receipt) (*broker.Answer, error) {
	p, ok := brokerPart(r)
	if !ok {
		return nil, nil
	}
	return askBroker(ctx, p, func(about *broker.About) *broker.Request { return &broker.Request{Verify: about} })
}

// brokerCode is the exit code for what a broker said.
func brokerCode(f *broker.Failure) int {
	switch f.Kind {
	case broker.KindRefused:
		return exitRefused
	case broker.KindTrust:
		return exitTrust
	case broker.KindDrift:
		return exitMoved
	case broker.KindLocked:
		return exitLocked
	case broker.KindRecover:
		return exitRecover
	}
	return exitFailed
}

// wholeHere refuses a verb that cannot reach what a broker did.
func wholeHere(inst *interp.Installation, verb string) error {
	for _, r := range inst.Receipts {
		if p, ok := brokerPart(r); ok {
			return &exitError{code: exitRefused, err: fmt.Errorf(
				"a broker has a part in %s %s (%s), and %s does not reach it: uninstall the package, and apply it anew",
				inst.Package.Name, inst.Package.Version, p.Transaction, verb)}
		}
	}
	return nil
}

// undoAbove has the broker take back its part in r, if the rest can be taken back after
// it: what the broker changed is not looked at here.
func undoAbove(ctx context.Context, t *terminal, store *commit.Store, r *commit.Receipt, force bool) error {
	if err := interp.CheckPartners(store); err != nil {
		return err
	}
	theirs, err := verifyPart(ctx, r)
	if err != nil || theirs == nil {
		return err
	}
	drifts, err := store.Verify(r)
	if err != nil {
		return err
	}
	drifts = slices.DeleteFunc(drifts, func(d commit.Drift) bool { return slices.Contains(theirs.Paths, d.Path) })
	if len(drifts) > 0 && !force {
		return &commit.DriftError{ID: r.ID, Drifts: drifts}
	}
	return undoPart(ctx, t, r)
}

// verifyAbove adds what the broker finds of its parts in receipts: it has the last word
// on its paths.
func verifyAbove(ctx context.Context, t *terminal, found *interp.Verified, receipts ...*commit.Receipt) error {
	for _, r := range receipts {
		theirs, err := verifyPart(ctx, r)
		switch {
		case err != nil:
			return err
		case theirs == nil:
			continue
		case theirs.Gone:
			t.talk("the broker's part in %s was taken back", r.ID)
			continue
		}
		found.Drifts = slices.DeleteFunc(found.Drifts, func(d interp.Drifted) bool { return slices.Contains(theirs.Paths, d.Path) })
		for _, d := range theirs.Drifts {
			found.Drifts = append(found.Drifts, interp.Drifted{Receipt: r.ID, Drift: d})
		}
		found.Receipts++
		found.Paths += len(theirs.Paths)
	}
	return nil
}
