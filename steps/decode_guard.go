package steps

import "fmt"

// guards reads the field guards of a step.
func (d *decoder) guards(m *member) []Guard {
	var out []Guard
	d.array(m, where{name: "guards"}, "an array of guards", func(val, _ int, w where) {
		out = append(out, d.guard(val, w))
	})
	return out
}

func (d *decoder) guard(val int, w where) (g Guard) {
	if d.kind(val) != '{' {
		d.fault(val, w, "is "+d.kindName(val), "an object with the field condition")
		return g
	}
	d.inner, _ = d.cursor.members(d.inner[:0], val, 0)
	var place placeFields
	var condition, id, value *member
	for i := range d.inner {
		m := &d.inner[i]
		var field **member
		switch string(m.key) {
		case "condition":
			field = &condition
		case "id":
			field = &id
		case "value":
			field = &value
		default:
			if !place.take(d, m, w) {
				w.sub = string(m.key)
				d.fault(m.at, w, "not a field of a guard", "condition, id, value, base, path or formula")
			}
			continue
		}
		if *field != nil {
			d.repeated(m)
		}
		*field = m
	}
	if condition == nil {
		d.missing(1, []string{"condition"}, w, val)
		return g
	}
	text := func(m *member, name string, rule *scalarRule) string {
		w.sub = name
		if m == nil {
			d.fault(val, w, "is missing", rule.want)
			return ""
		}
		return d.string(m.val, m.end, w, rule)
	}
	// stray reports a field that the condition does not have.
	stray := func(m *member, name string) {
		if m != nil {
			w.sub = name
			d.fault(m.at, w, fmt.Sprintf("not a field of the guard %q", g.Condition), "")
		}
	}
	g.ID = text(id, "id", &ruleGuardID)
	if d.kind(condition.val) == '"' && string(d.text(condition.val, condition.end)) == "on" {
		g.Condition = "on"
		g.Value = text(value, "value", &rulePlatform)
		stray(place.base, "base")
		stray(place.text, "path")
		stray(place.formula, "formula")
		return g
	}
	if g.Condition = text(condition, "condition", &ruleExistence); !ruleExistence.ok(g.Condition) {
		return g
	}
	stray(value, "value")
	w.sub = ""
	p := place.path(d, val, w, &formGuard)
	g.Base, g.Path, g.Formula = p.Base, p.Path, p.Formula
	return g
}
