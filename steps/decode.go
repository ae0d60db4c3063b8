package steps

import (
	"bytes"
	"fmt"
	"strings"
)

// Decode reads a document: a native one, a formula or a cask. It reports up to ten
// faults, as [Errors]; then there is no document.
//
// Nothing of a document is used before all of it has been accepted.
func Decode(data []byte, lim Limits) (*Document, error) {
	d, err := newDecoder(data, lim)
	if err != nil {
		return nil, err
	}
	doc := d.document(d.space(0))
	if err := d.result(); err != nil {
		return nil, err
	}
	return doc, nil
}

// DecodeSteps reads a bare list of steps.
func DecodeSteps(data []byte, lim Limits) ([]Step, error) {
	d, err := newDecoder(data, lim)
	if err != nil {
		return nil, err
	}
	var list []Step
	if i := d.space(0); d.kind(i) != '[' {
		d.fault(i, where{}, "is "+d.kindName(i), "an array of steps")
	} else {
		list = d.steps(i, "", Block{}, 1).Steps
	}
	if err := d.result(); err != nil {
		return nil, err
	}
	return list, nil
}

// A decoder turns the text into typed steps, and collects faults.
type decoder struct {
	cursor
	lim Limits
	// layout is that of the document; nil for a bare list of steps.
	layout *Layout
	// count is the number of steps so far.
	count int

	// The step at hand, for faults.
	phase  Phase
	step   int
	typ    Type
	stepAt int

	// members are those of the step at hand, inner those of an object in it. Both are
	// reused.
	members, inner []member
	faults         Errors

	// lineStart and line place offsets that only grow.
	lineStart, line, seen int
}

func newDecoder(data []byte, lim Limits) (*decoder, error) {
	lim = lim.withDefaults()
	if err := scan(data, lim); err != nil {
		return nil, err
	}
	return &decoder{cursor: cursor{data: data, depth: lim.Depth, tooDeep: -1}, lim: lim, line: 1}, nil
}

func (d *decoder) result() error {
	if err := d.depthError(); err != nil {
		return err
	}
	if len(d.faults) == 0 {
		return nil
	}
	return d.faults.sorted()
}

// full reports that no more faults are wanted.
func (d *decoder) full() bool { return len(d.faults) >= maxErrors }

// where is a field, or an element of one, or a field of that: name[index].sub. The
// index counts from 1; 0 is no element. Outer is the object that it is a field of; nil
// is the step itself.
type where struct {
	outer *where
	name  string
	index int
	sub   string
}

func (w where) String() string {
	s := w.name
	if w.outer != nil {
		s = w.outer.String() + "." + s
	}
	if w.index > 0 {
		s += fmt.Sprintf("[%d]", w.index-1)
	}
	if w.sub != "" {
		s += "." + w.sub
	}
	return s
}

// pointer is the JSON pointer of the place below its step.
func (w where) pointer() string {
	var s string
	if w.outer != nil {
		s = w.outer.pointer()
	}
	if w.name != "" {
		s += "/" + escapePointer(w.name)
	}
	if w.index > 0 {
		s += fmt.Sprintf("/%d", w.index-1)
	}
	if w.sub != "" {
		s += "/" + escapePointer(w.sub)
	}
	return s
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1").Replace

func (d *decoder) fault(at int, w where, msg, want string) {
	if d.full() {
		return
	}
	d.faults = append(d.faults, &Error{
		Pos: position(d.data, at), Pointer: w.pointer(), Phase: d.phase, Step: d.step, Type: d.typ,
		Field: w.String(), Msg: msg, Want: want,
	})
}

// place is the position of an offset that is not before the last one asked for.
func (d *decoder) place(offset int) Pos {
	between := d.data[d.seen:offset]
	if n := bytes.Count(between, []byte("\n")); n > 0 {
		d.line += n
		d.lineStart = d.seen + bytes.LastIndexByte(between, '\n') + 1
	}
	d.seen = offset
	return Pos{Line: d.line, Col: offset - d.lineStart + 1}
}

// steps appends to block the steps of the array that begins at i, which is nested depth
// deep. The pointer leads to the array.
func (d *decoder) steps(i int, pointer string, block Block, depth int) Block {
	d.phase = block.Phase
	n := 0
	for j, more := d.next(i + 1); more && !d.full(); j, more = d.next(j) {
		n++
		if d.count++; d.count > d.lim.Steps {
			d.step, d.typ = 0, ""
			d.fault(j, where{}, "the document has too many steps", fmt.Sprintf("at most %d", d.lim.Steps))
			break
		}
		d.step, d.typ, d.stepAt = n, "", j
		faults := len(d.faults)
		var s Step
		if d.kind(j) != '{' {
			d.fault(j, where{}, "is "+d.kindName(j), "an object with the field \"type\"")
			s, j = nil, d.skip(j, depth)
		} else {
			s, j = d.one(j, depth)
		}
		for _, f := range d.faults[faults:] {
			f.Pointer = fmt.Sprintf("%s/%d%s", pointer, n-1, f.Pointer)
		}
		if s != nil {
			block.Steps = append(block.Steps, s)
			block.Pos = append(block.Pos, d.place(d.stepAt))
		}
	}
	d.phase, d.step, d.typ = "", 0, ""
	return block
}

// one decodes the step that begins at i and returns the offset after it.
func (d *decoder) one(i, depth int) (Step, int) {
	var end int
	d.members, end = d.cursor.members(d.members[:0], i, depth)
	for k := range d.members {
		m := &d.members[k]
		if string(m.key) != "type" {
			continue
		}
		if d.kind(m.val) != '"' {
			d.fault(m.val, where{name: "type"}, "is "+d.kindName(m.val), "the name of a step type")
			return nil, end
		}
		typ := d.text(m.val, m.end)
		decode, ok := decoders[Type(typ)]
		if !ok {
			d.fault(m.val, where{name: "type"}, fmt.Sprintf("%q is no step type", typ), suggest(string(typ), typeNames()))
			return nil, end
		}
		d.typ = Type(typ)
		return decode(d), end
	}
	d.fault(i, where{}, "has no field \"type\"", d.variant("type", "the name of a step type"))
	return nil, end
}

// variant is want, or the advice to spell a field that is there in lower case.
func (d *decoder) variant(name, want string) string {
	for _, m := range d.members {
		if strings.EqualFold(string(m.key), name) {
			return fmt.Sprintf("%q instead of %q: names are case-sensitive", name, m.key)
		}
	}
	return want
}

// unknown reports a field that the step's type does not have.
func (d *decoder) unknown(m *member, fields []string) {
	want := "nothing here: it has no fields but type and guards"
	if len(fields) > 0 {
		want = suggest(string(m.key), fields)
	}
	d.fault(m.at, where{name: string(m.key)}, fmt.Sprintf("not a field of %s", d.typ), want)
}

// unknownIn reports a field that the object at w does not have.
func (d *decoder) unknownIn(m *member, w where, want string, fields []string) {
	d.fault(m.at, where{outer: &w, name: string(m.key)}, "not a field of "+want, suggest(string(m.key), fields))
}

// repeated reports a field that is there twice. Scan finds that out, except where the
// symbol form spells one name in two ways.
func (d *decoder) repeated(m *member) {
	d.fault(m.at, where{name: string(m.key)}, "is there twice in one object", "each name once")
}

// missing reports required fields: those of names whose bit is in mask.
func (d *decoder) missing(mask uint64, names []string, w where, at int) {
	for i, name := range names {
		if mask&(1<<i) == 0 {
			continue
		}
		full := where{name: name}
		if w.name != "" {
			full = w
			full.sub = name
		}
		d.fault(at, full, "is missing", "")
	}
}

// kindName names the kind of the value at i, for messages.
func (d *decoder) kindName(i int) string {
	switch d.kind(i) {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	default:
		return "an array"
	}
}
