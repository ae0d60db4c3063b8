package steps

import (
	"fmt"
	"strconv"
	"strings"
)

// A scalarRule is one of the schema's rules for strings. A nil ok accepts everything.
type scalarRule struct {
	ok   func(string) bool
	want string
}

// string reads the string at the offsets.
func (d *decoder) string(val, end int, w where, rule *scalarRule) string {
	if d.kind(val) != '"' {
		d.fault(val, w, "is "+d.kindName(val), rule.want)
		return ""
	}
	s := string(d.text(val, end))
	if rule.ok != nil && !rule.ok(s) {
		d.fault(val, w, brief(s)+" will not do", rule.want)
	}
	return s
}

// brief quotes s, shortened.
func brief(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:57], "") + "..."
	}
	return strconv.Quote(s)
}

// bool reads a boolean. Nothing else counts as one.
func (d *decoder) bool(m *member, w where) bool {
	switch d.kind(m.val) {
	case 't':
		return true
	case 'f':
		return false
	}
	d.fault(m.val, w, "is "+d.kindName(m.val), "true or false")
	return false
}

func (d *decoder) sudo(m *member, w where, ifNeeded bool, want string) Sudo {
	switch {
	case d.kind(m.val) == 't':
		return SudoAlways
	case d.kind(m.val) == 'f':
		return SudoNever
	case ifNeeded && d.kind(m.val) == '"' && string(d.text(m.val, m.end)) == string(SudoIfNeeded):
		return SudoIfNeeded
	}
	d.fault(m.val, w, "is "+d.kindName(m.val), want)
	return SudoNever
}

// int reads a whole number in bounds. 1.0 and 1e0 are not whole numbers here.
func (d *decoder) int(val, end int, w where, least, most int64, want string) int64 {
	if d.kind(val) != '0' {
		d.fault(val, w, "is "+d.kindName(val), want)
		return 0
	}
	text := string(d.data[val:end])
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		d.fault(val, w, brief(text)[1:min(len(text), 60)+1]+" will not do", want)
		return 0
	}
	return n
}

// array calls item with the offsets and place of each element.
func (d *decoder) array(m *member, w where, want string, item func(val, end int, w where)) {
	if d.kind(m.val) != '[' {
		d.fault(m.val, w, "is "+d.kindName(m.val), want)
		return
	}
	for i, more := d.next(m.val + 1); more; i, more = d.next(i) {
		w.index++
		end := d.skip(i, 0)
		item(i, end, w)
		i = end
	}
}

func (d *decoder) strings(m *member, w where, rule *scalarRule) []string {
	var out []string
	d.array(m, w, "an array of strings", func(val, end int, w where) {
		out = append(out, d.string(val, end, w, rule))
	})
	return out
}

// items bounds the number of elements; a most of 0 is no bound.
type items struct{ least, most int }

func (n items) want() string {
	if n.most == 0 {
		return fmt.Sprintf("at least %d", n.least)
	}
	return fmt.Sprintf("%d to %d of them", n.least, n.most)
}

// counted reports an array with too few or too many elements.
func (d *decoder) counted(m *member, w where, n items, count int) {
	if d.kind(m.val) == '[' && (count < n.least || n.most > 0 && count > n.most) {
		d.fault(m.val, w, fmt.Sprintf("has %d elements", count), n.want())
	}
}

func (d *decoder) ints(m *member, w where, n items, least, most int64, want string) []int {
	var out []int
	d.array(m, w, "an array of numbers", func(val, end int, w where) {
		out = append(out, int(d.int(val, end, w, least, most, want)))
	})
	d.counted(m, w, n, len(out))
	return out
}

// objects reads an array of objects. An empty one is not nil: it differs from none.
func objects[T any](d *decoder, m *member, w where, n items, read func(val, end int, w where) T) []T {
	out := []T{}
	d.array(m, w, "an array of objects", func(val, end int, w where) {
		out = append(out, read(val, end, w))
	})
	d.counted(m, w, n, len(out))
	return out
}

// object lists the members of the object at val.
func (d *decoder) object(val int, w where, want string) ([]member, bool) {
	if d.kind(val) != '{' {
		d.fault(val, w, "is "+d.kindName(val), want)
		return nil, false
	}
	members, _ := d.cursor.members(nil, val, 0)
	return members, true
}

func (d *decoder) env(m *member, w where, name, value *scalarRule) map[string]string {
	if d.kind(m.val) != '{' {
		d.fault(m.val, w, "is "+d.kindName(m.val), "an object of strings")
		return nil
	}
	var out map[string]string
	d.inner, _ = d.cursor.members(d.inner[:0], m.val, 0)
	for i := range d.inner {
		v := &d.inner[i]
		key := string(v.key)
		w.sub = key
		if !name.ok(key) {
			d.fault(v.at, w, brief(key)+" will not do", name.want)
		}
		if _, twice := out[key]; twice {
			d.repeated(v)
		}
		if out == nil {
			out = make(map[string]string, len(d.inner))
		}
		out[key] = d.string(v.val, v.end, w, value)
	}
	return out
}

// A pathForm is one of the schema's definitions of a path: what may be at a bare
// string, and for each base what its text may be.
type pathForm struct {
	bare textRule
	// base finds the rule for a base; "" is none. It reports whether the field formula
	// is needed.
	base func([]byte) (base Base, rule textRule, formula, ok bool)
	// bases are the names that base accepts.
	bases []string
}

func (d *decoder) path(m *member, w where, form *pathForm) Path {
	return d.pathAt(m.val, m.end, w, form)
}

func (d *decoder) optionalPath(m *member, w where, form *pathForm) *Path {
	p := d.pathAt(m.val, m.end, w, form)
	return &p
}

func (d *decoder) paths(m *member, w where, form *pathForm) []Path {
	var out []Path
	d.array(m, w, "an array of paths", func(val, end int, w where) {
		out = append(out, d.pathAt(val, end, w, form))
	})
	return out
}

func (d *decoder) pathAt(val, end int, w where, form *pathForm) Path {
	switch d.kind(val) {
	case '"':
		p := Path{Path: string(d.text(val, end))}
		d.pathText(val, w, p.Path, form.bare)
		return p
	case '{':
	default:
		d.fault(val, w, "is "+d.kindName(val), "an object with the fields base and path")
		return Path{}
	}
	d.inner, _ = d.cursor.members(d.inner[:0], val, 0)
	var place placeFields
	for i := range d.inner {
		m := &d.inner[i]
		if !place.take(d, m, w) {
			w.sub = string(m.key)
			d.fault(m.at, w, "not a field of a path", "base, path or formula")
		}
	}
	return place.path(d, val, w, form)
}

// placeFields are the fields that make a path, as they are found in a path or a guard.
type placeFields struct{ base, text, formula *member }

// take keeps m if it is one of the fields.
func (f *placeFields) take(d *decoder, m *member, w where) bool {
	var field **member
	switch string(m.key) {
	case "base":
		field = &f.base
	case "path":
		field = &f.text
	case "formula":
		field = &f.formula
	default:
		return false
	}
	if *field != nil {
		d.repeated(m)
	}
	*field = m
	return true
}

// path checks the fields together. at is where the object begins.
func (f *placeFields) path(d *decoder, at int, w where, form *pathForm) (p Path) {
	rule, formula := form.bare, false
	if f.base != nil {
		w.sub = "base"
		if d.kind(f.base.val) != '"' {
			d.fault(f.base.val, w, "is "+d.kindName(f.base.val), "the name of a base")
			return p
		}
		name := d.text(f.base.val, f.base.end)
		var ok bool
		if p.Base, rule, formula, ok = form.base(name); !ok || len(name) == 0 {
			d.fault(f.base.val, w, brief(string(name))+" is no base here", suggest(string(name), form.bases))
			return p
		}
		if !d.layout.hasBase(p.Base) {
			d.fault(f.base.val, w, fmt.Sprintf("the layout %s has no base %q", d.layout.Name, p.Base), suggest(string(p.Base), d.layout.baseNames()))
		}
	} else if _, none, _, ok := form.base(nil); ok {
		rule = none
	}
	if f.text == nil {
		d.missing(1, []string{"path"}, w, at)
		return p
	}
	w.sub = "path"
	p.Path = d.string(f.text.val, f.text.end, w, &anyText)
	if d.kind(f.text.val) == '"' {
		d.pathText(f.text.val, w, p.Path, rule)
	}
	w.sub = "formula"
	switch {
	case f.formula == nil && formula:
		d.missing(1, []string{"formula"}, w, at)
	case f.formula != nil && !formula:
		d.fault(f.formula.at, w, fmt.Sprintf("is not for the base %q", p.Base), "one of the bases that need it")
	case f.formula != nil:
		p.Formula = d.string(f.formula.val, f.formula.end, w, &ruleFormula)
	}
	return p
}

// pathText checks the text of a path that stands at the offset.
func (d *decoder) pathText(at int, w where, s string, rule textRule) {
	if v := rule.violates(s); v != "" {
		d.fault(at, w, brief(s)+" "+v, rule.want())
	} else if token := d.layout.foreignToken(s); token != "" {
		d.fault(at, w, fmt.Sprintf("%s has the token {{%s}}, which the layout %s does not have", brief(s), token, d.layout.Name), "")
	}
}

var anyText = scalarRule{want: "a string"}
