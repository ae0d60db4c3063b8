package steps

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Encode writes the document in its canonical native form: compact JSON, keys in a
// fixed order, phases in the order of [Phases], absent fields left out, no trailing
// newline. Decoding it gives an equal document, but for Origin and Pos.
//
// A phase with several blocks is a list of lists.
func (d *Document) Encode() ([]byte, error) {
	b := append([]byte(`{"schema":`), strconv.Itoa(d.Schema)...)
	for _, f := range []struct{ key, value string }{{"layout", d.Layout}, {"name", d.Name}, {"version", d.Version}} {
		if f.key != "version" || f.value != "" {
			b = append(b, `,"`+f.key+`":`...)
			b = appendString(b, f.value)
		}
	}
	known := 0
	for _, phase := range Phases {
		var blocks [][]byte
		for _, block := range d.Blocks {
			if block.Phase == phase {
				blocks = append(blocks, appendSteps(nil, block.Steps))
			}
		}
		known += len(blocks)
		switch len(blocks) {
		case 0:
		case 1:
			b = append(b, `,"`+string(phase)+`":`...)
			b = append(b, blocks[0]...)
		default:
			b = append(b, `,"`+string(phase)+`":`...)
			b = appendList(b, blocks, func(b, block []byte) []byte { return append(b, block...) })
		}
	}
	if known != len(d.Blocks) {
		return nil, fmt.Errorf("a block has an unknown phase; known are %v", Phases)
	}
	b = append(b, '}')
	return b, checkEncoded(b)
}

// EncodeSteps writes a bare list of steps in canonical form.
func EncodeSteps(list []Step) ([]byte, error) {
	b := appendSteps(nil, list)
	return b, checkEncoded(b)
}

// checkEncoded refuses what JSON cannot hold: text that is not UTF-8.
func checkEncoded(b []byte) error {
	if !jsontext.Value(b).IsValid() {
		return fmt.Errorf("a field holds text that is not UTF-8, which JSON cannot hold")
	}
	return nil
}

func appendSteps(b []byte, list []Step) []byte {
	return appendList(b, list, func(b []byte, s Step) []byte { return s.appendJSON(b) })
}

func appendList[T any](b []byte, list []T, item func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(b, v)
	}
	return append(b, ']')
}

// appendString quotes s. What is not UTF-8 is kept as it is, for checkEncoded to find.
func appendString(b []byte, s string) []byte {
	quoted, err := jsontext.AppendQuote(b, s)
	if err != nil {
		return append(append(append(b, '"'), s...), '"')
	}
	return quoted
}

func appendStrings(b []byte, list []string) []byte { return appendList(b, list, appendString) }

func appendInts(b []byte, list []int) []byte {
	return appendList(b, list, func(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) })
}

// appendObject makes an object of the members that were appended since start, each after
// a comma.
func appendObject(b []byte, start int) []byte {
	if len(b) == start {
		return append(b, "{}"...)
	}
	b[start] = '{'
	return append(b, '}')
}

func appendEnv(b []byte, env map[string]string) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(env)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = appendString(b, env[name])
	}
	return append(b, '}')
}

func appendSudo(b []byte, s Sudo) []byte {
	if s == SudoAlways {
		return append(b, "true"...)
	}
	return appendString(b, string(s))
}

func appendPaths(b []byte, list []Path) []byte { return appendList(b, list, appendPath) }

func appendPath(b []byte, p Path) []byte {
	b = appendPathFields(append(b, '{'), p)
	return append(b, '}')
}

func appendPathFields(b []byte, p Path) []byte {
	if p.Base != "" {
		b = appendString(append(b, `"base":`...), string(p.Base))
		b = append(b, ',')
	}
	b = appendString(append(b, `"path":`...), p.Path)
	if p.Formula != "" {
		b = appendString(append(b, `,"formula":`...), p.Formula)
	}
	return b
}

func appendGuards(b []byte, list []Guard) []byte {
	if len(list) == 0 {
		return b
	}
	return appendList(append(b, `,"guards":`...), list, func(b []byte, g Guard) []byte {
		b = appendString(append(b, `{"condition":`...), g.Condition)
		b = appendString(append(b, `,"id":`...), g.ID)
		b = append(b, ',')
		if g.Condition == "on" {
			b = appendString(append(b, `"value":`...), g.Value)
		} else {
			b = appendPathFields(b, Path{Base: g.Base, Path: g.Path, Formula: g.Formula})
		}
		return append(b, '}')
	})
}
