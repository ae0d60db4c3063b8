package sbpl

import (
	"fmt"
	"path"
	"slices"
)

func (w World) fileProbes() []Probe {
	return []Probe{
		{1, "read outside", 1, false, false, one("file-read-data", w.out("file"))},
		{2, "list outside", 2, false, false, one("file-read-data", w.Out)},
		{3, "write outside", 3, false, false, one("file-write-data", w.out("file"))},
		{3, "write readable", 3, false, false, one("file-write-data", w.ro("file"))},
		{4, "create outside", 4, false, false, one("file-write-create", w.out("new"))},
		{4, "create beside readable", 4, false, false, one("file-write-create", w.ro("new"))},
		{5, "unlink outside", 5, false, false, one("file-write-unlink", w.out("file"))},
		{6, "truncate outside", 6, false, false, one("file-write-data", w.out("file"))},
		{7, "open readable with truncation", 7, false, false, on(w.ro("file"), "file-read-data", "file-write-data")},
		{8, "rename out to in", 8, false, false, rename(w.out("file"), w.in("new"))},
		{9, "rename in to out", 9, false, false, rename(w.in("file"), w.out("new"))},
		{10, "link out to in", 10, false, false, link(w.out("file"), w.in("new"))},
		{11, "link readable to in", 11, false, false, link(w.ro("file"), w.in("new"))},
		{13, "exchange in and out", 13, false, false, slices.Concat(
			rename(w.in("file"), w.out("file")), rename(w.out("file"), w.in("file")))},
		{14, "rename the writable directory", 14, false, false, rename(w.In, w.In+"2")},
		{14, "remove the writable directory", 14, false, false, one("file-write-unlink", w.In)},
		// The kernel asks about the place that a planted link leads to.
		{15, "read by planted symlink", 15, false, false, slices.Concat(
			one("file-write-create", w.in("planted")), one("file-read-data", w.out("file")))},
		{19, "execute outside", 19, false, false, one("process-exec", w.out("tool"))},
		{19, "execute readable", 19, false, false, one("process-exec", w.ro("tool"))},
		{20, "execute writable", 20, false, false, one("process-exec", w.in("tool"))},
		{20, "map writable as code", 0, false, false, one("file-map-executable", w.in("tool"))},
		{25, "fchmod u+s", 25, false, false, on(w.in("file"), "file-write-mode", "file-write-setugid")},
		{27, "create u+s", 27, false, false, on(w.in("new"), "file-write-create", "file-write-setugid")},
		{28, "set extended attribute", 28, false, false, one("file-write-xattr", w.in("file"))},
		{28, "set extended attribute outside", 28, false, false, one("file-write-xattr", w.out("file"))},
		{29, "file flags", 29, false, false, one("file-write-flags", w.ro("file"))},
		{66, "terminal", 66, false, true, on("/dev/tty", "file-read-data", "file-write-data", "file-ioctl")},
		{67, "new terminal", 67, false, false, slices.Concat(one("pseudo-tty", ""), one("file-read-data", "/dev/ptmx"))},
		{76, "chmod outside", 76, false, false, one("file-write-mode", w.out("file"))},
		{76, "times outside", 76, false, false, one("file-write-times", w.out("file"))},
	}
}

func (w World) socketProbes() []Probe {
	port := func(p uint16) bool { return w.Network || slices.Contains(w.Ports, p) }
	probes := []Probe{
		{32, "tcp connect", 32, port(443), false, connect("AF_INET", "tcp:192.0.2.1:443")},
		{32, "tcp connect over ipv6", 32, port(443), false, connect("AF_INET6", "tcp:2001:db8::1:443")},
		{32, "tcp connect to another port", 32, w.Network, false, connect("AF_INET", "tcp:192.0.2.1:6")},
		{33, "tcp bind", 33, w.Network, false, []Request{{"system-socket", "AF_INET"}, {"network-bind", "tcp:127.0.0.1:0"}}},
		{34, "multipath socket", 34, false, false, one("system-socket", "AF_MULTIPATH")},
		{36, "tcp listen", 36, w.Network, false, []Request{{"system-socket", "AF_INET"}, {"network-inbound", "tcp:0.0.0.0:0"}}},
		{37, "udp send", 37, w.Network, false, connect("AF_INET", "udp:192.0.2.1:53")},
		{38, "routing socket", 38, false, false, one("system-socket", "AF_ROUTE")},
		{39, "vsock", 39, false, false, one("system-socket", "AF_VSOCK")},
		{40, "raw kernel socket", 40, false, false, one("system-socket", "AF_SYSTEM")},
		{41, "unix connect", 41, false, true, connect("AF_UNIX", "unix:"+w.out("s"))},
		{42, "unix datagram", 42, false, true, connect("AF_UNIX", "unix:"+w.out("s"))},
		{24, "unix bind", 24, false, true, []Request{{"system-socket", "AF_UNIX"}, {"network-bind", "unix:" + w.in("s")}}},
	}
	for _, p := range w.Ports {
		probes = append(probes, Probe{32, fmt.Sprintf("tcp connect to granted port %d", p), 32, true, false, connect("AF_INET", fmt.Sprintf("tcp:192.0.2.1:%d", p))})
	}
	return probes
}

func (w World) processProbes() []Probe {
	return []Probe{
		{45, "signal a process", 45, false, false, one("signal", "others")},
		{48, "trace a process", 48, false, false, one("mach-priv-task-port", "others")},
		{49, "inspect a process", 49, false, false, one("process-info-pidinfo", "others")},
		{49, "list processes", 49, false, true, []Request{{"process-info-listpids", "others"}, {"sysctl-read", "kern.proc.all"}}},
		{54, "environment of a process", 54, false, false, one("sysctl-read", "kern.procargs2.100")},
		{68, "shared memory", 68, false, false, one("ipc-posix-shm", "/steps")},
		{69, "system v ipc", 69, false, true, []Request{{"ipc-sysv-shm", ""}, {"ipc-sysv-sem", ""}, {"ipc-sysv-msg", ""}}},
	}
}

// macProbes are the ways out that only macOS has, and two that have the same
// name everywhere. Denying one tool by name is no use, as it can be copied; so
// these ask for what the tools ask for.
func (w World) macProbes() []Probe {
	launch := slices.Concat(one("lsopen", ""), lookup(
		"com.apple.coreservices.launchservicesd", "com.apple.lsd.open", "com.apple.lsd.mapdb", "com.apple.lsd.modifydb",
		"com.apple.coreservices.quarantine-resolver"))
	return []Probe{
		{77, "open an application (open)", 0, false, true, launch},
		{78, "script an application (osascript)", 0, false, true, slices.Concat(
			one("appleevent-send", "com.apple.finder"), lookup("com.apple.coreservices.appleevents", "com.apple.tccd"))},
		{79, "start a job (launchctl)", 0, false, true, slices.Concat(one("job-creation", ""),
			lookup("com.apple.xpc.launchd.user.domain", "com.apple.xpc.smd"), one("mach-register", "steps.example.job"),
			one("file-write-create", w.home("Library/LaunchAgents/job.plist")))},
		{80, "read a password (security find-generic-password)", 0, false, true, slices.Concat(
			lookup("com.apple.SecurityServer", "com.apple.securityd", "com.apple.securityd.xpc", "com.apple.security.agent"),
			one("file-read-data", w.home("Library/Keychains/login.keychain-db")))},
		{81, "docker.sock", 41, false, true, slices.Concat(
			connect("AF_UNIX", "unix:/private/var/run/docker.sock"), one("network-outbound", "unix:"+w.home(".docker/run/docker.sock")))},
		{82, "resolve a name (mDNSResponder)", 41, false, true, slices.Concat(
			one("network-outbound", "unix:/private/var/run/mDNSResponder"), lookup("com.apple.mDNSResponder", "com.apple.dnssd.service"))},
		{83, "read the pasteboard (pbpaste)", 0, false, true, lookup("com.apple.pasteboard.1", "com.apple.pboard")},
		{84, "chmod u+s", 25, false, false, on(w.in("file"), "file-write-mode", "file-write-setugid")},
		{86, "run a copy of open", 20, false, false, slices.Concat(
			one("file-write-create", w.in("open")), one("process-exec", w.in("open")))},
		{86, "copies have no more services", 0, false, true, launch},
		{86, "devices and preferences", 0, false, true, slices.Concat(
			one("iokit-open", "IOUserClient"), one("user-preference-write", "com.apple.finder"),
			one("distributed-notification-post", "x"), one("system-mac-syscall", ""), one("sysctl-write", "kern.hostname"))},
	}
}

func (w World) protectedProbes() []Probe {
	if w.Protected == "" {
		return nil
	}
	above := path.Dir(w.Protected)
	within := path.Join(w.Protected, "file")
	return []Probe{
		{85, "rename a protected directory", 0, false, false, rename(w.Protected, w.in("moved"))},
		{85, "rename the directory above", 0, false, false, rename(above, w.in("moved"))},
		{85, "rename onto a protected directory", 0, false, false, rename(w.in("dir"), w.Protected)},
		{85, "rename onto the directory above", 0, false, false, rename(w.in("dir"), above)},
		{85, "change in a protected directory", 0, false, true, on(within,
			"file-write-data", "file-write-create", "file-write-unlink", "file-write-mode", "file-write-times", "file-write-owner")},
		{85, "link a protected file", 0, false, false, link(within, w.in("new"))},
		{85, "read a protected file", 0, true, false, one("file-read-data", within)},
		{85, "create beside the protected directory", 0, true, false, one("file-write-create", path.Join(above, "new"))},
	}
}

func (w World) allowedProbes() []Probe {
	return []Probe{
		{87, "read in", 87, true, false, one("file-read-data", w.in("file"))},
		{87, "write in", 87, true, false, one("file-write-data", w.in("file"))},
		{87, "rename in", 87, true, false, rename(w.in("file"), w.in("new"))},
		{87, "fifo in", 87, true, false, one("file-write-create", w.in("fifo"))},
		{87, "symlink in", 87, true, false, one("file-write-create", w.in("link"))},
		{87, "list in", 87, true, false, one("file-read-data", w.In)},
		{87, "mode and times in", 87, true, false, on(w.in("file"), "file-write-mode", "file-write-times")},
		{87, "read readable", 87, true, false, one("file-read-data", w.ro("file"))},
		{88, "run a program", 88, true, false, slices.Concat(one("process-fork", ""),
			on(w.bin("true"), "process-exec", "file-read-data", "file-map-executable"),
			on("/System/Library/dyld/dyld_shared_cache_arm64e", "file-read-data", "file-map-executable"),
			one("sysctl-read", "hw.ncpu"), one("file-read-data", "/"))},
		{88, "run a script", 88, true, false, one("process-exec-interpreter", w.bin("sh"))},
		{89, "signal an own child", 89, true, false, one("signal", "same-sandbox")},
		{92, "null device", 92, true, false, on("/dev/null", "file-read-data", "file-write-data")},
		{96, "rename across directories", 96, true, false, rename(w.in("file"), w.in("dir/file"))},
	}
}
