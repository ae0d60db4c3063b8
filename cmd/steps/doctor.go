package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"steps.example/interp"
	"steps.example/interp/jail"
)

const doctorLong = `Say what this machine can guarantee about the commands that steps runs, by which
mechanism, and what is missing, why, and what to do about it. Nothing is
changed; a few commands run in jails, to see that they hold.

With --prefix it also says how the changes of a run step under that prefix are
captured: by an overlay, so that the tree is not touched before they are
accepted, or by a snapshot that is put back, and whether that shares the
blocks of files (reflink) or copies them.

EXAMPLES
  steps doctor
  steps doctor --prefix /opt/brew --json

EXIT STATUS
  0  run steps can run here; guarantees that are a declared gap are listed
  5  they cannot, and the reason is given`

func newDoctor(t *terminal) *cobra.Command {
	var where storeFlags
	cmd := &cobra.Command{
		Use: "doctor", Short: "Say what the jail guarantees on this machine", Long: doctorLong, GroupID: "jail", Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), t, where) },
	}
	where.add(cmd.Flags())
	return cmd
}

// diagnosis is all that doctor found.
type diagnosis struct {
	OK         bool            `json:"ok"`               // run steps can run here
	Reason     string          `json:"reason,omitempty"` // why not
	Steps      string          `json:"steps"`            // version of this program
	Go         string          `json:"go"`
	Kernel     string          `json:"kernel,omitempty"`
	Inside     string          `json:"inside,omitempty"` // a container or jail that this runs in
	User       int             `json:"user"`
	Helper     string          `json:"helper,omitempty"`
	Support    jail.Support    `json:"support"`
	Guarantees []keptGuarantee `json:"guarantees"`
	// Canary is what a real jail did; nil if none could be made.
	Canary  *jail.CanaryReport `json:"canary,omitempty"`
	Capture *captureResult     `json:"capture,omitempty"`
	Advice  []advice           `json:"advice,omitempty"`
}

type keptGuarantee struct {
	Name     string `json:"name"`
	Promise  string `json:"promise"`
	By       string `json:"by"` // "none": a declared gap
	Waivable bool   `json:"waivable"`
	Optional bool   `json:"optional"`
}

// captureResult is how changes under a prefix are captured.
type captureResult struct {
	Prefix    string `json:"prefix"`
	Mechanism string `json:"mechanism"`     // overlay or snapshot
	Copies    string `json:"copies"`        // how a snapshot copies: reflink, copy or unknown
	Why       string `json:"why,omitempty"` // why it is no overlay
}

func runDoctor(ctx context.Context, t *terminal, where storeFlags) error {
	d, err := diagnose(ctx, where)
	if err != nil {
		return err
	}
	if t.json {
		if err := t.object("doctor", d); err != nil {
			return err
		}
		if !d.OK {
			return exitWith(exitRefused)
		}
		return nil
	}
	d.print(t.out)
	if !d.OK {
		return &exitError{code: exitRefused, err: fmt.Errorf("run steps cannot run here: %s", d.Reason)}
	}
	return nil
}

func diagnose(ctx context.Context, where storeFlags) (*diagnosis, error) {
	f := readFacts()
	d := &diagnosis{
		Steps: version(), Go: runtime.Version(), Kernel: f.kernel, Inside: f.inside(), User: os.Geteuid(), Support: jail.Check(),
	}
	d.Advice = advise(f, d.Support)
	fail := func(err error) {
		if d.Reason == "" {
			d.Reason = err.Error()
		}
	}
	if err := (interp.Machine{}).CanRun(nil); err != nil {
		fail(err)
	}
	helper, err := jail.Helper()
	if err != nil {
		fail(err)
	}
	d.Helper = helper
	kept, _ := d.Support.Judge(jail.Policy{Reads: jail.SystemReads(), Dir: jail.SystemReads()[0]})
	for _, g := range jail.Guarantees() {
		d.Guarantees = append(d.Guarantees, keptGuarantee{g.Name, g.Promise, kept[g.Name], g.Waivable, g.Optional})
	}
	if d.Reason == "" {
		canary, err := jail.Canary(ctx, helper)
		switch {
		case err != nil:
			fail(err)
		case !canary.OK:
			fail(fmt.Errorf("the jail does not hold: %s", strings.Join(canary.Surprises, "; ")))
		}
		if err == nil {
			d.Canary = &canary
		}
	}
	if where.prefix != "" {
		if d.Capture, err = capture(ctx, helper, where, d.Reason); err != nil {
			return nil, err
		}
	}
	d.OK = d.Reason == ""
	return d, ctx.Err()
}

// version is that of this program, as far as its build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(v, s.Value[:min(12, len(s.Value))]) {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}
