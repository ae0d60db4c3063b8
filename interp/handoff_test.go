package interp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

// captures are the ways to find what a command changed that work here.
func captures(t *testing.T) []interp.CaptureMode {
	t.Helper()
	needJail(t)
	w := newWorld(t)
	w.capture = interp.CaptureOverlay
	_, err := w.apply(w.job(`[{"type": "run", "command": {"path": "/bin/true"}}]`))
	if errors.Is(err, interp.ErrNoLayers) {
		t.Logf("only by snapshot, since overlays cannot be used here: %v", err)
		return []interp.CaptureMode{interp.CaptureSnapshot}
	}
	if err != nil {
		t.Fatal(err)
	}
	return []interp.CaptureMode{interp.CaptureOverlay, interp.CaptureSnapshot}
}

// script is a run step of a shell script, with more fields.
func script(text, more string) string {
	if more != "" {
		more = ", " + more
	}
	return fmt.Sprintf(`[{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", %q]%s}]`, text, more)
}

// Everything bad that a command can leave behind is refused, whichever way it is
// watched: the tree is as before, and the message names the file and the rule.
func TestHandOff(t *testing.T) {
	t.Parallel()
	const declared = `"outputs": [{"path": {"base": "var", "path": "good"}}, {"path": {"base": "var", "path": "d/*.o"}, "count": "any", "max_size": 4}]`
	for _, mode := range captures(t) {
		for _, tc := range []struct {
			name, script, more string
			rule, file         string // "" if the command may do that
		}{
			{name: "nothing bad", script: "echo x >good; mkdir d; echo y >d/a.o", more: declared},
			{name: "undeclared", script: "echo x >good; echo x >bad", more: declared, rule: "output", file: "bad"},
			{name: "undeclared, nothing may be", script: "echo x >bad", more: `"outputs": []`, rule: "output", file: "bad"},
			{name: "deleted", script: "echo x >good; rm old", more: declared, rule: "output", file: "old"},
			{name: "missing", script: "true", more: declared, rule: "output", file: "good"},
			{name: "missing after an allowed failure", script: "exit 1", more: declared + `, "allow_failure": true`},
			{name: "undeclared after an allowed failure", script: "echo x >bad; exit 1", more: declared + `, "allow_failure": true`, rule: "output", file: "bad"},
			{name: "oversize", script: "echo x >good; mkdir d; echo 12345 >d/b.o", more: declared, rule: "output", file: "d/b.o"},
			{name: "executable", script: "echo x >good; chmod +x good", more: declared, rule: "output", file: "good"},
			{name: "a directory instead", script: "mkdir good", more: declared, rule: "output", file: "good"},
			{name: "symlink out", script: "ln -s /etc/passwd bad", rule: "link", file: "bad"},
			{name: "relative symlink out", script: "ln -s ../../outside bad", rule: "link", file: "bad"},
			{name: "symlink that climbs", script: "ln -s a/../../b bad", rule: "link", file: "bad"},
			{name: "symlink inside", script: "ln -s old fine"},
			{name: "hard link to a file that was there", script: "ln old bad", rule: "hard-link", file: "bad"},
			{name: "hard links of its own", script: "echo x >one; ln one two"},
			{name: "FIFO", script: "mkfifo bad", rule: "kind", file: "bad"},
			{name: "FIFO in place of a file", script: "rm old; mkfifo old", rule: "kind", file: "old"},
			{name: "world-writable file", script: "echo x >bad; chmod 666 bad", rule: "mode", file: "bad"},
			{name: "world-writable directory", script: "mkdir -m 777 bad", rule: "mode", file: "bad"},
			{name: "sticky directory", script: "mkdir -m 1777 fine"},
			{name: "newline", script: "echo x >'bad\nsteps: all is well'", rule: "name", file: `bad\nsteps: all is well`},
			{name: "escape codes", script: "echo x >\"$(printf 'bad\\033]52;c;eA==\\007')\"", rule: "name", file: `bad\x1b]52;c;eA==\a`},
			{name: "right to left", script: "echo x >'bad\u202egpj.sh'", rule: "name", file: `bad\u202egpj.sh`},
			{name: "dots in disguise", script: "echo x >'..\u200b'", rule: "name", file: `..\u200b`},
			{name: "not UTF-8", script: "echo x >\"$(printf 'bad\\377')\"", rule: "name", file: `bad\xff`},
			{name: "case pair", script: "echo x >Bad; echo y >bAD", rule: "fold", file: "bAD"},
			{name: "case pair with what was there", script: "echo x >OLD", rule: "fold", file: "OLD"},
			{name: "Unicode pair", script: "echo x >'e\u0301'; echo y >'\u00e9'", rule: "fold", file: "\u00e9"},
			{name: "reserved name", script: "mkdir .steps-bad", rule: "name", file: ".steps-bad"},
			{name: "git hook", script: "mkdir -p r/.git/hooks; echo x >r/.git/hooks/post-checkout", rule: "protected-name", file: "r/.git/hooks/post-checkout"},
			{name: "git hook in other letters", script: "mkdir -p r/.GIT/Hooks; echo x >r/.GIT/Hooks/x", rule: "protected-name", file: "r/.GIT/Hooks/x"},
			{name: "an assistant's settings", script: "mkdir .claude; echo x >.claude/settings.json", rule: "protected-name", file: ".claude/settings.json"},
			{name: "rc file", script: "echo x >.zshrc", rule: "protected-name", file: ".zshrc"},
			{name: "user's own protected name", script: "mkdir -p my; echo x >my/secret.d", rule: "protected-name", file: "my/secret.d"},
			{name: "the package manager", script: "echo x >../bin/brew", rule: "protected", file: "bin/brew"},
		} {
			t.Run(string(mode)+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "hb/var/old=old", "hb/bin/")
				w.capture = mode
				job := w.job(script(tc.script, strings.TrimPrefix(tc.more+`, "chdir": {"base": "var", "path": "."}`, ", ")))
				job.Target.ProtectedNames = []string{"my/secret.d"}
				before := w.listing()
				done, err := w.apply(job)
				if tc.rule == "" {
					if err != nil {
						t.Fatal(err)
					}
					if done.Receipt != nil {
						if drift, err := w.store.Verify(done.Receipt); err != nil || len(drift) > 0 {
							t.Errorf("verify: %v, %v", drift, err)
						}
						if err := w.store.Undo(done.Receipt.ID); err != nil {
							t.Error(err)
						}
					}
				} else {
					refusal(t, err, tc.rule, tc.file)
				}
				if after := w.listing(); after != before {
					t.Errorf("the tree is not as before:\n%s\nwas\n%s", after, before)
				}
			})
		}
	}
}

// refusal wants a refusal of a file by a rule, whose text can be shown.
func refusal(t *testing.T, err error, rule, file string) {
	t.Helper()
	refused, ok := errors.AsType[*interp.RefusedError](err)
	if !ok {
		t.Errorf("got %v, want a refusal by the rule %s", err, rule)
		return
	}
	if !slices.ContainsFunc(refused.Refusals, func(r interp.Refusal) bool {
		return r.Rule == rule && strings.HasSuffix(changeset.Printable(r.Path), "/"+file)
	}) {
		t.Errorf("got %+v, want a refusal of %s by the rule %s", refused.Refusals, file, rule)
	}
	if text := err.Error(); !strings.Contains(text, file) || strings.ContainsAny(text, "\x1b\a") {
		t.Errorf("the message does not name %s, or cannot be shown: %q", file, text)
	}
}

// What the jail itself does not let a command make: the command goes on, and
// there is nothing to be refused.
func TestHandOffPrevented(t *testing.T) {
	t.Parallel()
	for _, mode := range captures(t) {
		for _, tc := range []struct{ name, script, tool string }{
			{"set-user-id", "echo x >f; chmod u+s f && touch bad", ""},
			{"set-group-id", "echo x >f; chmod g+s f && touch bad", ""},
			{"character device", "mknod dev c 1 3 && touch bad", ""},
			{"block device", "mknod dev b 7 0 && touch bad", ""},
			{"hard link to a file outside", "ln {W}/outside/secret h && touch bad", ""},
			{"socket", `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")' && touch bad`, "python3"},
			{"capabilities", `python3 -c 'import os; open("f", "w").close(); os.setxattr("f", "user.x", b"y")' && touch bad`, "python3"},
		} {
			t.Run(string(mode)+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				if tc.tool != "" {
					if _, err := exec.LookPath(tc.tool); err != nil {
						t.Skipf("there is no %s here", tc.tool)
					}
				}
				w := newWorld(t)
				w.capture = mode
				if _, err := w.apply(w.job(script(tc.script+"; true", `"chdir": {"base": "var", "path": "."}`))); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"bad", "dev", "h", "s"} {
					if w.exists("hb/var/" + name) {
						t.Errorf("%s is there:\n%s", name, w.listing())
					}
				}
				info, err := os.Lstat(w.at("hb/var/f"))
				if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
					t.Errorf("f has the mode %v", info.Mode())
				}
			})
		}
	}
}

// What a command started in the background is gone before its changes are
// looked at, and can change them no more.
func TestHandOffSurvivors(t *testing.T) {
	t.Parallel()
	for _, mode := range captures(t) {
		w := newWorld(t)
		w.capture = mode
		// The daemon holds the files open, and says when it is there.
		job := w.job(script("(trap '' HUP TERM; exec >>log; while :; do echo x; echo x >late-$$; rm -f late-$$; echo up >up; done) & "+
			"while ! test -e up; do :; done; echo x >good", `"chdir": {"base": "var", "path": "."}`))
		done, err := w.apply(job)
		if err != nil {
			t.Fatal(err)
		}
		if !w.exists("hb/var/good") {
			t.Error("good is missing")
		}
		if drift, err := w.store.Verify(done.Receipt); err != nil || len(drift) > 0 {
			t.Errorf("%s: somebody still writes: %v, %v", mode, drift, err)
		}
		// The file is not the one that the daemon had open.
		if f, err := os.OpenFile(w.at("hb/var/log"), os.O_RDWR, 0); err != nil {
			t.Error(err)
		} else {
			f.Close()
		}
	}
}

// What a command prints is data: it cannot speak to the terminal.
func TestHandOffOutput(t *testing.T) {
	t.Parallel()
	needJail(t)
	w := newWorld(t)
	before := w.listing()
	_, err := w.apply(w.job(script(`printf '\033]52;c;ZXZpbA==\007\033[2J\302\233' >&2; exit 3`, "")))
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\a\u009b") || !strings.Contains(err.Error(), "52;c;ZXZpbA==") {
		t.Errorf("got %q", err)
	}
	if w.listing() != before {
		t.Error("the tree is not as before")
	}
}

// A protected place takes a document that names it, and the user's approval.
func TestProtectedNames(t *testing.T) {
	t.Parallel()
	needJail(t)
	const step = `"writable_paths": [{"base": "home", "path": ".config/fish"}], "outputs": [{"path": {"base": "home", "path": ".config/fish/conf.d/demo.fish"}}]`
	list := script("mkdir -p {W}/home/.config/fish/conf.d; echo x >{W}/home/.config/fish/conf.d/demo.fish", step)
	w := newWorld(t, "home/.config/fish/")
	job := w.job(list)
	w.refused(job, "--approve protected:.config/fish")
	job.Target.Approved = []string{"protected:.config/fish"}
	w.refused(job, "--approve write:home")
	job.Target.Approved = []string{"protected:.config/fish", "write:home"}
	if _, err := w.apply(job); err != nil || w.read("home/.config/fish/conf.d/demo.fish") != "x\n" {
		t.Error(err)
	}
	// Approval alone is not enough, if the document does not say so.
	w = newWorld(t, "home/.config/")
	job = w.job(script("mkdir -p {W}/home/.config/fish; echo x >{W}/home/.config/fish/x", `"writable_paths": [{"base": "home", "path": ".config"}]`))
	job.Target.Approved = []string{"protected:.config/fish", "write:home"}
	w.refused(job, "the step does not name it")
	// Typed steps name what they change.
	w = newWorld(t)
	job = w.job(`[{"type": "write", "path": {"base": "home", "path": ".zshrc"}, "content": "x"}]`)
	job.Target.Approved = []string{"write:home"}
	w.refused(job, "--approve protected:.zshrc")
	job.Target.Approved = append(job.Target.Approved, "protected:.zshrc")
	if _, err := w.apply(job); err != nil {
		t.Error(err)
	}
	job.Target.ProtectedNames = []string{"a//b"}
	w.refused(job, `protected name "a//b"`)
}

// Both ways give one result, mode bits and all.
func TestCapturesAgree(t *testing.T) {
	t.Parallel()
	modes := captures(t)
	var first string
	for _, mode := range modes {
		w := newWorld(t, "hb/var/d/x=x", "hb/var/keep=keep", "hb/var/l -> keep")
		w.capture = mode
		if _, err := w.apply(w.job(script("rm -r d; mkdir -m 750 d; echo new >d/y; chmod 600 keep; rm l; ln -s d l; mv keep kept; echo more >>kept; mkdir e; touch e/f; chmod 500 e",
			`"chdir": {"base": "var", "path": "."}`))); err != nil {
			t.Fatal(err)
		}
		got := w.listing()
		if first == "" {
			first = got
		} else if got != first {
			t.Errorf("by %s:\n%s\nby %s:\n%s", modes[0], first, mode, got)
		}
		if err := os.Chmod(w.at("hb/var/e"), 0o700); err != nil {
			t.Error(err)
		}
	}
}

// layerless is a machine that cannot mount layers.
type layerless struct{ interp.Machine }

func (l layerless) Run(ctx context.Context, r *interp.Run) ([]byte, interp.RunReport, error) {
	if len(r.Layers) > 0 {
		return nil, interp.RunReport{}, fmt.Errorf("%w: forbidden", interp.ErrNoLayers)
	}
	return l.Machine.Run(ctx, r)
}

// Where layers cannot be mounted, or would be in the command's reach, a snapshot
// does it, and the receipt says why; unless only layers will do.
func TestCaptureFallsBack(t *testing.T) {
	t.Parallel()
	needJail(t)
	for name, tc := range map[string]struct {
		host  interp.Host
		state string
	}{
		"forbidden": {layerless{}, "state"},
		"in reach":  {interp.Machine{}, "hb/state"},
	} {
		w := newWorld(t)
		store, err := commit.OpenStore(w.at(tc.state))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		job := w.job(script("echo x >{{var}}/x", ""))
		job.Target.Protected = []string{w.at(tc.state)}
		_, err = interp.Apply(t.Context(), job, tc.host, interp.ApplyOptions{Store: store, Capture: interp.CaptureOverlay})
		if !errors.Is(err, interp.ErrNoLayers) || w.exists("hb/var/x") {
			t.Errorf("%s: got %v, want ErrNoLayers", name, err)
		}
		done, err := interp.Apply(t.Context(), job, tc.host, interp.ApplyOptions{Store: store})
		if err != nil || w.read("hb/var/x") != "x\n" {
			t.Fatalf("%s: %v", name, err)
		}
		if text := fmt.Sprintf("%s", done.Receipt.Runs); !strings.Contains(text, `"capture":"snapshot","no_overlay":"`) {
			t.Errorf("%s: the receipt has %s", name, text)
		}
	}
}

// A document's outputs must be where its command may write; that is found out
// before anything happens.
func TestOutputsAreWritable(t *testing.T) {
	t.Parallel()
	needJail(t)
	for _, tc := range []struct{ outputs, want string }{
		{`{"path": {"base": "home", "path": "x"}}`, "below no path that the command may write to"},
		{`{"path": {"base": "home", "path": "*/x"}, "count": "any"}`, "below no path"},
		{`{"path": {"path": "{W}/outside/x"}}`, "outside the directories"},
		{`{"path": {"base": "var", "path": "l/x"}}`, "leads out"},
		{`{"path": {"base": "var", "path": "l/*"}, "count": "any"}`, "leads out"},
		{`{"path": {"base": "var", "path": "a/."}}`, "must be a name"},
		{`{"path": {"base": "var", "path": "a/"}}`, "must be a name"},
	} {
		w := newWorld(t, "hb/var/l -> {W}/outside")
		w.refused(w.job(script("true", `"outputs": [`+tc.outputs+`]`)), tc.want)
	}
	// By a link inside, they are where the link leads.
	w := newWorld(t, "hb/var/real/", "hb/var/l -> real")
	_, err := w.apply(w.job(script("mkdir -p {{var}}/l/n/m; echo x >{{var}}/l/n/m/x; echo y >{{var}}/l/y",
		`"outputs": [{"path": {"base": "var", "path": "l/n/m/x"}}, {"path": {"base": "var", "path": "l/[y]"}, "count": "any"}]`)))
	if err != nil || w.read("hb/var/real/y") != "y\n" || w.read("hb/var/real/n/m/x") != "x\n" {
		t.Error(err)
	}
}

// The plan and the receipt have the whole policy, and no value of the user's.
func TestPolicyIsRecorded(t *testing.T) {
	needJail(t)
	t.Setenv("STEPS_TEST_SECRET", "do-not-tell")
	w := newWorld(t)
	job := w.job(script(`test ${#STEPS_TEST_SECRET} = 11 && test "$A" = b && test -z "$STEPS_TEST_UNSET"`,
		`"env": {"A": "b"}, "pass_env": ["STEPS_TEST_SECRET", "STEPS_TEST_UNSET"], "timeout": 77, "limits": {"open_files": 55}, "outputs": []`))
	w.refused(job, "--approve env:STEPS_TEST_SECRET")
	job.Target.Approved = []string{"env:STEPS_TEST_SECRET", "env:STEPS_TEST_UNSET"}
	plan, err := interp.MakePlan(t.Context(), job, interp.Machine{})
	if err != nil || len(plan.Refused) > 0 || len(plan.Actions) != 1 {
		t.Fatal(err, plan)
	}
	p := plan.Actions[0].Run.Policy
	if p.Limits.Timeout != 77 || p.Limits.OpenFiles != 55 || p.Limits.FileSize == 0 || p.Outputs == nil || len(p.Guarantees) == 0 ||
		!slices.Contains(p.Protect, w.at("state")) || !slices.Contains(p.Protect, w.at("hb/bin/brew")) || len(p.SystemReads) == 0 {
		t.Errorf("the policy is %+v", p)
	}
	// Something has to change, for there to be a receipt.
	job.Document.Blocks = append(job.Document.Blocks, w.job(`[{"type": "touch", "path": {"base": "var", "path": "x"}}]`).Document.Blocks...)
	done, err := w.apply(job)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s", done.Receipt.Runs)
	for _, want := range []string{`"pass_env":["STEPS_TEST_SECRET","STEPS_TEST_UNSET"]`, `"passed_env":["STEPS_TEST_SECRET"]`, `"timeout_seconds":77`, `"outputs":[]`, `"capture":"`, `"guarantees":{`, `"env":["A=b"]`} {
		if !strings.Contains(text, want) {
			t.Errorf("the receipt lacks %s: %s", want, text)
		}
	}
	err = filepath.WalkDir(w.at("state"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "do-not-tell") {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Limits are the step's own.
func TestLimits(t *testing.T) {
	t.Parallel()
	needJail(t)
	for _, tc := range []struct{ script, more, want string }{
		{"while :; do :; done", `"timeout": 1`, "longer than 1 seconds"},
		{"while :; do :; done", `"limits": {"cpu": 1}`, "SIG"},
		{"head -c 2000 /dev/zero >{{var}}/f", `"limits": {"file_size": 1000}`, "exited with 153"},
		{"head -c 2000 /dev/zero", `"limits": {"output": 1000}`, "more than 1000 bytes"},
		{"exit $(ulimit -n)", `"limits": {"open_files": 55}`, "exited with 55"},
	} {
		w := newWorld(t)
		w.refused(w.job(script(tc.script, tc.more)), tc.want)
	}
}

// Gaps and requirements that are none are said so; a requirement that is kept is
// no hindrance.
func TestGapsAndRequirements(t *testing.T) {
	t.Parallel()
	needJail(t)
	w := newWorld(t)
	job := w.job(`[{"type": "run", "command": {"path": "/bin/true"}}]`)
	for _, tc := range []struct {
		host interp.Machine
		want string
	}{
		{interp.Machine{Gaps: []string{"nonsense"}}, "nonsense"},
		{interp.Machine{Gaps: []string{"writes"}}, "writes"},
		{interp.Machine{Require: []string{"nonsense"}}, "nonsense"},
		{interp.Machine{Gaps: []string{"ipc"}, Require: []string{"writes"}}, ""},
	} {
		plan, err := interp.MakePlan(t.Context(), job, tc.host)
		if err != nil {
			t.Fatal(err)
		}
		if tc.want == "" {
			if len(plan.Refused) > 0 || plan.Actions[0].Run.Policy.Guarantees["ipc"] == "" || !slices.Equal(plan.Actions[0].Run.Policy.Gaps, tc.host.Gaps) {
				t.Errorf("%+v: %+v", tc.host, plan.Refused)
			}
			continue
		}
		if len(plan.Refused) != 1 || !strings.Contains(plan.Refused[0].Reason, tc.want) {
			t.Errorf("%+v: %+v", tc.host, plan.Refused)
		}
	}
	if _, err := interp.Apply(t.Context(), job, interp.Machine{}, interp.ApplyOptions{Store: w.store, Capture: "magic"}); err == nil || !strings.Contains(err.Error(), "magic") {
		t.Errorf("got %v", err)
	}
}
