//go:build !light

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"steps.example/interp"
	"steps.example/interp/broker"
)

const brokerLong = `Do steps that need root, for a user who is not. apply starts it through sudo
when a document has such steps: those with "sudo", set_ownership to others, and
changes where only others can write. Nobody calls it by hand.

It does single steps of signed documents, and no others: it verifies the
signature by root's own trust policy, works out itself what the step changes,
and refuses what is outside the directories that root allows. It executes
nothing, so a run step with "sudo" needs the whole apply to be run as root.
What it did is kept in root's own receipts, and undo, uninstall, verify and
recover of the user ask it for its part.

SETTING IT UP
As root, say what it may do, in /etc/steps/broker/broker.json:

  {"version": 1,
   "within": ["/opt/brew"],
   "capabilities": ["sudo", "ownership"]}

  within         the directories that it may change, by their real names
  capabilities   sudo: what steps ask for with "sudo"; ownership: set_ownership;
                 write:NAME: what the layout has approved by that name

and whom it trusts for which packages, in /etc/steps/broker/trust.json:

  steps trust init /etc/steps/broker/trust.json ...      (steps trust --help)

Both files, and all directories above them, must belong to root, and nobody else
may be able to write to them; the same goes for steps itself. Then say who may
ask, with visudo:

  alice ALL=(root) NOPASSWD: /usr/local/bin/steps broker

Without NOPASSWD sudo asks for a password, and only where there is a terminal.
What could not be taken back is in root's receipts: steps recover --state
/var/lib/steps/broker/UID, as root, brings it to an end.
Do not allow directories that hold what root or a service executes and that the
user can write to: he decides what is in his files, whoever comes to own them.

EXAMPLES
  steps broker --check        as root: is it set up well?

EXIT STATUS
  4 if the configuration or a signature is not good; the others as in
  steps --help`

func newBroker(t *terminal) *cobra.Command {
	var config, state string
	var check bool
	cmd := &cobra.Command{
		Use: verbBroker.use, Short: verbBroker.short, Long: brokerLong, GroupID: verbBroker.group, Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			caller, err := brokerCaller()
			if err != nil {
				return &exitError{code: exitRefused, err: fmt.Errorf("the broker %w", err)}
			}
			if (config != brokerConfigDir || state != brokerStateDir) && caller.UID != 0 {
				return usagef("--config and --state are for root, not for whom sudo lets be root")
			}
			k := keeper{caller: caller, config: filepath.Clean(config), state: filepath.Clean(state)}
			if !filepath.IsAbs(k.config) || !filepath.IsAbs(k.state) {
				return usagef("--config and --state take absolute paths")
			}
			if check {
				return runBrokerCheck(t, &k)
			}
			return runBroker(cmd.Context(), t, &k)
		},
	}
	cmd.Flags().StringVar(&config, "config", brokerConfigDir, "the `DIR` of the configuration")
	cmd.Flags().StringVar(&state, "state", brokerStateDir, "the `DIR` of the broker's own receipts")
	cmd.Flags().BoolVar(&check, "check", false, "look at the configuration, and do nothing")
	return cmd
}

// brokerCaller is for whom this process is root. It must be root in every respect, and
// not out of a jail.
func brokerCaller() (interp.Caller, error) {
	if os.Getuid() != 0 || os.Geteuid() != 0 {
		return interp.Caller{}, errors.New("is started as root, by sudo: see steps broker --help")
	}
	if os.Getgid() != os.Getegid() {
		return interp.Caller{}, errors.New("must not run set-group-id")
	}
	if err := confined(); err != nil {
		return interp.Caller{}, err
	}
	// sudo sets these itself, whatever the caller had.
	uid, gid := os.Getenv("SUDO_UID"), os.Getenv("SUDO_GID")
	if uid == "" && gid == "" {
		return interp.Caller{}, nil
	}
	c := interp.Caller{}
	var err, err2 error
	c.UID, err = strconv.Atoi(uid)
	c.GID, err2 = strconv.Atoi(gid)
	if err != nil || err2 != nil || c.UID < 0 || c.GID < 0 {
		return c, fmt.Errorf("cannot tell who asks: SUDO_UID is %q, SUDO_GID is %q", uid, gid)
	}
	c.Groups = groupsOf(uid)
	return c, nil
}

func runBroker(ctx context.Context, t *terminal, k *keeper) error {
	os.Clearenv()
	unix.Umask(0o077)
	if err := os.Chdir("/"); err != nil {
		return err
	}
	// A caller that is gone shows at the end of the requests, after which all is taken
	// back; nothing is to stop that.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	if err := broker.Serve(ctx, t.in, t.out, k); err != nil {
		return errors.Join(errSaid, err)
	}
	return nil
}

func runBrokerCheck(t *terminal, k *keeper) error {
	c, err := k.check()
	if err != nil {
		return err
	}
	if t.json {
		return t.object("broker", map[string]any{"within": c.Within, "capabilities": c.Capabilities})
	}
	t.say("%s: good", k.config)
	for _, dir := range c.Within {
		t.say("may change what is in %s", dir)
		if real := interp.Physical(dir); real != dir {
			t.talk("WARNING: %s leads to %s: say that, or nothing there can be changed", dir, real)
		}
	}
	for _, capability := range c.Capabilities {
		t.say("may do what needs %s", capability)
	}
	return nil
}
