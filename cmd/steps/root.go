package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const rootLong = `steps replaces package install hooks by signed data.

A package ships a document with *_steps lists: make this directory, write that
file, link these. steps checks the signature, shows what would change, makes
all of it or nothing, and can take it back.

EXIT STATUS
  0  done
  1  a step or a command failed; nothing was changed
  2  wrong usage
  3  the document is not valid
  4  the signature, the bundle or the trust policy is not good
  5  refused: not approved, not granted by the layout, or a conflict
  6  the tree is not as it was recorded or planned
  7  an interrupted transaction or a damaged receipt must be recovered first,
     or cannot be
  8  another process is at work
  9  a fault of steps itself: please report it
130  interrupted; nothing was changed`

func newRoot(t *terminal) *cobra.Command {
	root := &cobra.Command{
		Use:           "steps",
		Short:         "Install steps as signed data instead of hooks",
		Long:          rootLong,
		SilenceUsage:  true,
		SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{
			DisableDefaultCmd: true,
		},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no verb %q; steps --help lists them", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().BoolVar(&t.json, "json", false, "print one JSON object a line, for programs")
	// Flags are explained in the width of a terminal.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 79 "))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see steps %s --help", err, verbOf(cmd))
	})
	root.AddGroup(
		&cobra.Group{ID: "author", Title: "For authors:"},
		&cobra.Group{ID: "apply", Title: "For everybody who installs:"},
		&cobra.Group{ID: "jail", Title: "For everybody who runs commands of others:"},
		&cobra.Group{ID: "sign", Title: "For who signs:"},
		&cobra.Group{ID: "test", Title: "For implementers:"},
	)
	root.AddCommand(
		newValidate(t), newSchema(t), newExplain(t),
		newPlan(t), newApply(t), newUndo(t), newVerify(t), newStatus(t), newRecover(t), newBroker(t),
		newUpgrade(t), newUninstall(t), newRepair(t), newTrigger(t),
		newExec(t), newDoctor(t),
		newTrust(t), newKeygen(t), withBatch(newSign(t), t), newVerifyBundle(t),
		newRegistry(t), newPush(t), newAttach(t), newPull(t),
		newConformance(t),
		newSignBundle(t),
	)
	addWorker(root, t)
	root.SetHelpCommandGroupID("test")
	return root
}

func verbOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "steps"), " ")
}

// exactArgs is cobra's, with a message that says what belongs there.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		if len(names) == 0 {
			return usagef("steps %s takes no arguments; %d given", verbOf(cmd), len(args))
		}
		return usagef("steps %s takes %d argument(s), %s; %d given", verbOf(cmd), len(names), strings.Join(names, " "), len(args))
	}
}

func atMostOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return nil
		}
		return usagef("steps %s takes at most one %s; %d arguments given", verbOf(cmd), name, len(args))
	}
}

func atLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usagef("steps %s takes at least one %s", verbOf(cmd), name)
	}
}

// usagef is an error about how the command was called.
func usagef(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}
