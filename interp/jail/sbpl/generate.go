package sbpl

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Param is a parameter of a profile: (param "Key") in it stands for Value.
type Param struct{ Key, Value string }

// A Program is a profile and its parameters.
type Program struct {
	Text   string
	Params []Param
}

// Args returns the arguments of sandbox-exec before the command.
func (p Program) Args() []string {
	var args []string
	for _, param := range p.Params {
		args = append(args, "-D", param.Key+"="+param.Value)
	}
	return append(args, "-p", p.Text)
}

// Parse reads the program as [Parse] does.
func (p Program) Parse() (*Profile, error) {
	params := make(map[string]string, len(p.Params))
	for _, param := range p.Params {
		if _, ok := params[param.Key]; ok {
			return nil, fmt.Errorf("sandbox profile: parameter %q is given twice", param.Key)
		}
		params[param.Key] = param.Value
	}
	return Parse(p.Text, params)
}

// system is what every program of macOS reads and maps to start: the linker,
// its shared cache, the frameworks and what the C library looks up. Neither the
// whole of /System, as /System/Volumes/Data is another name for everybody's
// files, nor the whole of /usr, as /usr/local belongs to users.
var system = []string{
	"/System/Library", "/System/Cryptexes", "/System/iOSSupport",
	"/System/Volumes/Preboot/Cryptexes", "/private/preboot/Cryptexes",
	"/usr/lib", "/usr/libexec", "/usr/share", "/Library/Apple",
	"/private/var/db/dyld", "/private/var/db/timezone",
}

// devices hold nothing and keep nothing. Those in sinks may be written too: the
// second is opened for writing by the linker of every traced process.
var (
	devices = []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper"}
	sinks   = []string{"/dev/null", "/dev/dtracehelper"}
)

// services are the Mach services that the C library asks for by itself: names
// of users and groups, the log, and notices of changed settings. The others
// judge certificates and are of use only with a network.
var (
	services        = []string{"com.apple.system.opendirectoryd.libinfo", "com.apple.system.logger", "com.apple.system.notification_center"}
	networkServices = []string{"com.apple.trustd", "com.apple.trustd.agent"}
)

// Generate returns the profile of a policy. It also allows what every command
// needs: to fork, to signal and inspect processes of the same jail, to learn
// about the machine, to learn whether files exist, to read the system's
// libraries, and three Mach services.
//
// It never allows opening applications, Apple events, jobs of launchd, the
// keychain, the pasteboard, devices, shared memory, preferences, Unix sockets
// or programs outside the sandbox, and no set-user-id files, extended
// attributes, file flags or hard links anywhere.
func Generate(p Policy) (Program, error) {
	if err := p.Validate(); err != nil {
		return Program{}, err
	}
	w := writer{}
	w.line("(version 1)")
	w.line("(deny default)")
	w.processes()
	w.rule("allow", "mach-lookup", w.quoted("global-name", services))
	w.line("(allow file-read-metadata)")
	w.rule("allow", "file-read*", w.paths("literal", "ROOT", []string{"/"})+w.paths("literal", "DEVICE", devices))
	w.rule("allow", "file-write-data", w.paths("literal", "SINK", sinks))
	w.rule("allow", "file-read* file-map-executable", w.paths("subpath", "SYSTEM", system))
	w.rule("allow", "file-read*", w.paths("subpath", "READ", outermost(p.Reads)))
	w.rule("allow", "process-exec* file-read* file-map-executable", w.paths("subpath", "EXEC", outermost(p.Execs)))
	writes := outermost(p.writes())
	w.rule("allow", "file-read* file-write*", w.paths("subpath", "WRITE", writes))
	w.network(p)
	w.denies(p, writes)
	return Program{Text: w.text.String(), Params: w.params}, nil
}

type writer struct {
	text   strings.Builder
	params []Param
}

func (w *writer) line(text string) { w.text.WriteString(text + "\n") }

// rule writes a rule with filters, or nothing without them: a rule that has
// lost its filters would be one for everything.
func (w *writer) rule(action, operations, filters string) {
	if filters != "" {
		w.line("(" + action + " " + operations + filters + ")")
	}
}

// paths returns a filter for each name, with its parameters noted. A key stands
// for one list of names.
func (w *writer) paths(filter, key string, names []string) string {
	var b strings.Builder
	for i, name := range names {
		param := Param{fmt.Sprintf("%s_%d", key, i), name}
		if !slices.Contains(w.params, param) {
			w.params = append(w.params, param)
		}
		fmt.Fprintf(&b, "\n  (%s (param %q))", filter, param.Key)
	}
	return b.String()
}

// quoted returns a filter for each of the fixed values.
func (w *writer) quoted(filter string, values []string) string {
	var b strings.Builder
	for _, value := range values {
		fmt.Fprintf(&b, "\n  (%s %q)", filter, value)
	}
	return b.String()
}

func (w *writer) processes() {
	w.line("(allow process-fork)")
	w.line("(allow signal (target same-sandbox))")
	// Some releases do not count this under (deny default).
	w.line("(deny process-info*)")
	w.line("(allow process-info* (target same-sandbox))")
	w.line("(allow sysctl-read)")
	// The table of processes, and their arguments and environments.
	w.line(`(deny sysctl-read (sysctl-name-prefix "kern.proc"))`)
}

func (w *writer) network(p Policy) {
	if !p.Network && len(p.Ports) == 0 {
		return
	}
	w.line("(allow system-socket (socket-domain AF_INET) (socket-domain AF_INET6))")
	w.rule("allow", "mach-lookup", w.quoted("global-name", networkServices))
	if p.Network {
		w.line(`(allow network-outbound (remote ip "*:*"))`)
		w.line(`(allow network-bind network-inbound (local ip "*:*"))`)
		return
	}
	var addresses []string
	for _, port := range slices.Compact(slices.Sorted(slices.Values(p.Ports))) {
		addresses = append(addresses, fmt.Sprintf("*:%d", port))
	}
	w.rule("allow", "network-outbound", w.quoted("remote tcp", addresses))
}

// denies come last and name the specific operations, so that nothing above
// undoes them.
func (w *writer) denies(p Policy, writes []string) {
	w.line("(deny file-write-setugid)")
	w.line("(deny file-write-xattr)")
	w.line("(deny file-write-flags)")
	// What is checked of a hard link differs between releases: the new name,
	// the old one or both. With the new one alone, a link would make any
	// readable file a writable one.
	w.line("(deny file-link)")
	// A subpath includes the directory itself.
	w.rule("deny", "file-write-unlink file-write-create", w.paths("literal", "WRITE", writes))
	protected := outermost(p.Protect)
	w.rule("deny", "file-write* file-write-unlink file-write-create", w.paths("subpath", "PROTECT", protected))
	w.rule("deny", "file-write-unlink file-write-create", w.paths("literal", "ABOVE", between(protected, writes)))
}

// between returns the directories between each name and the writable directory
// that holds it, both excluded.
func between(names, writes []string) []string {
	var out []string
	for _, name := range names {
		for dir := path.Dir(name); !slices.ContainsFunc(writes, func(w string) bool { return within(w, dir) }); dir = path.Dir(dir) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
