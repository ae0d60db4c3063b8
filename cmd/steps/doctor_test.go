package main

import (
	"strings"
	"testing"

	"steps.example/interp/jail"
)

// Advice names the cause that the machine shows, and what to do about it.
func TestAdvise(t *testing.T) {
	t.Parallel()
	const good = 7
	for _, tc := range []struct {
		name  string
		facts facts
		s     jail.Support
		want  []string // parts of the advice, one entry each
	}{
		{"nothing is missing", facts{}, jail.Support{Landlock: good, Seccomp: true, Namespaces: true, Proc: true}, nil},
		{"not enabled at boot", facts{landlock: landlockDisabled, lsm: "capability,yama,apparmor"}, jail.Support{Seccomp: true, Namespaces: true, Proc: true},
			[]string{"not enabled at boot: add lsm=landlock,capability,yama,apparmor to the kernel's command line"}},
		{"not enabled at boot, the rest unknown", facts{landlock: landlockDisabled}, jail.Support{Seccomp: true, Namespaces: true, Proc: true},
			[]string{"add lsm=landlock,NAMES, NAMES being those that /sys"}},
		{"an old kernel", facts{landlock: landlockUnknown, kernel: "5.4.0"}, jail.Support{Seccomp: true, Namespaces: true, Proc: true},
			[]string{"this kernel (5.4.0) has no Landlock"}},
		{"forbidden in a container", facts{landlock: landlockForbidden, container: "docker", confined: true}, jail.Support{Seccomp: true, Namespaces: true, Proc: true},
			[]string{"forbidden to this process by what it runs in, a container (docker): allow the system calls landlock_create_ruleset"}},
		{"writes not confined", facts{kernel: "5.19.0"}, jail.Support{Landlock: 2, Seccomp: true, Namespaces: true, Proc: true},
			[]string{"too old to confine writes: use a kernel of Linux 6.12 or later (6.2 is the least)"}},
		{"signals not confined", facts{kernel: "6.8.0"}, jail.Support{Landlock: 4, Seccomp: true, Namespaces: true, Proc: true},
			[]string{"does not confine signals: use a kernel of Linux 6.12 or later, or accept that with --allow-gap signals"}},
		{"no seccomp", facts{}, jail.Support{Landlock: good, Namespaces: true, Proc: true}, []string{"CONFIG_SECCOMP_FILTER"}},
		{"Docker's default profile", facts{container: "docker", confined: true}, jail.Support{Landlock: good, Seccomp: true, Proc: true},
			[]string{"forbidden in this container (docker; Docker's default profile does that): start the container with"}},
		{"Ubuntu", facts{apparmorUserns: "1"}, jail.Support{Landlock: good, Seccomp: true, Proc: true},
			[]string{"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"}},
		{"Ubuntu, but root", facts{apparmorUserns: "1", root: true}, jail.Support{Landlock: good, Seccomp: true, Proc: true},
			[]string{"this kernel makes no user namespaces for this process"}},
		{"Debian before 11", facts{unprivilegedUserns: "0"}, jail.Support{Landlock: good, Seccomp: true, Proc: true},
			[]string{"sysctl -w kernel.unprivileged_userns_clone=1"}},
		{"turned off", facts{maxUserNamespaces: "0"}, jail.Support{Landlock: good, Seccomp: true, Proc: true},
			[]string{"sysctl -w user.max_user_namespaces=15000, as root; until then metadata and names are declared gaps"}},
		{"in another jail", facts{confined: true}, jail.Support{Landlock: good, Seccomp: true, Proc: true},
			[]string{"forbidden by the sandbox that this runs in"}},
		{"an old kernel without /proc", facts{kernel: "6.8.0"}, jail.Support{Landlock: 4, Seccomp: true, Namespaces: true},
			[]string{"does not confine signals", "mount /proc"}},
	} {
		tc.s.System = "linux/amd64"
		got := advise(tc.facts, tc.s)
		if len(got) != len(tc.want) {
			t.Errorf("%s: %d pieces of advice, want %d: %v", tc.name, len(got), len(tc.want), got)
			continue
		}
		for i, a := range got {
			if text := a.Why + ": " + a.Do; !strings.Contains(text, tc.want[i]) {
				t.Errorf("%s: %q does not say %q", tc.name, text, tc.want[i])
			}
		}
	}
	if got := advise(facts{}, jail.Support{System: "darwin/arm64"}); got != nil {
		t.Errorf("advice for Linux on a Mac: %v", got)
	}
}

func TestWrapped(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 40) + strings.Repeat("x", 100) + " end"
	lines := strings.Split(wrapped(long, 12), "\n")
	for i, line := range lines {
		if i > 0 && !strings.HasPrefix(line, strings.Repeat(" ", 12)) {
			t.Errorf("line %d is not indented: %q", i, line)
		}
		width := len(line)
		if i == 0 {
			width += 12
		}
		if width > 80 && !strings.Contains(line, "xx") {
			t.Errorf("line %d has %d columns", i, width)
		}
	}
	if got := strings.Join(strings.Fields(strings.Join(lines, " ")), " "); got != strings.TrimSpace(long) {
		t.Errorf("words were lost: %q", got)
	}
}
