package steps

import (
	"fmt"
	"strings"
)

func (d *decoder) cask(doc *Document, top []member) {
	for i := range top {
		m := &top[i]
		w := where{name: string(m.key)}
		switch w.name {
		case "token":
			doc.Name = d.string(m.val, m.end, w, &rulePackageName)
		case "version":
			if d.kind(m.val) != 'n' {
				doc.Version = d.string(m.val, m.end, w, &ruleVersion)
			}
		case "artifacts":
			if d.kind(m.val) != 'n' {
				d.artifacts(doc, m)
			}
		default:
			if isPhase(w.name) {
				d.fault(m.at, w, "is not in its place", "the steps of a cask among its artifacts")
				continue
			}
			d.foreign(m, "token", "version", "artifacts")
		}
	}
}

func (d *decoder) artifacts(doc *Document, m *member) {
	w := where{name: "artifacts"}
	if d.kind(m.val) != '[' {
		d.fault(m.val, w, "is "+d.kindName(m.val), "an array")
		return
	}
	for i, more := d.next(m.val + 1); more && !d.full(); i, more = d.next(i) {
		w.index++
		end := d.skip(i, 1)
		switch d.kind(i) {
		case '{':
			d.artifact(doc, i, w)
		case '[':
			d.symbols = true
			d.symbolArtifact(doc, i, w)
			d.symbols = false
		}
		i = end
	}
}

// artifact decodes {"postflight_steps": [{"steps": […]}, …]}.
func (d *decoder) artifact(doc *Document, i int, w where) {
	fields, _ := d.cursor.members(nil, i, 2)
	for k := range fields {
		m := &fields[k]
		if !isPhase(string(m.key)) {
			d.foreign(m)
			continue
		}
		w.sub = string(m.key)
		if d.kind(m.val) != '[' {
			d.fault(m.val, w, "is "+d.kindName(m.val), "an array of objects with the field steps")
			continue
		}
		n := 0
		for j, more := d.next(m.val + 1); more; j, more = d.next(j) {
			d.stepsObject(doc, Phase(m.key), j, w, fmt.Sprintf("%s/%d", w.pointer(), n), 4)
			j = d.skip(j, 3)
			n++
		}
	}
}

// symbolArtifact decodes [":postflight_steps", {":steps": […]}, …].
func (d *decoder) symbolArtifact(doc *Document, i int, w where) {
	j, some := d.next(i + 1)
	if !some || d.kind(j) != '"' {
		return
	}
	end := d.stringEnd(j)
	name := string(d.text(j, end))
	if !isPhase(name) {
		if strings.HasSuffix(strings.ToLower(name), "_steps") {
			d.fault(j, w, brief(name)+" is no phase", suggest(name, phaseNames()))
		}
		return
	}
	n := 1
	for j, more := d.next(end); more; j, more = d.next(j) {
		d.stepsObject(doc, Phase(name), j, w, fmt.Sprintf("%s/%d", w.pointer(), n), 3)
		j = d.skip(j, 2)
		n++
	}
}

// stepsObject decodes {"steps": […]}, which is nested depth deep.
func (d *decoder) stepsObject(doc *Document, phase Phase, i int, w where, pointer string, depth int) {
	if d.kind(i) != '{' {
		d.fault(i, w, "is "+d.kindName(i), "an object with the field steps")
		return
	}
	fields, _ := d.cursor.members(nil, i, depth)
	found := false
	for k := range fields {
		m := &fields[k]
		switch {
		case string(m.key) != "steps":
			d.fault(m.at, w, fmt.Sprintf("%s is no field of a block of steps", brief(string(m.key))), `"steps"`)
		case found:
			d.repeated(m)
		case d.kind(m.val) != '[':
			d.fault(m.val, w, "steps is "+d.kindName(m.val), "an array of steps")
			found = true
		default:
			found = true
			doc.Blocks = append(doc.Blocks, d.steps(m.val, pointer+"/steps", Block{Phase: phase}, depth+2))
		}
	}
	if !found {
		d.fault(i, w, "has no field steps", `"steps"`)
	}
}
