//go:build linux && (amd64 || arm64)

package seccomp

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Supported tells whether there is a filter for this architecture.
const Supported = true

// Options are the parts of the filter that depend on the policy.
type Options struct {
	Network bool // allow TCP and UDP over IP
	Ports   bool // allow TCP connections, which Landlock confines to ports
	IPC     bool // allow System V and POSIX message IPC
}

// newest is the last system call that the table was made for: numbers above
// it get ENOSYS.
const newest = unix.SYS_RSEQ_SLICE_YIELD

// Filter returns the program for o. Callers share it and must not change it.
func Filter(o Options) []unix.SockFilter {
	built.Lock()
	defer built.Unlock()
	if built.programs[o] == nil {
		built.programs[o] = assemble(arch, newest, rules(o))
	}
	return built.programs[o]
}

var built = struct {
	sync.Mutex
	programs map[Options][]unix.SockFilter
}{programs: map[Options][]unix.SockFilter{}}

func rules(o Options) []rule {
	all := slices.Concat(always, legacy, sockets(o))
	if !o.IPC {
		all = append(all, ipc...)
	}
	return all
}

const (
	setID      = unix.S_ISUID | unix.S_ISGID
	creates    = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
)

// ioctls are the requests that files, pipes and terminals answer to ordinary
// programs. All others are denied: the list of those that push input into
// terminals, change files behind Landlock's back (subvolumes, file flags,
// verity) or drive devices has no end.
var ioctls = []uint32{
	unix.TCGETS, unix.TCGETS2, unix.TCSETS, unix.TCSETSW, unix.TCSETSF, unix.TIOCGWINSZ, unix.TIOCGPGRP,
	fionread, fionbio, fioclex, fionclex, fioasync, figetbsz,
	unix.FICLONE, unix.FICLONERANGE, fiemap, unix.FS_IOC_GETFLAGS, fsGetXattr,
}

// The kernel's numbers for requests that the unix package does not name.
const (
	fionread   = 0x541b
	fionbio    = 0x5421
	fionclex   = 0x5450
	fioclex    = 0x5451
	fioasync   = 0x5452
	figetbsz   = 2
	fiemap     = 0xc020660b
	fsGetXattr = 0x801c581f
)

// always holds for every policy. A reason stands above each group.
var always = slices.Concat(
	// Ways around this filter or Landlock: rings submit calls unseen, clone3
	// and openat2 take their flags by pointer, memory files have no path.
	// Programs fall back on ENOSYS.
	every(unix.ENOSYS, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_MEMFD_SECRET,
		unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_LISTNS),
	every(unix.EPERM, unix.SYS_EXECVEAT),
	// Landlock lets memory files be executed, by their links in /proc too.
	[]rule{{unix.SYS_MEMFD_CREATE, deny(unix.ENOSYS), []cond{masked(1, unix.MFD_NOEXEC_SEAL, 0)}}},

	// Other processes.
	every(unix.EPERM, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
		unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES),
	// Landlock's signal scope does not cover limits: a processor limit of zero
	// on another process kills it.
	[]rule{
		{unix.SYS_PRLIMIT64, deny(unix.EPERM), []cond{isNot(0, 0)}},
		{unix.SYS_SCHED_SETAFFINITY, deny(unix.EPERM), []cond{isNot(0, 0)}},
		{unix.SYS_SCHED_SETATTR, deny(unix.EPERM), []cond{isNot(0, 0)}},
		{unix.SYS_SCHED_SETPARAM, deny(unix.EPERM), []cond{isNot(0, 0)}},
		{unix.SYS_SCHED_SETSCHEDULER, deny(unix.EPERM), []cond{isNot(0, 0)}},
		{unix.SYS_SETPRIORITY, deny(unix.EPERM), []cond{isNot(0, unix.PRIO_PROCESS)}},
		{unix.SYS_SETPRIORITY, deny(unix.EPERM), []cond{isNot(1, 0)}},
		{unix.SYS_IOPRIO_SET, deny(unix.EPERM), []cond{isNot(0, ioprioWhoProcess)}},
		{unix.SYS_IOPRIO_SET, deny(unix.EPERM), []cond{isNot(1, 0)}},
		// Signals and leases by way of descriptors.
		{unix.SYS_FCNTL, deny(unix.EPERM), []cond{is(1, unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG, unix.F_NOTIFY, unix.F_SETLEASE)}},
	},
	// Events on files tell of their use, wherever they are.
	every(unix.EPERM, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK),

	// Namespaces, mounts, and files by handle instead of path.
	every(unix.EPERM, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
		unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
		unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT),
	[]rule{{unix.SYS_CLONE, deny(unix.EPERM), []cond{has(0, namespaces)}}},

	// Keyrings, programs in the kernel, faults handled by the faulting program.
	every(unix.EPERM, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_LSM_SET_SELF_ATTR),

	// The machine. These need capabilities that are gone; this saves the
	// kernel from having to say so.
	every(unix.EPERM, unix.SYS_ACCT, unix.SYS_CLOCK_ADJTIME, unix.SYS_CLOCK_SETTIME, unix.SYS_DELETE_MODULE, unix.SYS_FINIT_MODULE,
		unix.SYS_INIT_MODULE, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_LOAD, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
		unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_REBOOT, unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME,
		unix.SYS_SETTIMEOFDAY, unix.SYS_SWAPOFF, unix.SYS_SWAPON, unix.SYS_SYSLOG, unix.SYS_VHANGUP),

	// Files that lend their owner's rights, and device nodes.
	[]rule{
		{unix.SYS_FCHMOD, deny(unix.EPERM), []cond{has(1, setID)}},
		{unix.SYS_FCHMODAT, deny(unix.EPERM), []cond{has(2, setID)}},
		{unix.SYS_FCHMODAT2, deny(unix.EPERM), []cond{has(2, setID)}},
		{unix.SYS_OPENAT, deny(unix.EPERM), []cond{has(2, creates), has(3, setID)}},
		{unix.SYS_MKDIRAT, deny(unix.EPERM), []cond{has(2, setID)}},
		{unix.SYS_MKNODAT, deny(unix.EPERM), []cond{has(2, setID)}},
		{unix.SYS_MKNODAT, deny(unix.EPERM), []cond{masked(2, unix.S_IFMT, unix.S_IFCHR, unix.S_IFBLK)}},
	},

	// Attributes, on any file that the user owns. Programs that copy files
	// take this answer for a file system without them; any other stops them.
	every(unix.EOPNOTSUPP, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR),

	[]rule{{unix.SYS_IOCTL, deny(unix.ENOTTY), []cond{isNot(1, ioctls...)}}},
)

const ioprioWhoProcess = 1

// ipc reaches whatever shares the IPC namespace, by number instead of path.
var ipc = every(unix.EPERM, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMDT,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY, unix.SYS_MQ_GETSETATTR)

func every(errno unix.Errno, numbers ...uint32) []rule {
	rules := make([]rule, len(numbers))
	for i, nr := range numbers {
		rules[i] = rule{nr: nr, answer: deny(errno)}
	}
	return rules
}
