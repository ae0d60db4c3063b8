package signer

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDocumentDepth is how deep objects and arrays may nest in a document. The steps
// format needs fewer than ten.
const maxDocumentDepth = 32

// scanDocument checks that doc is one JSON object in valid UTF-8 without duplicate
// keys, not nested too deeply. It returns an upper bound of the number of steps: the
// elements of every array that is the value of a key ending in _steps.
func scanDocument(doc []byte) (steps int, err error) {
	const hint = "give a steps document that `steps validate` accepts"
	if kind := jsontext.Value(doc).Kind(); kind != jsontext.KindBeginObject {
		return 0, fail(KindMalformed, hint, "document is not a JSON object")
	}
	var open []bool // for each open object or array: is it an array of steps?
	name := ""      // the key whose value comes next
	d := jsontext.NewDecoder(bytes.NewBuffer(doc))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return 0, fail(KindMalformed, hint, "document is not strict JSON: %s", printable(err))
		}
		switch kind := token.Kind(); kind {
		case jsontext.KindEndObject, jsontext.KindEndArray:
			if open = open[:len(open)-1]; len(open) > 0 {
				continue
			}
			if rest := bytes.TrimLeft(doc[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
				return 0, fail(KindMalformed, hint, "document: %d bytes follow its end", len(rest))
			}
			return steps, nil
		case jsontext.KindBeginObject, jsontext.KindBeginArray:
			if len(open) == maxDocumentDepth {
				return 0, fail(KindTooLarge, hint, "document nests deeper than %d at %s",
					maxDocumentDepth, clip(strconv.QuoteToGraphic(string(d.StackPointer())), 100))
			}
			if len(open) > 0 && open[len(open)-1] {
				steps++
			}
			open = append(open, kind == jsontext.KindBeginArray && strings.HasSuffix(name, "_steps"))
			name = ""
		default:
			if parent, n := d.StackIndex(d.StackDepth()); parent == jsontext.KindBeginObject && n%2 == 1 {
				name = token.String()
				continue
			}
			if open[len(open)-1] {
				steps++
			}
			name = ""
		}
	}
}
