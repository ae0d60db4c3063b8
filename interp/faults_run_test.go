package interp_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"steps.example/interp"
)

// The faults of other interpreters that concern commands and their sandboxes:
// 12 to 22 of the collection, and those of its part C about runs.

// tool skips where a program is missing.
func tool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("there is no %s here", name)
	}
}

// want applies and wants success, and a file that holds this; "" is no file.
func (w *world) want(job interp.Job, file, content string) {
	w.t.Helper()
	if _, err := w.apply(job); err != nil {
		w.t.Fatal(err)
	}
	if file != "" && w.read(file) != content {
		w.t.Errorf("%s holds %q, want %q", file, w.read(file), content)
	}
}

// 12: steps that need root failed once commands were sandboxed, those that need
// it without saying so longest. All say so before anything happens, and root's
// commands are jailed as well.
func TestFaultSudo(t *testing.T) {
	t.Parallel()
	const (
		explicit = `{"type": "run", "command": {"path": "/bin/true"}, "sudo": true}`
		implicit = `{"type": "set_ownership", "paths": [{"base": "var", "path": "f"}], "user": "nobody"}`
	)
	for step, capability := range map[string]string{explicit: "sudo", implicit: "ownership"} {
		w := newWorld(t, "hb/var/f=x")
		job := w.job(`[{"type": "touch", "path": {"base": "var", "path": "first"}}, ` + step + `]`)
		w.refused(job, "--approve "+capability)
		if os.Geteuid() != 0 {
			job.Target.Approved = []string{capability}
			w.refused(job, "needs root")
		}
	}
	needJail(t)
	if os.Geteuid() != 0 {
		return
	}
	w := newWorld(t)
	job := w.job(script("echo x >{W}/outside/secret; id -u >{{var}}/out", `"sudo": true`))
	job.Target.Approved = []string{"sudo"}
	w.want(job, "hb/var/out", "0\n")
	if got := w.read("outside/secret"); got != "secret" {
		t.Errorf("outside/secret holds %q", got)
	}
}

// listen accepts connections on a port of this machine.
func listen(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Skip("nobody can listen here:", err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// connect is a run step that notes in a file whether it could connect.
func connect(port int, file, more string) string {
	return fmt.Sprintf(`{"type": "run", "command": {"path": "/bin/bash"}, "args": ["-c", "if (exec 3<>/dev/tcp/127.0.0.1/%d) 2>/dev/null; then echo yes; else echo no; fi >{{var}}/%s"]%s}`, port, file, more)
}

// 13, C10: there was no network at all, and then one step that wanted it opened
// it for all the others.
func TestFaultNetworkPerStep(t *testing.T) {
	t.Parallel()
	needJail(t)
	tool(t, "/bin/bash")
	port, other := listen(t), listen(t)
	w := newWorld(t)
	job := w.job("[" + strings.Join([]string{
		connect(port, "1", ""), connect(port, "2", `, "network_access": true`), connect(port, "3", ""),
	}, ",") + "]")
	w.refused(job, "--approve network")
	job.Target.Approved = []string{"network"}
	w.want(job, "hb/var/1", "no\n")
	if got := w.read("hb/var/2") + w.read("hb/var/3"); got != "yes\nno\n" {
		t.Errorf("got %q", got)
	}

	// A port is no other port, and its approval that of no other port.
	ports := func(p int) string { return fmt.Sprintf(`, "network": {"tcp": [%d]}`, p) }
	w = newWorld(t)
	job = w.job("[" + strings.Join([]string{connect(port, "1", ports(port)), connect(other, "2", ports(port)), connect(port, "3", "")}, ",") + "]")
	w.refused(job, fmt.Sprintf("--approve network:tcp/%d", port))
	job.Target.Approved = []string{fmt.Sprintf("network:tcp/%d", port)}
	plan, err := interp.MakePlan(t.Context(), job, interp.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Refused) > 0 && strings.Contains(plan.Refused[0].Reason, "landlock abi") {
		t.Skip("single ports cannot be granted here:", plan.Refused[0].Reason)
	}
	w.want(job, "hb/var/1", "yes\n")
	if got := w.read("hb/var/2") + w.read("hb/var/3"); got != "no\nno\n" {
		t.Errorf("got %q", got)
	}
}

// 14, 15: the command inherited a working directory that it could not read, or
// one outside of its grants, and relative paths led nowhere.
func TestFaultWorkingDirectory(t *testing.T) {
	needJail(t)
	w := newWorld(t, "home/private/", "hb/Cellar/demo/1.0/marker=m")
	t.Chdir(w.at("home/private"))
	w.want(w.job(script("test \"$(pwd -P)\" = \"$PWD\" && pwd -P >{{var}}/out && cat marker >>{{var}}/out && ls ..", "")), "hb/var/out", w.at("hb/Cellar/demo/1.0")+"\nm")
}

// 16, 17: commands could read all of the user's files, and copy them to where
// others read them; then what was forbidden was listed entry by entry, without
// links and what came later.
func TestFaultUnrestrictedReads(t *testing.T) {
	t.Parallel()
	needJail(t)
	w := newWorld(t, "home/.ssh/id=key", "home/link -> .ssh/id", "home/d/e/f=deep", "home/d/.hidden=x")
	for _, path := range []string{"home/.ssh/id", "home/link", "home/d/e/f", "home/d/.hidden", "outside/secret", "state/lock"} {
		w.want(w.job(script("/bin/cp {W}/"+path+" {{var}}/stolen; cat {W}/"+path+" >{{var}}/out; ls {W}/"+path+"/..; true", `"outputs": [{"path": {"base": "var", "path": "out"}}]`)), "hb/var/out", "")
	}
	// What is there only after the jail was built.
	w.want(w.job(`[{"type": "run", "command": {"path": "/bin/true"}}, {"type": "write", "path": {"base": "var", "path": "x"}, "content": "mine"}, `+
		`{"type": "run", "command": {"path": "/bin/cat"}, "args": ["{{var}}/x"], "stdout_path": {"base": "var", "path": "y"}}]`), "hb/var/y", "mine")
}

// 18: programs failed for want of devices that do no harm; those that could are
// not there, and what a program does without them shows.
func TestFaultDevices(t *testing.T) {
	t.Parallel()
	needJail(t)
	w := newWorld(t)
	w.want(w.job(script(`echo x >/dev/null && head -c 3 /dev/zero | od -An -tx1 >out && head -c 8 /dev/urandom >/dev/null && ! echo x >/dev/full`,
		`"chdir": {"base": "var", "path": "."}`)), "hb/var/out", " 00 00 00\n")
	// Whether /dev/shm is there or not, it is not that of all others.
	name := fmt.Sprintf("/dev/shm/steps-test-%d", os.Getpid())
	w.want(w.job(script("echo x >"+name+"; (exec 3<>/dev/ptmx); true", "")), "", "")
	if _, err := os.Lstat(name); err == nil {
		os.Remove(name)
		t.Errorf("%s is there", name)
	}
}

// 19, C9: options with hyphens, spaces or quotes in them broke on the way into
// the sandbox, or arrived escaped for a shell that there was not.
func TestFaultOddOptions(t *testing.T) {
	t.Parallel()
	needJail(t)
	w := newWorld(t)
	odd := []string{"--no-quarantine", "--appdir=/a b", `-D"x"='y'`, "", "-", "--", "$HOME", "`id`", "a\nb", `\`, "é\u200d", "*", "=", "--x-y_z=1=2", "{{unknown}}"}
	args := make([]string, len(odd))
	for i, o := range odd {
		args[i] = fmt.Sprintf("%q", o)
	}
	job := w.job(fmt.Sprintf(`[{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "printf '<%%s>' \"$@\" \"$X_1\" \"$Y\"", "sh", %s],
		"env": {"X_1": "--a-b=c 'd'", "Y": ""}, "stdout_path": {"base": "var", "path": "out"}}]`,
		strings.ReplaceAll(strings.Join(args, ", "), `\u200d`, "\u200d")))
	w.want(job, "hb/var/out", "<"+strings.Join(append(odd, "--a-b=c 'd'", ""), "><")+">")
}

// 20: git takes a global configuration that it may not read for a fatal error.
func TestFaultGitConfig(t *testing.T) {
	t.Parallel()
	needJail(t)
	tool(t, "git")
	w := newWorld(t, "home/.gitconfig=[user]\n\tname = somebody\n")
	w.want(w.job(script("git config --list >/dev/null && git init -q r && git -C r status --short && rm -r r && echo ok >out", `"chdir": {"base": "var", "path": "."}`)), "hb/var/out", "ok\n")
}

// 21, 22: writing to $HOME failed, always, or went to a directory that nobody
// looks at; programs found ways round. It works, stays with the step, and the
// real one takes the user's word.
func TestFaultHome(t *testing.T) {
	needJail(t)
	w := newWorld(t, "home/mine/", "home/theirs=x")
	t.Setenv("HOME", w.at("home"))
	const inHome = `mkdir $HOME/.x && echo x >$HOME/.x/y && test -d "$TMPDIR" && test "$HOME" != {W}/home`
	w.want(w.job("["+script(inHome, "")[1:len(script(inHome, ""))-1]+", "+script("! test -e $HOME/.x && echo ok >{{var}}/out", "")[1:]), "hb/var/out", "ok\n")
	if w.exists("home/.x") {
		t.Error("it went to the user's home directory")
	}
	// The way to it is approval, by every name that a document has for it.
	real := w.job(script("echo a >$HOME/mine/a && echo b >{W}/home/mine/b && ! cat $HOME/theirs", `"pass_env": ["HOME"], "writable_paths": [{"path": "~/mine"}], "chdir": {"path": "~/mine"}`))
	w.refused(real, "--approve write:home")
	real.Target.Approved = []string{"write:home"}
	w.refused(real, "--approve env:HOME")
	real.Target.Approved = []string{"write:home", "env:HOME"}
	w.want(real, "home/mine/a", "a\n")
	// A step's own value counts more than the user's.
	own := w.job(script(`test "$HOME" = /own && echo own >{{var}}/out`, `"pass_env": ["HOME"], "env": {"HOME": "/own"}`))
	own.Target.Approved = []string{"env:HOME"}
	w.want(own, "hb/var/out", "own\n")
}

// C11, lotus: what a command may write to was made as a directory, before the
// guards were asked, and although it was to be a file.
func TestFaultGrantsAreMade(t *testing.T) {
	t.Parallel()
	for _, mode := range captures(t) {
		w := newWorld(t)
		w.capture = mode
		job := w.job(`[{"type": "run", "command": {"path": "/bin/sh"}, "args": ["-c", "echo ran >{{var}}/ran; echo x >{W}/home/.lotusrc; true"],
				"writable_paths": [{"base": "home", "path": ".lotusrc"}, {"base": "home", "path": "new/dir"}],
				"guards": [{"condition": "unless_exists", "id": "1", "base": "home", "path": ".lotusrc"}, {"condition": "unless_exists", "id": "2", "base": "home", "path": "new"}]},
			{"type": "touch", "path": {"base": "var", "path": "guarded"}, "guards": [{"condition": "if_exists", "id": "3", "base": "home", "path": "new"}]}]`)
		job.Target.Approved = []string{"write:home"}
		plan, err := interp.MakePlan(t.Context(), job, interp.Machine{})
		if err != nil || len(plan.Actions) != 1 {
			t.Fatal(err, plan)
		}
		if got := fmt.Sprint(plan.Actions[0].Run.Policy.Absent); got != fmt.Sprint([]string{w.at("home/.lotusrc"), w.at("home/new/dir")}) {
			t.Errorf("the plan says that %s is absent", got)
		}
		w.want(job, "hb/var/ran", "ran\n")
		for _, name := range []string{"home/.lotusrc", "home/new", "hb/var/guarded"} {
			if w.exists(name) {
				t.Errorf("%s: %s is there", mode, name)
			}
		}
	}
}

// C12: a file alone was granted, and what rewrites it needs its directory. Typed
// steps need no grant; a command with one can write to the file, no other.
func TestFaultFileGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "hb/etc/conf=old")
	w.want(w.job(`[{"type": "inreplace", "path": {"base": "etc", "path": "conf"}, "before": "old", "after": "new"}]`), "hb/etc/conf", "new")
	for _, mode := range captures(t) {
		w := newWorld(t, "home/conf=old\n", "home/other=x")
		w.capture = mode
		grant := `"writable_paths": [{"base": "home", "path": "conf"}]`
		// Outside of its grants, what it writes is denied or goes nowhere.
		job := w.job(script("echo new >>{W}/home/conf; (echo y >{W}/home/other); (echo y >{W}/home/third); true", grant))
		job.Target.Approved = []string{"write:home"}
		w.want(job, "home/conf", "old\nnew\n")
		if got := w.read("home/other"); got != "x" || w.exists("home/third") {
			t.Errorf("%s: home/other holds %q, or home/third is there", mode, got)
		}
		job = w.job(script("sed -i s/old/x/ {W}/home/conf", grant))
		job.Target.Approved = []string{"write:home"}
		w.refused(job, "exited with")
	}
}
