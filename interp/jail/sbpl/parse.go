package sbpl

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Profile is a profile that has been read.
type Profile struct {
	rules map[string][]rule // by operation, in the order of the text
}

// A rule belongs to one operation.
type rule struct {
	allow   bool
	filters []filter // one has to match; none: the operation's default
	text    string
}

// A filter is one of the table in operation.go with what it compares with.
type filter struct {
	kind  string
	proto string // of remote and local: tcp or ip
	value string // a path, name, prefix, target, domain or port
}

// Parse reads a profile of the subset that [Generate] writes. Every form,
// operation, filter and value that is not of that subset is an error, as is a
// parameter without a value, with a value that is no real path, or without use.
func Parse(text string, params map[string]string) (*Profile, error) {
	p := parser{
		reader: reader{text: text}, params: params,
		used: map[string]bool{}, profile: &Profile{rules: map[string][]rule{}},
	}
	if err := p.parse(); err != nil {
		return nil, fmt.Errorf("sandbox profile: %w", err)
	}
	return p.profile, nil
}

type parser struct {
	reader
	params  map[string]string
	used    map[string]bool
	profile *Profile
}

func (p *parser) parse() error {
	for _, want := range []string{"(version 1)", "(deny default)"} {
		if !p.more() {
			return p.errorf("the profile ends before %s", want)
		}
		n, err := p.read(0)
		if err != nil {
			return err
		}
		if got := p.text[n.from:n.to]; got != want {
			return p.errorf("%q stands where %s must", got, want)
		}
	}
	for p.more() {
		n, err := p.read(0)
		if err == nil {
			if err = p.rule(n); err != nil {
				err = p.errorf("%w", err)
			}
		}
		if err != nil {
			return err
		}
	}
	for key := range p.params {
		if !p.used[key] {
			return fmt.Errorf("parameter %q is not used", key)
		}
	}
	return nil
}

// rule adds a rule to the operations that it names.
func (p *parser) rule(n node) error {
	if n.kind != list || len(n.list) == 0 || n.list[0].kind != atom {
		return errors.New("no rule")
	}
	action := n.list[0].text
	if action != "allow" && action != "deny" {
		return fmt.Errorf("unknown form %q", action)
	}
	r := rule{allow: action == "allow", text: strings.Join(strings.Fields(p.text[n.from:n.to]), " ")}
	rest := n.list[1:]
	var names []string
	for len(rest) > 0 && rest[0].kind == atom {
		names = append(names, rest[0].text)
		rest = rest[1:]
	}
	if len(names) == 0 {
		return errors.New("a rule without operations")
	}
	for _, form := range rest {
		f, err := p.filter(form)
		if err != nil {
			return err
		}
		r.filters = append(r.filters, f)
	}
	for _, name := range names {
		op, ok := operations[name]
		if !ok {
			return fmt.Errorf("unknown operation %q", name)
		}
		for _, f := range r.filters {
			if !slices.Contains(filters[f.kind], op.subject) {
				return fmt.Errorf("filter %q does not apply to operation %q", f.kind, name)
			}
		}
		p.profile.rules[name] = append(p.profile.rules[name], r)
	}
	return nil
}

func (p *parser) filter(n node) (filter, error) {
	if n.kind != list || len(n.list) == 0 || n.list[0].kind != atom {
		return filter{}, errors.New("a filter must be a form")
	}
	f := filter{kind: n.list[0].text}
	if _, ok := filters[f.kind]; !ok {
		return f, fmt.Errorf("unknown filter or modifier %q", f.kind)
	}
	args := n.list[1:]
	if f.kind == "remote" || f.kind == "local" {
		if len(args) != 2 || args[0].kind != atom || args[0].text != "tcp" && args[0].text != "ip" {
			return f, fmt.Errorf("unknown kind of address in filter %q", f.kind)
		}
		f.proto, args = args[0].text, args[1:]
	}
	if len(args) != 1 {
		return f, fmt.Errorf("filter %q takes one value", f.kind)
	}
	value, err := p.value(f.kind, args[0])
	f.value = value
	return f, err
}

// value reads the one argument of a filter.
func (p *parser) value(kind string, n node) (string, error) {
	bad := fmt.Errorf("unknown value of filter %q", kind)
	switch kind {
	case "literal", "subpath":
		return p.param(n)
	case "global-name", "sysctl-name-prefix":
		if n.kind != quoted || n.text == "" {
			return "", bad
		}
		return n.text, nil
	case "target":
		if n.kind != atom || n.text != "same-sandbox" {
			return "", bad
		}
		return n.text, nil
	case "socket-domain":
		if n.kind != atom || n.text != "AF_INET" && n.text != "AF_INET6" {
			return "", bad
		}
		return n.text, nil
	}
	port, ok := strings.CutPrefix(n.text, "*:")
	if n.kind != quoted || !ok {
		return "", bad
	}
	if port != "*" {
		if _, err := parsePort(port); err != nil {
			return "", bad
		}
	}
	return port, nil
}

// param reads (param "KEY") and returns the path that it stands for.
func (p *parser) param(n node) (string, error) {
	if n.kind != list || len(n.list) != 2 || n.list[0].kind != atom || n.list[0].text != "param" || n.list[1].kind != quoted {
		return "", errors.New(`a path must be given as (param "KEY")`)
	}
	key := n.list[1].text
	value, ok := p.params[key]
	if !ok {
		return "", fmt.Errorf("parameter %q has no value", key)
	}
	p.used[key] = true
	if err := checkPath(value); err != nil {
		return "", fmt.Errorf("parameter %q, %q: %w", key, value, err)
	}
	return value, nil
}

// parsePort reads a port of one to five digits without a leading zero.
func parsePort(text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != text {
		return 0, fmt.Errorf("%q is no port", text)
	}
	return uint16(port), nil
}
