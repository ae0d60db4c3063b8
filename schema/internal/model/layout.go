package model

// layouts reads all layouts.
func (l *loader) layouts() []Layout {
	var out []Layout
	for _, f := range l.fields(l.lookup("#Layouts")) {
		layout := Layout{Name: f.name}
		for _, f := range l.data(f.value) {
			switch f.name {
			case "vars":
				for _, f := range l.data(f.value) {
					v := struct {
						Doc string
						Dir bool
					}{}
					l.check(f.value, f.value.Decode(&v))
					layout.Vars = append(layout.Vars, Var{Name: f.name, Doc: v.Doc, Dir: v.Dir})
				}
			case "bases", "tokens", "placeholders":
				var pairs []Pair
				for _, f := range l.data(f.value) {
					pairs = append(pairs, Pair{Name: f.name, Template: l.string(f.value)})
				}
				switch f.name {
				case "bases":
					layout.Bases = pairs
				case "tokens":
					layout.Tokens = pairs
				default:
					layout.Placeholders = pairs
				}
			case "verbatim":
				layout.Verbatim = l.strings(f.value)
			case "grants":
				l.check(f.value, f.value.Decode(&layout.Grants))
			case "run":
				l.check(f.value, f.value.Decode(&layout.Run))
			default:
				l.fail(f.value, "is not understood")
			}
		}
		out = append(out, layout)
	}
	return out
}
