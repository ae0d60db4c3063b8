package model

import (
	"regexp"
	"slices"

	"cuelang.org/go/cue"
)

// A Composite is a step type that expands to others.
type Composite struct {
	Type string
	// By is the string field that chooses the expansion; "" where there is but one.
	By       string
	Defaults []Pair
	// Steps maps a value of the field By to a JSON array of step templates.
	Steps []Pair
}

func (l *loader) composites(steps []Step) []Composite {
	var out []Composite
	for _, f := range l.fields(l.lookup("#Composites")) {
		c := Composite{Type: f.name}
		for _, f := range l.data(f.value) {
			switch f.name {
			case "by":
				c.By = l.string(f.value)
			case "defaults", "steps":
				for _, g := range l.data(f.value) {
					if f.name == "defaults" {
						c.Defaults = append(c.Defaults, Pair{g.name, l.string(g.value)})
						continue
					}
					text, err := g.value.MarshalJSON()
					l.check(g.value, err)
					c.Steps = append(c.Steps, Pair{g.name, string(text)})
				}
			default:
				l.fail(f.value, "is not understood")
			}
		}
		l.checkComposite(f.value, c, steps)
		out = append(out, c)
	}
	return out
}

var placeholder = regexp.MustCompile(`\$([a-z_]*)`)

// checkComposite makes sure that an expansion can fill every placeholder.
func (l *loader) checkComposite(v cue.Value, c Composite, steps []Step) {
	i := slices.IndexFunc(steps, func(s Step) bool { return s.Type == c.Type })
	if i < 0 {
		l.fail(v, "is no step type")
	}
	has := func(name string) bool {
		return slices.ContainsFunc(steps[i].Fields, func(f Field) bool {
			sure := f.Required || slices.ContainsFunc(c.Defaults, func(d Pair) bool { return d.Name == name })
			return f.Name == name && sure && (f.Kind == KindString || f.Kind == KindPath)
		})
	}
	if c.By != "" && !has(c.By) || c.By == "" && (len(c.Steps) != 1 || c.Steps[0].Name != "") {
		l.fail(v, "needs a field to choose by, or one expansion")
	}
	for _, s := range c.Steps {
		for _, m := range placeholder.FindAllStringSubmatch(s.Template, -1) {
			if !has(m[1]) {
				l.fail(v, "%s is no field that always has a value", m[0])
			}
		}
	}
}

func (l *loader) unsupported(steps []Step) []Pair {
	var out []Pair
	for _, f := range l.fields(l.lookup("#Unsupported")) {
		if !slices.ContainsFunc(steps, func(s Step) bool { return s.Type == f.name }) {
			l.fail(f.value, "is no step type")
		}
		out = append(out, Pair{f.name, l.string(f.value)})
	}
	return out
}
