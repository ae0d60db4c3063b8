package jail

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"steps.example/interp/jail"
)

// macAttacks are scripts that succeed without a jail and must fail in it. $OUT
// is a directory without a grant.
var macAttacks = []struct {
	number int
	name   string
	script string
}{
	{77, "open an application", `/usr/bin/open -g -j -a Finder`},
	{78, "script an application", `/usr/bin/osascript -e 'tell application "Finder" to get version'`},
	{79, "start a job", `/bin/launchctl submit -l "steps.conformance.$$" -- /usr/bin/true && /bin/launchctl remove "steps.conformance.$$"`},
	// 44 is the answer that there is no such password.
	{80, "ask for a password", `/usr/bin/security find-generic-password -s steps-conformance-none; test $? -eq 44`},
	{81, "connect to a socket", `/usr/bin/nc -U "$OUT/s" </dev/null`},
	{82, "resolve a name", `/usr/bin/nc -z -U /var/run/mDNSResponder`},
	{83, "read the pasteboard", `/usr/bin/pbpaste >/dev/null`},
	{84, "chmod u+s", `/bin/chmod u+s file`},
	{85, "rename a protected directory", `/bin/mv kept/hooks kept/other`},
	{85, "rename the directory above", `/bin/mv kept other`},
	{86, "run a copy of open", `/bin/cp /usr/bin/open ./copy && ./copy -g -j -a Finder`},
}

// macCases are the attacks with the real Seatbelt, and what its profile decides
// by the evaluator.
func macCases() []Case {
	var cases []Case
	for _, a := range macAttacks {
		cases = append(cases, Case{a.number, a.name, "denied", func(ctx context.Context, s *site, r *Result) {
			r.controlled(s.onMac(func(in, out string) error {
				cmd := exec.CommandContext(ctx, "/bin/sh", "-c", a.script)
				cmd.Dir = in
				cmd.Env = append(environment(in), "OUT="+out)
				text, err := cmd.CombinedOutput()
				if err != nil {
					return fmt.Errorf("%w: %s", err, text)
				}
				return nil
			}))
			err := s.onMac(func(in, out string) error {
				res, err := jail.Run(ctx, s.helper, jail.Policy{
					Reads: jail.SystemReads(), Execs: append(jail.SystemExecs(), in), Writes: []string{in},
					Protect: []string{filepath.Join(in, "kept/hooks")},
					Env:     append(environment(in), "OUT="+out), Dir: in,
				}, jail.Command{Path: "/bin/sh", Args: []string{"-c", a.script}})
				if err != nil {
					return err
				}
				r.Mechanism, r.Got = "seatbelt", "denied"
				if res.OK() {
					r.Got = "ok"
					r.fail("it went through")
				}
				return nil
			})
			if err != nil {
				r.fail("%v", err)
			}
		}})
	}
	return slices.Concat(cases, evaluated())
}

// onMac makes a writable directory and another for f.
func (s *site) onMac(f func(in, out string) error) (err error) {
	dir, err := os.MkdirTemp(s.base, "m")
	if err != nil {
		return err
	}
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	err = errors.Join(os.MkdirAll(filepath.Join(in, "kept/hooks"), 0o755), os.Mkdir(out, 0o755),
		os.WriteFile(filepath.Join(in, "file"), nil, 0o644))
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", filepath.Join(out, "s"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return f(in, out)
}
