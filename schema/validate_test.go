package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"steps.example/steps"
)

// The schema by itself names the place, the step and the field.
func TestValidateDocumentErrors(t *testing.T) {
	t.Parallel()
	native := func(list ...string) string {
		return `{"schema":1,"layout":"homebrew-formula","name":"demo","post_install_steps":[` + "\n" + strings.Join(list, ",\n") + "]}"
	}
	fifty := make([]string, 50)
	for i := range fifty {
		fifty[i] = `{"type":"warn","message":"a"}`
	}
	fifty[49] = `{"message":"a","type":"worn"}`
	const wantPath = "; want an absolute path, or an object with a base and a relative path that stays under it"
	for _, tc := range []struct {
		name, in, want string
	}{
		{"unknown field", native(`{"type":"warn","message":"a","text":"b"}`), `2:30: post_install_steps step 1 (warn): field "text": not a field of warn`},
		{"unknown type in the last of 50", native(fifty...), `51:16: post_install_steps step 50: field "type": "worn" is no step type`},
		{"missing", native(`{"type":"warn","message":"a"}`, `{"type":"warn"}`), `3:1: post_install_steps step 2 (warn): field "message": is missing; want text without NUL, not empty`},
		{"null", native(`{"type":"warn","message":null}`), `2:26: post_install_steps step 1 (warn): field "message": the schema does not allow this value; want text without NUL, not empty`},
		{"climbs", native(`{"type":"touch","path":{"base":"var","path":"../a"}}`), `2:24: post_install_steps step 1 (touch): field "path": the schema does not allow this value` + wantPath},
		{"second path", native(`{"type":"remove","paths":["/a","b"]}`), `2:32: post_install_steps step 1 (remove): field "paths[1]": the schema does not allow this value` + wantPath},
		{"base of another layout", native(`{"type":"touch","path":{"base":"appdir","path":"a"}}`), `2:32: post_install_steps step 1 (touch): field "path.base": the layout homebrew-formula has no base "appdir"`},
		{"duplicate", native(`{"type":"warn","type":"warn"}`), `2:16: field "type": is there twice in one object; want each name once`},
		{"layout", `{"schema":1,"layout":"brew","name":"a"}`, `1:22: field "layout": invalid value "brew" (out of bound =~"^(?:generic|homebrew-formula|homebrew-cask)$")`},
		{"unknown key", `{"schema":1,"layout":"generic","name":"a","post_steps":[]}`, `1:43: field "post_steps": field not allowed`},
		{"cask", `{"token":"a","artifacts":[{"post_steps":[]}]}`, `1:28: field "post_steps": is no phase; want one of pre_install_steps, post_install_steps, pre_remove_steps, post_remove_steps, preflight_steps, postflight_steps, uninstall_preflight_steps, uninstall_postflight_steps`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := ValidateDocument([]byte(tc.in))
			if err == nil {
				t.Fatal("accepted")
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
	if err := ValidateDocument([]byte(native(`{"type":"warn","message":"a"}`))); err != nil {
		t.Errorf("a good document is refused: %v", err)
	}
}

// A disagreement is told apart from a fault of the document.
func TestDisagreementIsABug(t *testing.T) {
	t.Parallel()
	fault := steps.Errors{{Pos: steps.Pos{Line: 1, Col: 1}, Msg: "is wrong"}}
	for _, tc := range []struct {
		generated, schema error
		want              string
	}{
		{nil, nil, "<nil>"},
		{fault, fault, "1:1: is wrong"},
		{nil, fault, "BUG(steps): the client's checks accept what the schema refuses: 1:1: is wrong"},
		{fault, nil, "BUG(steps): the schema accepts what the client's checks refuse: 1:1: is wrong"},
	} {
		if got := fmt.Sprint(agreed(tc.generated, tc.schema)); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}
