// Package jail runs one command so that it can reach only what its policy
// names. It is for `run` steps, the only steps that execute code, and for any
// other command that a user wants confined the same way.
//
//	res, err := jail.Run(ctx, helper, jail.Policy{
//		Reads:  jail.SystemReads(),
//		Execs:  jail.SystemExecs(),
//		Writes: []string{"/opt/prefix/var/app"},
//		Env:    []string{"PATH=/usr/bin:/bin"},
//		Dir:    "/opt/prefix/var/app",
//	}, jail.Command{Path: "/usr/bin/make", Args: []string{"install"}})
//
// An error from [Run] means that the jail refused or failed and gives no
// account of the command; what the command did is in the [Result].
//
// # How it works on Linux
//
// The caller's process is never restricted. Run starts a helper process (see
// [Helper]) with an empty environment, gives it the policy in sealed memory,
// and the helper forks the command and stays as its supervisor. Between fork
// and exec the child leaves its session and terminal, sheds descriptors,
// capabilities and privileges, and puts itself under Landlock and seccomp.
// The supervisor is the reaper of every descendant and is itself in a Landlock
// domain whose only right to signal is towards its descendants: one
// kill(-1, SIGKILL) from there ends the whole tree, daemons and fork bombs
// included, and nothing else. Run returns when the kernel says that no
// descendant is left.
//
// Nothing is best effort. [Check] says what the machine offers,
// [Support.Judge] which mechanism keeps each guarantee for a policy, and
// whatever is missing is a refusal unless the policy accepts that gap by name.
//
// # What it does not protect against
//
//   - Metadata outside the writable directories: the command can still chmod,
//     chown and set times of files that its user owns, wherever they are
//     (guarantee "metadata", not kept yet).
//   - Names: it can learn whether a path exists, its size, mode and link
//     target, anywhere its user may look (guarantee "names", not kept yet).
//   - What it puts into its writable directories. Look at that before use, and
//     never run tools there.
//   - Reading is as good as executing: an interpreter can run a readable file.
//   - Use of processor, memory, disk and, for root, processes, beyond the
//     limits in the policy, which are per process.
//   - The death of the supervisor by other hands (the out-of-memory killer):
//     the command dies with it, but processes that it started may live on,
//     still confined.
//   - Faults in the kernel.
//
// Other systems than Linux have no jail yet: every Run there is refused.
package jail
