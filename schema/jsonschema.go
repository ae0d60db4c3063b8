package schema

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"steps.example/schema/internal/model"
)

// JSONSchema is the schema of native documents as JSON Schema, draft 2020-12, for
// editors. A step is checked against the definition that its type selects, so an editor
// can complete and explain fields.
//
// It leaves out which bases and tokens the chosen layout has, and what fields say together:
// that network excludes network_access, and preserve overwrite, and that one output's path
// has no glob characters.
func JSONSchema() ([]byte, error) {
	c, err := load()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := jsonSchema{model: c.model, defs: object{}}
	return json.Marshal(p.document(), json.Deterministic(true), jsontext.WithIndent("  "))
}

type object map[string]any

type jsonSchema struct {
	model *model.Model
	defs  object
}

func (p *jsonSchema) document() object {
	list := object{"type": "array", "items": ref("Step")}
	block := object{"description": "A list of steps, or of several such lists.", "anyOf": []any{list, object{"type": "array", "items": list}}}
	var layouts []any
	for _, l := range p.model.Layouts {
		layouts = append(layouts, l.Name)
	}
	properties := object{
		"$schema": object{"type": "string"},
		"schema":  object{"const": 1, "description": "The schema version that the document needs."},
		"layout":  object{"enum": layouts, "description": "Where the package lives and what it may do there."},
		"name":    p.ref(p.model.Rules["#PackageName"]),
		"version": p.ref(p.model.Rules["#Version"]),
	}
	for _, phase := range p.model.Phases {
		properties[phase] = ref("Block")
	}
	p.defs["Block"] = block
	p.defs["Step"] = p.step()
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "steps document", "type": "object", "properties": properties,
		"required": []string{"schema", "layout", "name"}, "additionalProperties": false,
		"$defs": p.defs,
	}
}

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

// step selects a definition by the type.
func (p *jsonSchema) step() object {
	var types, choices []any
	for _, s := range p.model.Steps {
		types = append(types, s.Type)
		choices = append(choices, object{
			"if":   object{"properties": object{"type": object{"const": s.Type}}},
			"then": ref(s.Name),
		})
		p.defs[s.Name] = p.definition(s)
	}
	return object{
		"type": "object", "required": []string{"type"},
		"properties": object{"type": object{"enum": types}}, "allOf": choices,
	}
}

func (p *jsonSchema) definition(s model.Step) object {
	out := p.closed(s.Doc, s.Fields, "type")
	properties := out["properties"].(object)
	properties["type"] = object{"const": s.Type}
	properties["guards"] = object{"type": "array", "items": p.ref(p.model.Rules["#Guard"]), "description": "Guards must all hold for the step to be done."}
	return out
}

// closed is an object with these fields and no others.
func (p *jsonSchema) closed(doc []string, fields []model.Field, required ...string) object {
	properties := object{}
	for _, f := range fields {
		field := p.field(f)
		if len(f.Doc) > 0 {
			field["description"] = strings.Join(f.Doc, " ")
		}
		properties[f.Name] = field
		if f.Required {
			required = append(required, f.Name)
		}
	}
	return object{
		"type": "object", "description": strings.Join(doc, " "),
		"properties": properties, "required": append([]string{}, required...), "additionalProperties": false,
	}
}

func (p *jsonSchema) field(f model.Field) object {
	switch f.Kind {
	case model.KindBool, model.KindChoice:
		return object{"type": "boolean"}
	case model.KindSudo:
		if f.Rule.Name == "#Sudo" {
			return object{"enum": []any{false, true, "if_needed"}}
		}
		return object{"type": "boolean"}
	case model.KindStrings, model.KindPaths, model.KindInts:
		return bounded(f, p.ref(f.Rule))
	case model.KindObject:
		return p.object(f.Object)
	case model.KindObjects:
		return bounded(f, p.object(f.Object))
	case model.KindEnv:
		return object{"type": "object", "propertyNames": p.ref(p.model.Rules["#EnvName"]), "additionalProperties": p.ref(f.Rule)}
	default:
		return p.ref(f.Rule)
	}
}

// bounded is a list with as many items as the field may have.
func bounded(f model.Field, item object) object {
	list := object{"type": "array", "items": item}
	if f.MinItems > 0 {
		list["minItems"] = f.MinItems
	}
	if f.MaxItems > 0 {
		list["maxItems"] = f.MaxItems
	}
	return list
}

// object refers to the definition of an object, and defines it at its first use.
func (p *jsonSchema) object(o *model.Object) object {
	if p.defs[o.Name] == nil {
		p.defs[o.Name] = p.closed(o.Doc, o.Fields)
	}
	return ref(o.Name)
}

// ref refers to a rule, and defines it at its first use.
func (p *jsonSchema) ref(r *model.Rule) object {
	name := strings.TrimPrefix(r.Name, "#")
	if p.defs[name] == nil {
		p.defs[name] = p.rule(r)
	}
	return ref(name)
}

func (p *jsonSchema) rule(r *model.Rule) object {
	out := object{}
	if r.Want != "" {
		out["description"] = r.Want
	}
	switch {
	case len(r.Arms) > 0:
		var arms []any
		for _, arm := range r.Arms {
			arms = append(arms, p.arm(arm))
		}
		out["anyOf"] = arms
	case r.Min != nil:
		out["type"], out["minimum"], out["maximum"] = "integer", *r.Min, *r.Max
	default:
		out["type"] = "string"
		var all []any
		for _, expr := range r.Match {
			all = append(all, object{"pattern": expr})
		}
		for _, expr := range r.NoMatch {
			all = append(all, object{"not": object{"pattern": expr}})
		}
		if len(all) > 0 {
			out["allOf"] = all
		}
	}
	return out
}

func (p *jsonSchema) arm(arm model.Arm) object {
	if arm.Text != nil {
		return p.ref(arm.Text)
	}
	properties, required := object{}, []string{}
	for _, f := range arm.Fields {
		switch {
		case f.Const != "":
			properties[f.Name] = object{"const": f.Const}
		case f.Rule.Name != "":
			properties[f.Name] = p.ref(f.Rule)
		default:
			properties[f.Name] = p.rule(f.Rule)
		}
		if f.Required {
			required = append(required, f.Name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}
