package signer

import (
	"strings"
	"testing"
)

func TestScanDocument(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		doc   string
		steps int
	}{
		{`{}`, 0},
		{" {\"a\": [1, 2]}\r\n\t", 0},
		{`{"post_install_steps":[{"type":"mkdir"},{"type":"touch","x":[1,2,{}]}],"other":[1]}`, 2},
		{`{"artifacts":[{"postflight_steps":[{},{}]},{":uninstall_preflight_steps":[{},[],1]}]}`, 5},
		{`{"x_steps":1,"y":[1,2]}`, 0},
		{`{"x_steps":{"y":[1,2]}}`, 0},
		{`{"x_steps":[["a"]]}`, 1},
		{`{"y":["x_steps",[1]]}`, 0},
		{strings.Repeat(`{"a":`, maxDocumentDepth-1) + "{}" + strings.Repeat("}", maxDocumentDepth-1), 0},
	} {
		got, err := scanDocument([]byte(tc.doc))
		if err != nil || got != tc.steps {
			t.Errorf("%s: %d steps, %v; want %d", tc.doc, got, err, tc.steps)
		}
	}
}

func TestScanDocumentRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		doc  string
		kind Kind
		want string
	}{
		{"", KindMalformed, "not a JSON object"},
		{"null", KindMalformed, "not a JSON object"},
		{"[]", KindMalformed, "not a JSON object"},
		{`"x"`, KindMalformed, "not a JSON object"},
		{"{", KindMalformed, "strict JSON"},
		{"{}}", KindMalformed, "1 bytes follow"},
		{"{} {}", KindMalformed, "2 bytes follow"},
		{"{}\x00", KindMalformed, "1 bytes follow"},
		{`{"a":1,"a":2}`, KindMalformed, "duplicate"},
		{`{"a":{"b":1,"\u0062":2}}`, KindMalformed, "duplicate"},
		{"{\"a\":\"\xff\"}", KindMalformed, "UTF-8"},
		{`{"a":"\ud800"}`, KindMalformed, "strict JSON"},
		{`{"a":01}`, KindMalformed, "strict JSON"},
		{`{"a":NaN}`, KindMalformed, "strict JSON"},
		{`{"a":1,}`, KindMalformed, "strict JSON"},
		{`{/**/}`, KindMalformed, "strict JSON"},
		{strings.Repeat(`{"a":`, maxDocumentDepth) + "{}" + strings.Repeat("}", maxDocumentDepth), KindTooLarge, "deeper"},
		{`{"a":` + strings.Repeat("[", 1_000_000), KindTooLarge, "deeper"},
	} {
		_, err := scanDocument([]byte(tc.doc))
		wantError(t, err, tc.kind, tc.want)
	}
}
