//go:build !light

package main

import (
	"fmt"
	"strings"

	"steps.example/interp/changeset"
	"steps.example/signer"
)

// describe says in words what a good policy accepts, a line each, fit for a terminal.
func describe(p *policyText, limits signer.Limits) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, changeset.Printable(fmt.Sprintf(format, args...))) }
	for _, r := range p.Rules {
		add("%s of %s", r.Match.Package, r.Match.Registry)
		groups := r.AllOf
		if r.AnyOf != nil {
			groups = []groupText{{r.AnyOf}}
		}
		for i, g := range groups {
			switch {
			case len(groups) == 1:
				add("  is accepted with a signature by%s", oneOf(g))
			case i == 0:
				add("  is accepted with %d signatures, one by%s", len(groups), oneOf(g))
			default:
				add("  and one by%s", oneOf(g))
			}
			for _, who := range g.AnyOf {
				add("    %s", who.describe())
			}
		}
	}
	add("everything else is refused")
	if p.Trust != nil {
		add("authorities and logs are those of %s, sha256 %s", p.Trust.TrustedRoot, p.Trust.SHA256)
		if w := p.Trust.Witnesses; w != nil {
			names := make([]string, 0, len(w.Keys))
			for _, key := range w.Keys {
				name, _, _ := strings.Cut(key, "+")
				names = append(names, name)
			}
			add("log entries count if %d of the witnesses %s cosigned the log", w.Threshold, strings.Join(names, ", "))
		}
	}
	if x := p.Index; x != nil {
		what := "what it lists must be current; other packages are accepted without"
		if x.Required == nil || *x.Required {
			what = "what it does not list as current is refused"
		}
		add("the index %s is asked: %s; offline, it may be %s old", x.URL, what, x.MaxAge)
	}
	if h := p.Homebrew; h != nil {
		names := make([]string, 0, len(h.Keys))
		for _, key := range h.Keys {
			names = append(names, key.KID)
		}
		add("files of Homebrew's JSON API are accepted if signed by %s and fetched no longer than %s ago", strings.Join(names, " or "), h.MaxAge)
	}
	add("bundles of up to %d bytes, statements of %d, documents of %d steps", limits.BundleBytes, limits.PayloadBytes, limits.Steps)
	if r := p.Revoked; r != nil {
		if n := len(r.Keys) + len(r.Bundles) + len(r.PURLs) + len(r.LogEntries) + len(r.Identities); n > 0 {
			add("revoked: %d key(s), %d bundle(s), %d package(s), %d log entries, %d identities",
				len(r.Keys), len(r.Bundles), len(r.PURLs), len(r.LogEntries), len(r.Identities))
		}
	}
	return out
}

func oneOf(g groupText) string {
	if len(g.AnyOf) > 1 {
		return " one of"
	}
	return ""
}

func (w whoText) describe() string {
	if w.Key != nil {
		return w.Key.describe()
	}
	return w.Keyless.describe()
}

func (k *keyText) describe() string {
	line := "key " + k.ID
	if k.NotBefore != "" {
		line += ", from " + k.NotBefore
	}
	if k.NotAfter != "" {
		line += ", until " + k.NotAfter
	}
	if k.Time == "tsa" {
		line += ", by the time of a timestamp authority"
	} else if k.NotBefore+k.NotAfter != "" {
		line += ", by this machine's clock"
	}
	if k.TLog > 0 {
		line += fmt.Sprintf(", in %d transparency log(s)", k.TLog)
	}
	return line
}

func (k *keylessText) describe() string {
	name := k.SAN
	if k.SANPattern != "" {
		name = "any name like " + k.SANPattern
	}
	if k.BuildSigner != "" {
		name += ", built by " + k.BuildSigner
	}
	return fmt.Sprintf("%s, certified by %s, in %d transparency log(s), with %d trusted time(s) and %d certificate log(s)",
		name, k.Issuer, orOne(k.TLog), orOne(k.Timestamps), orOne(k.SCT))
}

// orOne is what a threshold is where the policy says nothing.
func orOne(n *int) int {
	if n == nil {
		return 1
	}
	return *n
}
