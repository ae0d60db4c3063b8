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
// Nothing is best effort. [Check] says what the machine offers,
// [Support.Judge] which mechanism keeps each of the [Guarantees] for a policy,
// and whatever is missing is a refusal unless the policy accepts that gap by
// name. [Canary] tries a jail before it is relied upon.
//
// # How it works on Linux
//
// The caller's process is never restricted. Run opens the helper (see
// [Helper]), starts that file with an empty environment, gives it the policy in
// sealed memory, and the helper forks the command and stays as its supervisor.
// Between fork and exec the child leaves its session and terminal, sheds
// descriptors, capabilities and privileges, and puts itself under Landlock and
// seccomp. Run returns when the kernel says that no descendant is left.
//
// Where a user may have them, the helper is the first process of namespaces of
// its own, and the jail is stronger by this:
//
//   - The root directory is a private one, in which the granted paths and the
//     links that lead to them are all there is, mounted read-only unless they
//     are writable; with /tmp and /dev/shm that are the command's own and
//     limited to a gigabyte together, the five harmless devices, and a /proc of
//     its own processes in which Landlock lets no file be opened.
//   - No process outside can be named, and the whole tree ends with the helper,
//     also if the helper or the caller is killed.
//   - What is written below a directory can be redirected, see [Layer].
//   - For root too there is a limit on processes, from Linux 6.14 on.
//
// Where namespaces are forbidden, as in many containers and in a jail of ours,
// Landlock and seccomp do what they can alone: the guarantees "metadata" and
// "names" are not kept, unless by [Policy.Protect] for single files. The
// supervisor is then the reaper of every descendant, in a Landlock domain whose
// only right to signal is towards these: one kill(-1, SIGKILL) from there ends
// all of them at once, daemons and fork bombs included, and nothing else.
// Before Landlock ABI 6 there is no such domain; the tree is then found in
// /proc, and signals are a gap to be accepted.
//
// Jails can be made in jails, eight deep: Landlock has 16 layers, and a jail
// takes two of them, the command's and the supervisor's, or one where it has
// namespaces. One for both would let the command signal its supervisor.
//
// On macOS the policy becomes a Seatbelt profile, see package sbpl.
//
// # What differs with namespaces
//
// Each writable path is a mount: moving a file from one to another copies it,
// and the path itself cannot be renamed. A layer is one mount for all paths
// below it, but in it directories that were there before cannot be moved,
// except by programs that copy them. For an unprivileged user, files of others
// show as the overflow user's.
//
// # Processes, memory, time
//
// Limits are per process, except that on the number of processes. With
// namespaces it counts those of the jail; without, all of the user's, inside
// and outside, and root has none. The smallest that root can have is 301.
//
// # What it does not protect against
//
//   - Without namespaces, metadata outside the writable directories: the
//     command can chmod, chown and set times of files that its user owns.
//   - Without namespaces, names: it can learn whether a path exists, its size,
//     mode and link target, anywhere its user may look.
//   - What it puts into its writable directories. Look at that before use, and
//     never run tools there.
//   - Reading is as good as executing: an interpreter can run a readable file.
//   - With Ports, whom it talks to: a port is granted at every address. With
//     port 53 a name server can carry anything anywhere.
//   - Use of processor, memory and disk beyond the limits in the policy.
//   - Without namespaces, the death of the supervisor by other hands (the
//     out-of-memory killer): the command dies with it, but processes that it
//     started may live on, still confined.
//   - Faults in the kernel. Namespaces put more of it within reach of the
//     helper, not of the command, to which the filter denies them.
package jail
