package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

const uninstallLong = `Remove an installed package, all or nothing: what its document says about the
removal, then what its receipts made goes, and what they replaced, moved or
deleted comes back, if that was yours or is of another installed package. The
document is the one that it was installed with, as the store keeps it.

What another installed package uses, because it found it there as its own steps
would have made it, stays, is listed, and is that package's from then on. A
directory goes with the last package that has something to do with it.

A path that was changed since stays, and is listed with the reason; --purge
removes it all the same if the package made it. Directories that hold something
else stay, too. steps undo takes an uninstall back.

A file that was replaced, edited or deleted comes back as a copy, with the
content, mode, owner and time that it had, a directory or link as a new one.
What was moved is moved back, and what only got another mode or owner gets its
own again, as a copy if it has other names. A copy has none of the extended
attributes and access lists that the file had, and is no hard link: its other
names stay without it. A directory gets the present time. Sockets, FIFOs and
devices do not come back, and are listed.

The exact inverse is steps undo of each of the package's receipts, the newest
first, in the place of an uninstall or after undo of it. It puts back the very
objects, and does nothing of what the document says about the removal.

Caches that its steps rebuilt are rebuilt once more, so that they do not list it
any longer, if something is left in them and the tool for it is there; and with
them what was put off (see steps trigger). That is a transaction of its own: if
it fails, that is a warning, and the package is uninstalled.

With --force, steps of the removal that cannot be done are left out and listed,
for a package that is stuck. Nothing of what such a step did is left: all begins
again without it, so commands before it run once more. A step that only lacks
an approval is not left out.

EXAMPLES
  steps uninstall demo --prefix /opt/brew
  steps uninstall demo --version 1.0 --force --prefix /opt/brew

EXIT STATUS
  0 also if something stays or a cache could not be rebuilt; 1 if a step of the
  removal failed: nothing was changed; 2 if it is not installed; the others as
  in steps --help`

// actorFlags are what a verb on an installed package takes: all that is not known
// from its receipts.
type actorFlags struct {
	storeFlags
	host             hostFlags
	version, receipt string
	approve          []string
	// replace and keep are for a removal alone.
	replace, keep []string
}

func (f *actorFlags) add(flags *pflag.FlagSet) {
	f.storeFlags.add(flags)
	flags.StringVar(&f.version, "version", "", "the `VERSION`, where several are installed")
	flags.StringVar(&f.receipt, "receipt", "", "the one that the receipt with this `ID` is part of")
	flags.StringSliceVar(&f.approve, "approve", nil, "allow a `CAPABILITY`, beside what was allowed when it was installed; repeatable")
}

// now is who acts.
func (f *actorFlags) now() (interp.Target, error) {
	state, err := f.path()
	if err != nil {
		return interp.Target{}, err
	}
	choices := targetFlags{storeFlags: f.storeFlags, replace: f.replace, keep: f.keep}
	target := interp.Target{
		User: userName(), SearchPath: searchPath(), Umask: umask(), Approved: f.approve, Protected: []string{state},
		Dirs: map[string]string{"temp": state + ".temp"},
	}
	if target.Replace, _, target.Keep, err = choices.choices(); err != nil {
		return target, err
	}
	return target, makeTemp(target)
}

// find finds the package that is meant.
func (f *actorFlags) find(store *commit.Store, name string) (*interp.Installation, error) {
	if f.receipt == "" {
		i, err := interp.Find(store, name, f.version)
		return i, notInstalled(err, "--version", "steps status lists what is")
	}
	if f.version != "" {
		return nil, usagef("--receipt and --version do not go together")
	}
	receipts, err := store.Receipts()
	if err != nil {
		return nil, err
	}
	for _, i := range interp.Installed(receipts) {
		if i.Package.Name == name && slices.ContainsFunc(i.Receipts, func(r *commit.Receipt) bool { return r.ID == f.receipt }) {
			return i, nil
		}
	}
	return nil, usagef("no installed version of %s has the receipt %s; steps status lists them", name, f.receipt)
}

func newUninstall(t *terminal) *cobra.Command {
	var who actorFlags
	var how interp.RemoveOptions
	cmd := &cobra.Command{
		Use: "uninstall NAME", Short: "Remove an installed package", Long: uninstallLong, GroupID: "apply", Args: exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runUninstall(cmd.Context(), t, &who, args[0], how)
		},
	}
	who.add(cmd.Flags())
	who.host.add(cmd.Flags())
	who.host.captureFlag(cmd.Flags())
	cmd.Flags().StringArrayVar(&who.replace, "replace", nil, "let steps of the removal take the `PATH` that belongs to you or to another package; repeatable, and * ? [] count")
	cmd.Flags().StringArrayVar(&who.keep, "keep", nil, "leave the `PATH` of the package alone; repeatable, as with --replace")
	cmd.Flags().BoolVar(&how.Force, "force", false, forceUsage)
	cmd.Flags().BoolVar(&how.Purge, "purge", false, "remove what the package made also where it was changed since")
	return cmd
}

func runUninstall(ctx context.Context, t *terminal, who *actorFlags, name string, how interp.RemoveOptions) error {
	capture, err := who.host.mode()
	if err != nil {
		return err
	}
	store, err := who.open()
	if err != nil {
		return err
	}
	defer store.Close()
	inst, err := who.find(store, name)
	if err != nil {
		return err
	}
	now, err := who.now()
	if err != nil {
		return err
	}
	if err := interp.CheckPartners(store); err != nil {
		return err
	}
	if err := undoPart(ctx, t, inst.Receipts...); err != nil {
		return err
	}
	done, err := inst.Remove(ctx, now, who.host.machine(), interp.ApplyOptions{Store: store, Capture: capture}, how)
	if err != nil {
		return unlessForced(refusals(t, err), done != nil && done.Stuck, how.Force)
	}
	warnings(t, &done.Applied)
	if err := saySkipped(t, done.Skipped); err != nil {
		return err
	}
	if err := sayLeft(t, done.Left); err != nil {
		return err
	}
	if t.json {
		if err := t.object("uninstalled", map[string]any{
			"package": inst.Package.Name, "version": inst.Package.Version, "receipt": done.Receipt.ID,
			"changes": len(done.Receipt.Changeset.Changes), "left": len(done.Left), "skipped": len(done.Skipped),
		}); err != nil {
			return err
		}
	}
	t.say("%s %s is uninstalled: %d path(s) changed, %d left", inst.Package.Name, inst.Package.Version, len(done.Receipt.Changeset.Changes), len(done.Left))
	t.say("receipt %s", done.Receipt.ID)
	return triggersAfter(ctx, t, store, withoutApprovals(now), who.host)
}

func sayLeft(t *terminal, left []interp.Left) error {
	for _, l := range left {
		if t.json {
			if err := t.object("left", l); err != nil {
				return err
			}
		}
		t.say("left      %s %s", changeset.Printable(l.Path), l.Reason)
	}
	return nil
}

// saySkipped lists the steps of a removal that were left out.
func saySkipped(t *terminal, skipped []interp.Refusal) error {
	for _, s := range skipped {
		if t.json {
			if err := t.object("skipped", s); err != nil {
				return err
			}
		}
		t.say("left out  %s", multiline(s.Reason))
	}
	return nil
}

// unlessForced names the way out where a stored removal is stuck.
func unlessForced(err error, stuck, forced bool) error {
	if forced || !stuck && !errors.Is(err, interp.ErrNotStored) {
		return err
	}
	return &exitError{code: codeOf(err), err: fmt.Errorf("%w\nnothing was changed; --force leaves out what of the removal cannot be done", err)}
}

// forceUsage explains --force, the same for all that do a stored removal.
const forceUsage = "leave out steps of the removal that cannot be done"
