package jail

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// A handoff is a command that leaves something which must not become real. Its
// step goes the way of every apply, in a prefix of its own.
type handoff struct {
	number int
	name   string
	// outputs are the step's declared outputs, in JSON; empty: none are
	// declared, so that any are allowed.
	outputs string
	bad     string // the script
	good    string // the control: the same without what is wrong
	rule    string // that must refuse it; empty: the command itself must fail
	file    string // that the message must name
	// bare runs the command without a jail, as if the jail had failed, so that
	// the hand-off stands alone.
	bare bool
	// asRoot: it takes root to try.
	asRoot bool
}

const oneOutput = `[{"path": {"base": "prefix", "path": "out"}}]`

var handoffs = []handoff{
	{number: 97, name: "symlink that leads out", outputs: `[{"path": {"base": "prefix", "path": "out"}, "kind": "symlink"}]`,
		bad: `ln -s ../../../outside/secret out`, good: `ln -s old out`, rule: "link", file: "out"},
	{number: 97, name: "symlink by an absolute path", outputs: `[{"path": {"base": "prefix", "path": "out"}, "kind": "symlink"}]`,
		bad: `ln -s /etc/passwd out`, good: `ln -s old out`, rule: "link", file: "out"},
	{number: 97, name: "symlink in the output's place", outputs: oneOutput,
		bad: `ln -s old out`, good: `cp old out`, rule: "output", file: "out"},
	{number: 98, name: "hard link to an old file", outputs: oneOutput,
		bad: `ln old out`, good: `cp old out`, rule: "hard-link", file: "out"},
	{number: 99, name: "fifo, which must not hang", bad: `mkfifo out`, good: `echo x >out`, rule: "kind", file: "out"},
	{number: 99, name: "fifo in the output's place", outputs: oneOutput, bad: `mkfifo out`, good: `echo x >out`, rule: "output", file: "out"},
	{number: 100, name: "set-user-id file", outputs: oneOutput, bad: `echo x >out; chmod 4755 out`, good: `echo x >out`, file: "out"},
	{number: 100, name: "set-user-id file, no jail", outputs: oneOutput, bad: `echo x >out; chmod 4644 out`, good: `echo x >out`, rule: "set-id", file: "out", bare: true},
	{number: 101, name: "device node", outputs: oneOutput, bad: `mknod out c 1 3`, good: `echo x >out`, file: "out"},
	{number: 101, name: "device node, no jail", bad: `mknod out c 1 3`, good: `echo x >out`, rule: "kind", file: "out", bare: true, asRoot: true},
	{number: 102, name: "output above the prefix", outputs: `[{"path": {"base": "prefix", "path": "../../../outside/out"}}]`,
		bad: `true`, good: ``, rule: "document", file: "../../../outside/out"},
	{number: 102, name: "write above the prefix", bad: `echo x >../../../outside/out`, good: `echo x >out`, file: "outside/out"},
	{number: 103, name: "names that differ in case", outputs: `[{"path": {"base": "prefix", "path": "doc/*"}, "count": "any"}]`,
		bad: `mkdir -p doc; echo x >doc/readme; echo x >doc/README`, good: `mkdir -p doc; echo x >doc/readme; echo x >doc/other`, rule: "fold", file: "doc/"},
	{number: 103, name: "names that differ in form", outputs: `[{"path": {"base": "prefix", "path": "doc/*"}, "count": "any"}]`,
		bad: `mkdir -p doc; echo x >"doc/$(printf 'caf\303\251')"; echo x >"doc/$(printf 'cafe\314\201')"`, good: `mkdir -p doc; echo x >doc/a; echo x >doc/b`, rule: "fold", file: "doc/caf"},
	{number: 104, name: "undeclared file", outputs: oneOutput, bad: `echo x >out; echo x >other`, good: `echo x >out`, rule: "output", file: "other"},
	{number: 104, name: "changed old file", outputs: oneOutput, bad: `echo x >out; echo x >>old`, good: `echo x >out`, rule: "output", file: "old"},
	{number: 104, name: "removed old file", outputs: oneOutput, bad: `echo x >out; rm old`, good: `echo x >out`, rule: "output", file: "old"},
	{number: 104, name: "declared output is missing", outputs: oneOutput, bad: `true`, good: `echo x >out`, rule: "output", file: "out"},
	{number: 104, name: "directory for a file", outputs: oneOutput, bad: `mkdir out`, good: `echo x >out`, rule: "output", file: "out"},
	{number: 104, name: "program for a file", outputs: oneOutput, bad: `echo x >out; chmod 755 out`, good: `echo x >out`, rule: "output", file: "out"},
	{number: 104, name: "file open to everybody", outputs: oneOutput, bad: `echo x >out; chmod 666 out`, good: `echo x >out`, rule: "mode", file: "out"},
	{number: 105, name: "oversize file", outputs: `[{"path": {"base": "prefix", "path": "out"}, "max_size": 10}]`,
		bad: `echo more than ten bytes >out`, good: `echo x >out`, rule: "output", file: "out"},
	{number: 107, name: "escape codes in the output", bad: `printf '\033]52;c;ZXZpbA==\007 out\n' >&2; exit 1`, good: `true`, file: "out"},
	{number: 107, name: "escape codes in a name", outputs: oneOutput,
		bad: `echo x >out; echo x >"$(printf 'x\033]52;c;AAAA\007')"`, good: `echo x >out`, rule: "output", file: "x"},
}

// plantedNames are places where what a command leaves is run later by others.
var plantedNames = []string{
	".git/hooks/post-checkout", ".git/config", ".claude/settings.json", ".mcp.json", ".vscode/tasks.json", ".envrc", ".bashrc",
	".zshenv", ".ssh/authorized_keys", "Library/LaunchAgents/x.plist", ".config/autostart/x.desktop",
	".config/systemd/user/x.service", "cron.d/x",
}

func handoffCases() []Case {
	var cases []Case
	all := slices.Clone(handoffs)
	for _, name := range plantedNames {
		all = append(all, handoff{
			number: 108, name: "planted " + name, rule: "protected-name", file: name,
			bad: fmt.Sprintf("mkdir -p %s; echo x >%s", filepath.Dir(name), name), good: "mkdir -p dir; echo x >dir/file",
		})
	}
	for _, h := range all {
		cases = append(cases, Case{h.number, h.name, "refused", h.run})
	}
	return append(cases, Case{106, "writer that outlives it", "ended", survivorCase})
}

// makesDevices tries, in dir, whether this process can make a device node.
func makesDevices(dir string) bool {
	dir, err := os.MkdirTemp(dir, "device-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	return unix.Mknod(filepath.Join(dir, "node"), unix.S_IFCHR|0o600, 1<<8|3) == nil
}

func (h handoff) run(ctx context.Context, s *site, r *Result) {
	r.Mechanism = "contract"
	if h.rule == "" {
		r.Mechanism = "jail"
	}
	if h.asRoot && !makesDevices(s.base) {
		r.skip("only root, outside of a user namespace, makes device nodes")
		return
	}
	if h.good != "" {
		p, err := s.newPrefix()
		if err == nil {
			_, err = p.apply(ctx, h, h.good, h.capture())
			p.store.Close()
		}
		r.controlled(err)
	} else {
		r.Control = "ok" // every other case has the step without it
	}
	// Both ways to find what a command changed must come to the same.
	for _, mode := range []interp.CaptureMode{"", interp.CaptureSnapshot} {
		if !h.bare || mode != "" {
			h.attempt(ctx, s, r, mode)
		}
	}
}

// attempt applies the bad step.
func (h handoff) attempt(ctx context.Context, s *site, r *Result, mode interp.CaptureMode) {
	p, err := s.newPrefix()
	if err != nil {
		r.fail("%v", err)
		return
	}
	defer p.store.Close()
	before, err := p.listing()
	if err != nil {
		r.fail("%v", err)
		return
	}
	_, err = p.apply(ctx, h, h.bad, mode)
	if err == nil {
		r.Got = "applied"
		r.fail("it became real (capture %q)", mode)
		return
	}
	r.Got = cmp.Or(r.Got, "refused")
	r.Said = err.Error()
	h.judge(r, err)
	after, err := p.listing()
	if err != nil {
		r.fail("%v", err)
	} else if after != before {
		r.fail("the tree is not as before (capture %q), but\n%s", mode, after)
	}
}

// judge holds a refusal to naming the file and the rule, and to being fit for
// a terminal.
func (h handoff) judge(r *Result, err error) {
	text := err.Error()
	if !strings.Contains(text, h.file) {
		r.fail("the message does not name %q", h.file)
	}
	if strings.ContainsAny(text, "\x1b\a") {
		r.fail("the message has escape codes: %q", text)
	}
	refused, isRefused := errors.AsType[*interp.RefusedError](err)
	_, failed := errors.AsType[*interp.CommandError](err)
	switch {
	case h.rule == "":
		if !failed {
			r.fail("the command did not fail by itself: %v", err)
		}
	case h.rule == "document":
	case !isRefused:
		r.fail("it was not refused, but failed: %v", err)
	case !slices.ContainsFunc(refused.Refusals, func(f interp.Refusal) bool { return f.Rule == h.rule }):
		r.fail("no rule %q in %+v", h.rule, refused.Refusals)
	}
}

// A prefix is where the package demo gets installed, with an old file of its.
type prefix struct {
	dir   string // holds root, home, temp, outside and state
	store *commit.Store
}

func (s *site) newPrefix() (*prefix, error) {
	dir, err := os.MkdirTemp(s.base, "prefix-")
	if err != nil {
		return nil, err
	}
	p := &prefix{dir: dir}
	for _, d := range []string{"root/pkgs/demo", "home", "temp", "outside"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	for file, text := range map[string]string{"root/pkgs/demo/old": "old\n", "outside/secret": "secret\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	p.store, err = commit.OpenStore(filepath.Join(dir, "state"))
	return p, err
}

func (p *prefix) at(name string) string { return filepath.Join(p.dir, "root/pkgs/demo", name) }

// capture is how the changes of the control are found.
func (h handoff) capture() interp.CaptureMode {
	if h.bare {
		return interp.CaptureSnapshot
	}
	return ""
}

// apply applies a document whose step runs script.
func (p *prefix) apply(ctx context.Context, h handoff, script string, mode interp.CaptureMode) (*interp.Applied, error) {
	text, err := json.Marshal(script)
	if err != nil {
		return nil, err
	}
	step := fmt.Sprintf(`{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-e", "-c", %s]`, text)
	if h.outputs != "" {
		step += `, "outputs": ` + h.outputs
	}
	const phase = steps.Phase("post_install_steps")
	list, err := steps.DecodeSteps([]byte("["+step+"}]"), steps.DefaultLimits)
	if err != nil {
		return nil, err
	}
	system := runtime.GOOS
	if system == "darwin" {
		system = "macos"
	}
	job := interp.Job{
		Document: &steps.Document{Name: "demo", Version: "1.0", Layout: "generic", Blocks: []steps.Block{{Phase: phase, Steps: list}}},
		Phases:   []steps.Phase{phase},
		Target: interp.Target{
			Layout: "generic", Name: "demo", Version: "1.0", OS: system, User: "tester", Umask: 0o022,
			Dirs: map[string]string{
				"prefix_root": filepath.Join(p.dir, "root"), "home": filepath.Join(p.dir, "home"), "temp": filepath.Join(p.dir, "temp"),
			},
			SearchPath: []string{"/usr/bin", "/bin"}, Protected: []string{filepath.Join(p.dir, "state")},
		},
	}
	var host interp.Host = interp.Machine{}
	if h.bare {
		host = bareHost{}
	}
	return interp.Apply(ctx, job, host, interp.ApplyOptions{Store: p.store, Capture: mode})
}

// bareHost is a host whose jail holds nothing.
type bareHost struct{ interp.Machine }

// Run implements [interp.Host], without a jail.
func (bareHost) Run(ctx context.Context, r *interp.Run) ([]byte, interp.RunReport, error) {
	cmd := exec.CommandContext(ctx, r.Name, r.Args...)
	cmd.Dir = r.Dir
	cmd.Env = environment(r.Dir)
	out, err := cmd.Output()
	return out, interp.RunReport{}, err
}

// listing is all that is there but the store, with modes and contents.
func (p *prefix) listing() (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == filepath.Join(p.dir, "state") {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v", strings.TrimPrefix(path, p.dir), info.Mode())
		switch {
		case d.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			b.WriteString(" -> " + target)
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", data)
		}
		b.WriteByte('\n')
		return nil
	})
	return b.String(), err
}
