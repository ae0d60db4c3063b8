package sbpl

import (
	"fmt"
	"slices"
	"strings"
)

// A Request is one question to the sandbox: may the process do Op to Object?
// What Object is depends on the operation:
//
//   - file and exec operations: the real path, as the kernel has it after it
//     has followed links;
//   - mach-lookup and other services: the name;
//   - sysctl: the name of the variable;
//   - signal, process-info and task ports: self, same-sandbox or others;
//   - system-socket: the domain, such as AF_UNIX;
//   - network: the other end, or for bind and inbound the own end, as
//     tcp:ADDRESS:PORT, udp:ADDRESS:PORT or unix:PATH; port 0 is any free one;
//   - all others: empty.
type Request struct{ Op, Object string }

func (r Request) String() string { return strings.TrimSuffix(r.Op+" "+r.Object, " ") }

// A Decision is the answer to a request.
type Decision struct {
	Allow bool
	Rule  string // the rule that decided, as it stands in the profile
}

// Decide answers a request as the sandbox would. A request that cannot be
// understood in full is an error.
func (p *Profile) Decide(r Request) (Decision, error) {
	e, err := r.check()
	if err != nil {
		return Decision{}, fmt.Errorf("sandbox request %q: %w", r, err)
	}
	for name := r.Op; name != root; name = operations[name].parent {
		if d, ok := decide(p.rules[name], r.Object, e); ok {
			return d, nil
		}
	}
	return Decision{Rule: "(deny default)"}, nil
}

// decide asks the rules of one operation: the last filtered one that matches,
// else the last one without filters.
func decide(rules []rule, object string, e endpoint) (Decision, bool) {
	var d Decision
	found := false
	for _, r := range slices.Backward(rules) {
		matches := func(f filter) bool { return f.matches(object, e) }
		switch {
		case slices.ContainsFunc(r.filters, matches):
			return Decision{r.allow, r.text}, true
		case len(r.filters) == 0 && !found:
			d, found = Decision{r.allow, r.text}, true
		}
	}
	return d, found
}

func (f filter) matches(object string, e endpoint) bool {
	switch f.kind {
	case "subpath":
		return within(object, f.value)
	case "sysctl-name-prefix":
		return strings.HasPrefix(object, f.value)
	case "target":
		return object == "self" || object == f.value
	case "remote", "local":
		return e.proto != "unix" && (f.proto == "ip" || f.proto == e.proto) && (f.value == "*" || f.value == e.port)
	default: // literal, global-name, socket-domain
		return object == f.value
	}
}

// An endpoint is one end of a connection.
type endpoint struct {
	proto string // tcp, udp or unix
	port  string // of the first two
}

// check refuses what the sandbox would never be asked.
func (r Request) check() (endpoint, error) {
	op, ok := operations[r.Op]
	if !ok {
		return endpoint{}, fmt.Errorf("unknown operation %q", r.Op)
	}
	if strings.HasSuffix(r.Op, "*") {
		return endpoint{}, fmt.Errorf("%q is several operations", r.Op)
	}
	switch op.subject {
	case file:
		return endpoint{}, checkPath(r.Object)
	case process:
		if !slices.Contains([]string{"self", "same-sandbox", "others"}, r.Object) {
			return endpoint{}, fmt.Errorf("unknown target %q", r.Object)
		}
	case family:
		if !strings.HasPrefix(r.Object, "AF_") {
			return endpoint{}, fmt.Errorf("unknown socket domain %q", r.Object)
		}
	case peer, ownEnd:
		return parseEndpoint(r.Object)
	case nothing:
		if r.Object != "" {
			return endpoint{}, fmt.Errorf("%q takes no object", r.Op)
		}
	default:
		if r.Object == "" {
			return endpoint{}, fmt.Errorf("%q needs a name", r.Op)
		}
	}
	return endpoint{}, nil
}

func parseEndpoint(text string) (endpoint, error) {
	proto, address, _ := strings.Cut(text, ":")
	switch proto {
	case "unix":
		return endpoint{proto: proto}, checkPath(address)
	case "tcp", "udp":
		colon := strings.LastIndexByte(address, ':')
		if colon <= 0 {
			return endpoint{}, fmt.Errorf("%q has no address or no port", text)
		}
		port := address[colon+1:]
		if port != "0" {
			if _, err := parsePort(port); err != nil {
				return endpoint{}, err
			}
		}
		return endpoint{proto, port}, nil
	}
	return endpoint{}, fmt.Errorf("unknown kind of address in %q", text)
}
