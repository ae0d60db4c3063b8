package steps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// document decodes the document that begins at i. Its form shows in its names: only a
// native one has a schema or a layout, only a cask has a token.
func (d *decoder) document(i int) *Document {
	if d.kind(i) != '{' {
		d.fault(i, where{}, "is "+d.kindName(i), "a document, which is an object")
		return nil
	}
	top, _ := d.cursor.members(nil, i, 0)
	has := func(names ...string) bool {
		return slices.ContainsFunc(top, func(m member) bool { return slices.Contains(names, string(m.key)) })
	}
	doc := &Document{Schema: SchemaVersion}
	switch {
	case has("schema", "layout", "$schema"):
		doc.Origin = OriginNative
		d.layout = d.nativeLayout(top)
		d.native(doc, top, i)
	case has("token"):
		doc.Origin, doc.Layout = OriginCask, "homebrew-cask"
		d.layout, _ = LayoutByName(doc.Layout)
		d.cask(doc, top)
	case has("name"):
		doc.Origin, doc.Layout = OriginFormula, "homebrew-formula"
		d.layout, _ = LayoutByName(doc.Layout)
		d.formula(doc, top)
	default:
		d.fault(i, where{}, "is no document", "the fields schema, layout and name, or a formula's or cask's API object")
		return nil
	}
	slices.SortStableFunc(doc.Blocks, func(a, b Block) int {
		return slices.Index(Phases, a.Phase) - slices.Index(Phases, b.Phase)
	})
	return doc
}

// nativeLayout finds the layout ahead of its turn: steps may stand before it. A fault in
// it is reported in its turn.
func (d *decoder) nativeLayout(top []member) *Layout {
	for _, m := range top {
		if string(m.key) == "layout" && d.kind(m.val) == '"' {
			layout, _ := LayoutByName(string(d.text(m.val, m.end)))
			return layout
		}
	}
	return nil
}

var nativeFields = append([]string{"schema", "layout", "name", "version", "$schema"}, phaseNames()...)

func phaseNames() []string {
	names := make([]string, len(Phases))
	for i, p := range Phases {
		names[i] = string(p)
	}
	return names
}

// isPhase reports whether the name is that of a phase.
func isPhase(name string) bool { return slices.Contains(Phases, Phase(name)) }

func (d *decoder) native(doc *Document, top []member, at int) {
	var schema, layout, name bool
	for i := range top {
		m := &top[i]
		w := where{name: string(m.key)}
		switch w.name {
		case "$schema":
			d.string(m.val, m.end, w, &anyText)
		case "schema":
			schema = true
			if got := string(d.data[m.val:m.end]); got != strconv.Itoa(SchemaVersion) {
				d.fault(m.val, w, fmt.Sprintf("%s is no schema version that this program knows", brief(got)), strconv.Itoa(SchemaVersion))
			}
		case "layout":
			layout = true
			doc.Layout = d.string(m.val, m.end, w, &ruleLayout)
		case "name":
			name = true
			doc.Name = d.string(m.val, m.end, w, &rulePackageName)
		case "version":
			doc.Version = d.string(m.val, m.end, w, &ruleVersion)
		default:
			if !isPhase(w.name) {
				d.fault(m.at, w, "not a field of a document", suggest(w.name, nativeFields))
				continue
			}
			d.nativePhase(doc, m)
		}
	}
	for _, f := range []struct {
		name string
		ok   bool
	}{{"schema", schema}, {"layout", layout}, {"name", name}} {
		if !f.ok {
			d.fault(at, where{name: f.name}, "is missing", "")
		}
	}
}

var ruleLayout = scalarRule{
	ok:   func(s string) bool { _, ok := LayoutByName(s); return ok },
	want: "one of " + strings.Join(LayoutNames(), ", "),
}

// nativePhase decodes a list of steps, or a list of such lists.
func (d *decoder) nativePhase(doc *Document, m *member) {
	block := Block{Phase: Phase(m.key)}
	if d.kind(m.val) != '[' {
		d.fault(m.val, where{name: string(m.key)}, "is "+d.kindName(m.val), "an array of steps")
		return
	}
	pointer := "/" + string(m.key)
	first, some := d.next(m.val + 1)
	if !some || d.kind(first) != '[' {
		doc.Blocks = append(doc.Blocks, d.steps(m.val, pointer, block, 2))
		return
	}
	n := 0
	for i, more := first, true; more; i, more = d.next(i) {
		if d.kind(i) != '[' {
			d.fault(i, where{name: string(m.key), index: n + 1}, "is "+d.kindName(i), "an array of steps, as the others")
			return
		}
		doc.Blocks = append(doc.Blocks, d.steps(i, fmt.Sprintf("%s/%d", pointer, n), block, 3))
		i = d.skip(i, 2)
		n++
	}
}

// foreign handles the names of an API object that are not known. They are allowed,
// unless they look like a phase or are a known name in other letters.
func (d *decoder) foreign(m *member, known ...string) {
	name := string(m.key)
	lower := strings.ToLower(name)
	if strings.HasSuffix(lower, "_steps") {
		d.fault(m.at, where{name: name}, "is no phase", suggest(name, phaseNames()))
	} else if name != lower && slices.Contains(known, lower) {
		d.fault(m.at, where{name: name}, "is a known name in other letters", fmt.Sprintf("%q: names are case-sensitive", lower))
	}
}

func (d *decoder) formula(doc *Document, top []member) {
	revision := 0
	for i := range top {
		m := &top[i]
		w := where{name: string(m.key)}
		switch w.name {
		case "name":
			doc.Name = d.string(m.val, m.end, w, &rulePackageName)
		case "revision":
			if d.kind(m.val) != 'n' {
				revision = int(d.int(m.val, m.end, w, 0, 1_000_000, "a whole number"))
			}
		case "versions":
			doc.Version = d.stable(m, w)
		case "artifacts":
			d.fault(m.at, w, "is a cask's field, but there is no token", "")
		default:
			if !isPhase(w.name) {
				d.foreign(m, "name", "revision", "versions", "token", "artifacts")
				continue
			}
			d.nativePhase(doc, m)
		}
	}
	if doc.Version != "" && revision > 0 {
		doc.Version += "_" + strconv.Itoa(revision)
	}
}

// stable reads the stable version out of a formula's versions.
func (d *decoder) stable(m *member, w where) (version string) {
	switch d.kind(m.val) {
	case 'n':
		return ""
	case '{':
	default:
		d.fault(m.val, w, "is "+d.kindName(m.val), "an object")
		return ""
	}
	versions, _ := d.cursor.members(nil, m.val, 1)
	for i := range versions {
		v := &versions[i]
		if string(v.key) == "stable" && d.kind(v.val) != 'n' {
			w.sub = "stable"
			version = d.string(v.val, v.end, w, &ruleVersion)
		}
	}
	return version
}
