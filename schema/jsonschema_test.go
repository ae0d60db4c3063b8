package schema

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
)

// The exported JSON Schema accepts what the schema accepts; of what the schema refuses
// it refuses most.
func TestJSONSchema(t *testing.T) {
	t.Parallel()
	text, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	again, err := JSONSchema()
	if err != nil || string(again) != string(text) {
		t.Errorf("the export is not the same each time (%v)", err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	c := &jsonSchemaChecker{t: t, root: root, regexps: map[string]*regexp.Regexp{}}
	c.wellFormed(root)

	document := func(list any) any {
		return map[string]any{"schema": 1.0, "layout": "homebrew-formula", "name": "demo", "post_install_steps": list}
	}
	for _, v := range readVectors(t, filepath.Join(vectorsFolder, "*.jsonl*")) {
		var list any
		if err := json.Unmarshal(v.Steps, &list); err != nil {
			t.Fatal(err)
		}
		if got, want := c.valid(root, document(list)), !slices.Contains(refused, v.Name); got != want {
			t.Errorf("%s: valid is %t, want %t", v.Name, got, want)
		}
	}
	for _, tc := range []struct {
		name, in string
		want     bool
	}{
		{"several blocks", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[[],[{"type":"warn","message":"a"}]]}`, true},
		{"unknown key", `{"schema":1,"layout":"generic","name":"a","pre_steps":[]}`, false},
		{"unknown layout", `{"schema":1,"layout":"brew","name":"a"}`, false},
		{"unknown field", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[{"type":"warn","message":"a","x":1}]}`, false},
		{"climbs", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[{"type":"touch","path":{"base":"var","path":"../a"}}]}`, false},
		{"environment", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[{"type":"run","command":"a","env":{"A":"b"}}]}`, true},
		{"name in the environment", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[{"type":"run","command":"a","env":{"A=":"b"}}]}`, false},
		{"number", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[{"type":"terminate_process","name":"a","attempts":101}]}`, false},
		{"jail", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[{"type":"run","command":"a","network":{"tcp":[443]},"outputs":[{"path":"/a"}],"limits":{"cpu":1},"timeout":1,"pass_env":["A"]}]}`, true},
		{"no port", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[{"type":"run","command":"a","network":{"tcp":[]}}]}`, false},
		{"port out of bounds", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[{"type":"run","command":"a","network":{"tcp":[65536]}}]}`, false},
		{"output without a path", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[{"type":"run","command":"a","outputs":[{"count":"any"}]}]}`, false},
		{"unknown limit", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[{"type":"run","command":"a","limits":{"disk":1}}]}`, false},
		{"sudo", `{"schema":1,"layout":"generic","name":"a","preflight_steps":[{"type":"remove","paths":[],"sudo":"if_needed"}]}`, true},
	} {
		var doc any
		if err := json.Unmarshal([]byte(tc.in), &doc); err != nil {
			t.Fatal(err)
		}
		if got := c.valid(root, doc); got != tc.want {
			t.Errorf("%s: valid is %t, want %t", tc.name, got, tc.want)
		}
	}
}

// A jsonSchemaChecker knows the keywords of JSON Schema that the export uses, and fails
// the test at any other.
type jsonSchemaChecker struct {
	t       *testing.T
	root    map[string]any
	regexps map[string]*regexp.Regexp
}

// wellFormed checks that keywords and references are known.
func (c *jsonSchemaChecker) wellFormed(s map[string]any) {
	for keyword, value := range s {
		switch keyword {
		case "$schema", "title", "description", "type", "required", "const", "enum", "minimum", "maximum", "minItems", "maxItems":
		case "$ref":
			c.resolve(value.(string))
		case "pattern":
			c.regexp(value.(string))
		case "properties", "$defs":
			for _, name := range slices.Sorted(maps.Keys(value.(map[string]any))) {
				c.wellFormed(value.(map[string]any)[name].(map[string]any))
			}
		case "additionalProperties":
			if sub, ok := value.(map[string]any); ok {
				c.wellFormed(sub)
			}
		case "items", "propertyNames", "not", "if", "then":
			c.wellFormed(value.(map[string]any))
		case "anyOf", "allOf":
			for _, sub := range value.([]any) {
				c.wellFormed(sub.(map[string]any))
			}
		default:
			c.t.Errorf("unknown keyword %q", keyword)
		}
	}
}

func (c *jsonSchemaChecker) resolve(ref string) map[string]any {
	const prefix = "#/$defs/"
	def, ok := c.root["$defs"].(map[string]any)[ref[len(prefix):]].(map[string]any)
	if !ok {
		c.t.Fatalf("reference %s leads nowhere", ref)
	}
	return def
}

func (c *jsonSchemaChecker) regexp(expr string) *regexp.Regexp {
	if c.regexps[expr] == nil {
		c.regexps[expr] = regexp.MustCompile(expr)
	}
	return c.regexps[expr]
}

func (c *jsonSchemaChecker) valid(s map[string]any, v any) bool {
	for keyword, arg := range s {
		if !c.keyword(s, keyword, arg, v) {
			return false
		}
	}
	return true
}

func (c *jsonSchemaChecker) keyword(s map[string]any, keyword string, arg, v any) bool {
	object, isObject := v.(map[string]any)
	text, isText := v.(string)
	number, isNumber := v.(float64)
	list, isList := v.([]any)
	every := func(subs any) bool {
		return !slices.ContainsFunc(subs.([]any), func(sub any) bool { return !c.valid(sub.(map[string]any), v) })
	}
	switch keyword {
	case "$ref":
		return c.valid(c.resolve(arg.(string)), v)
	case "type":
		switch arg {
		case "object":
			return isObject
		case "array":
			return isList
		case "string":
			return isText
		case "integer":
			return isNumber && number == float64(int64(number))
		case "boolean":
			_, ok := v.(bool)
			return ok
		}
	case "const":
		return reflect.DeepEqual(arg, v)
	case "enum":
		return slices.ContainsFunc(arg.([]any), func(a any) bool { return reflect.DeepEqual(a, v) })
	case "minItems":
		return !isList || len(list) >= int(arg.(float64))
	case "maxItems":
		return !isList || len(list) <= int(arg.(float64))
	case "minimum":
		return !isNumber || number >= arg.(float64)
	case "maximum":
		return !isNumber || number <= arg.(float64)
	case "pattern":
		return !isText || c.regexp(arg.(string)).MatchString(text)
	case "not":
		return !c.valid(arg.(map[string]any), v)
	case "allOf":
		return every(arg)
	case "anyOf":
		return slices.ContainsFunc(arg.([]any), func(sub any) bool { return c.valid(sub.(map[string]any), v) })
	case "if":
		then, _ := s["then"].(map[string]any)
		return !c.valid(arg.(map[string]any), v) || c.valid(then, v)
	case "items":
		return !slices.ContainsFunc(list, func(e any) bool { return !c.valid(arg.(map[string]any), e) })
	case "required":
		for _, name := range arg.([]any) {
			if _, ok := object[name.(string)]; isObject && !ok {
				return false
			}
		}
	case "properties", "additionalProperties", "propertyNames":
		known, _ := s["properties"].(map[string]any)
		for name, value := range object {
			sub, ok := known[name].(map[string]any)
			switch {
			case keyword == "properties":
				if ok && !c.valid(sub, value) {
					return false
				}
			case keyword == "propertyNames":
				if !c.valid(arg.(map[string]any), name) {
					return false
				}
			case ok:
			case arg == false:
				return false
			default:
				if !c.valid(arg.(map[string]any), value) {
					return false
				}
			}
		}
	}
	return true
}
