package steps

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// native wraps steps, one a line from line 2 on, into a native document.
func native(list ...string) string {
	return `{"schema":1,"layout":"homebrew-formula","name":"demo","version":"1.2.3","post_install_steps":[` + "\n" +
		strings.Join(list, ",\n") + "]}"
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	fifty := make([]string, 50)
	for i := range fifty {
		fifty[i] = fmt.Sprintf(`{"type":"mkdir_p","path":{"base":"var","path":"d%d"}}`, i)
	}
	fifty[49] = `{"path":{"base":"var","path":"x"},"type":"mkdirp"}`
	for _, tc := range []struct {
		name, in, want string
	}{
		{"unknown field", native(`{"type":"warn","message":"a"}`, `{"type":"write","path":{"base":"etc","path":"a"},"contnet":"x","content":"y"}`),
			`3:50: post_install_steps step 2 (write): field "contnet": not a field of write; want perhaps "content"`},
		{"unknown type in the last of 50", native(fifty...),
			`51:42: post_install_steps step 50: field "type": "mkdirp" is no step type; want perhaps "mkdir"`},
		{"duplicate key", native(`{"type":"warn","message":"a","message":"b"}`),
			`2:30: field "message": is there twice in one object; want each name once`},
		{"duplicate key in depth", native(`{"type":"touch","path":{"base":"var","path":"a","path":"b"}}`),
			`2:49: field "path": is there twice in one object; want each name once`},
		{"case variant", native(`{"type":"warn","Message":"a"}`),
			"2:1: post_install_steps step 1 (warn): field \"message\": is missing\n" +
				`2:16: post_install_steps step 1 (warn): field "Message": not a field of warn; want "message": names are case-sensitive`},
		{"case variant of type", native(`{"Type":"warn","message":"a"}`),
			`2:1: post_install_steps step 1: has no field "type"; want "type" instead of "Type": names are case-sensitive`},
		{"null", native(`{"type":"warn","message":null}`),
			`2:26: post_install_steps step 1 (warn): field "message": is null; want text without NUL, not empty`},
		{"null in a list", native(`{"type":"run","command":"/bin/true","args":["a",null]}`),
			`2:49: post_install_steps step 1 (run): field "args[1]": is null; want text without NUL`},
		{"missing", native(`{"type":"copy"}`),
			"2:1: post_install_steps step 1 (copy): field \"source\": is missing\n" +
				`2:1: post_install_steps step 1 (copy): field "target": is missing`},
		{"no type", native(`{"message":"a"}`),
			`2:1: post_install_steps step 1: has no field "type"; want the name of a step type`},
		{"type is a number", native(`{"type":1}`),
			`2:9: post_install_steps step 1: field "type": is a number; want the name of a step type`},
		{"step is no object", native(`"mkdir"`),
			`2:1: post_install_steps step 1: is a string; want an object with the field "type"`},
		{"climbs", native(`{"type":"touch","path":{"base":"var","path":"a/../../b"}}`),
			`2:45: post_install_steps step 1 (touch): field "path.path": "a/../../b" leaves its base by ".."; want a relative path that stays under its base`},
		{"absolute beneath a base", native(`{"type":"remove","paths":[{"base":"var","path":"a"},{"base":"var","path":"/etc"}]}`),
			`2:74: post_install_steps step 1 (remove): field "paths[1].path": "/etc" is absolute, although it has a base; want a relative path that stays under its base`},
		{"absolute token beneath a base", native(`{"type":"touch","path":{"base":"var","path":"{{etc}}/a"}}`),
			`2:45: post_install_steps step 1 (touch): field "path.path": "{{etc}}/a" has the token {{etc}}, which is an absolute path, after its beginning or a base; want a relative path that stays under its base`},
		{"no base", native(`{"type":"touch","path":"a"}`),
			`2:24: post_install_steps step 1 (touch): field "path": "a" has no base and is not absolute; want an absolute path, or a path with a base`},
		{"other user's home", native(`{"type":"touch","path":{"path":"~root/a"}}`),
			`2:32: post_install_steps step 1 (touch): field "path.path": "~root/a" has no base and is not absolute; want an absolute path, or a path with a base`},
		{"unknown base", native(`{"type":"touch","path":{"base":"vars","path":"a"}}`),
			`2:32: post_install_steps step 1 (touch): field "path.base": "vars" is no base here; want perhaps "var"`},
		{"base of another layout", native(`{"type":"touch","path":{"base":"staged_path","path":"a"}}`),
			`2:32: post_install_steps step 1 (touch): field "path.base": the layout homebrew-formula has no base "staged_path"; want one of bash_completion, bin, elisp, etc, fish_completion, formula_opt_prefix, formula_pkgetc, frameworks, home, homebrew_prefix, include, info, lib, libexec, man, man1, … (42 in all)`},
		{"token of another layout", native(`{"type":"touch","path":"{{appdir}}/a"}`),
			`2:24: post_install_steps step 1 (touch): field "path": "{{appdir}}/a" has the token {{appdir}}, which the layout homebrew-formula does not have`},
		{"relative base", native(`{"type":"touch","path":{"base":"relative","path":"a"}}`),
			`2:32: post_install_steps step 1 (touch): field "path.base": "relative" is no base here; want one of absolute, homebrew_prefix, home, temp, cache, etc, pkgetc, var, prefix, opt_prefix, rack, logs, bin, sbin, lib, libexec, … (62 in all)`},
		{"search path where no globs are", native(`{"type":"mkdir","path":{"base":"search_path","path":"a"}}`),
			`2:32: post_install_steps step 1 (mkdir): field "path.base": "search_path" is no base here; want one of absolute, homebrew_prefix, home, temp, cache, etc, pkgetc, var, prefix, opt_prefix, rack, logs, bin, sbin, lib, libexec, … (62 in all)`},
		{"unknown token", native(`{"type":"touch","path":{"base":"var","path":"{{nmae}}"}}`),
			`2:45: post_install_steps step 1 (touch): field "path.path": "{{nmae}}" has the unknown token {{nmae}}; want a relative path that stays under its base`},
		{"NUL", native(`{"type":"touch","path":{"base":"var","path":"a\u0000b"}}`),
			`2:45: post_install_steps step 1 (touch): field "path.path": "a\x00b" holds a NUL byte; want a relative path that stays under its base`},
		{"formula is missing", native(`{"type":"touch","path":{"base":"formula_pkgetc","path":"a"}}`),
			`2:24: post_install_steps step 1 (touch): field "path.formula": is missing`},
		{"formula is too much", native(`{"type":"touch","path":{"base":"var","path":"a","formula":"b"}}`),
			`2:49: post_install_steps step 1 (touch): field "path.formula": is not for the base "var"; want one of the bases that need it`},
		{"unknown field of a path", native(`{"type":"touch","path":{"base":"var","path":"a","mode":"b"}}`),
			`2:49: post_install_steps step 1 (touch): field "path.mode": not a field of a path; want base, path or formula`},
		{"unknown condition", native(`{"type":"warn","message":"a","guards":[{"condition":"if_exist","id":"1","path":"/a"}]}`),
			`2:53: post_install_steps step 1 (warn): field "guards[0].condition": "if_exist" will not do; want if_exists, unless_exists or on`},
		{"unknown platform", native(`{"type":"warn","message":"a","guards":[{"condition":"on","id":"1","value":"windows"}]}`),
			`2:75: post_install_steps step 1 (warn): field "guards[0].value": "windows" will not do; want macos or linux`},
		{"guard with both", native(`{"type":"warn","message":"a","guards":[{"condition":"on","id":"1","value":"linux","path":"/a"}]}`),
			`2:83: post_install_steps step 1 (warn): field "guards[0].path": not a field of the guard "on"`},
		{"guard without id", native(`{"type":"warn","message":"a","guards":[{"condition":"on","value":"linux"}]}`),
			`2:40: post_install_steps step 1 (warn): field "guards[0].id": is missing; want 1 to 64 letters, digits, _, . or -`},
		{"guard id of a composite", native(`{"type":"warn","message":"a","guards":[{"condition":"on","id":"composite:1","value":"linux"}]}`),
			`2:63: post_install_steps step 1 (warn): field "guards[0].id": "composite:1" will not do; want 1 to 64 letters, digits, _, . or -`},
		{"permissions", native(`{"type":"set_permissions","paths":[],"permissions":"rwx!"}`),
			`2:52: post_install_steps step 1 (set_permissions): field "permissions": "rwx!" will not do; want 1 to 4 octal digits, or a symbolic mode such as u+x,go-w`},
		{"boolean as a string", native(`{"type":"symlink","source":"/a","target":"/b","force":"true"}`),
			`2:55: post_install_steps step 1 (symlink): field "force": is a string; want true or false`},
		{"sudo", native(`{"type":"symlink","source":"/a","target":"/b","sudo":"always"}`),
			`2:54: post_install_steps step 1 (symlink): field "sudo": is a string; want true, false or "if_needed"`},
		{"no whole number", native(`{"type":"terminate_process","name":"a","attempts":3.0}`),
			`2:51: post_install_steps step 1 (terminate_process): field "attempts": 3.0 will not do; want a whole number from 1 to 100`},
		{"number out of bounds", native(`{"type":"terminate_process","name":"a","attempts":9223372036854775808}`),
			`2:51: post_install_steps step 1 (terminate_process): field "attempts": 9223372036854775808 will not do; want a whole number from 1 to 100`},
		{"environment", native(`{"type":"run","command":"/a","env":{"A=B":"x","C":1}}`),
			"2:37: post_install_steps step 1 (run): field \"env.A=B\": \"A=B\" will not do; want the name of an environment variable\n" +
				`2:51: post_install_steps step 1 (run): field "env.C": is a number; want text without NUL`},
		{"preserve", native(`{"type":"write","path":"/a","content":"","preserve":"maybe"}`),
			`2:53: post_install_steps step 1 (write): field "preserve": "maybe" will not do; want keep, replace, rename_old, rename_new or merge`},
		{"preserve and overwrite", native(`{"type":"copy","source":"/a","target":"/b","overwrite":true,"preserve":"keep"}`),
			`2:44: post_install_steps step 1 (copy): field "overwrite": contradicts preserve, which says when a file is replaced; want one of the two`},
		{"network twice", native(`{"type":"run","command":"/a","network":{"tcp":[443]},"network_access":true}`),
			`2:30: post_install_steps step 1 (run): field "network": contradicts network_access, which lets it use any address and port; want one of the two`},
		{"ports", native(`{"type":"run","command":"/a","network":{"tcp":[0,443,65536,"80",1.0]}}`),
			"2:48: post_install_steps step 1 (run): field \"network.tcp[0]\": 0 will not do; want a port, 1 to 65535\n" +
				"2:54: post_install_steps step 1 (run): field \"network.tcp[2]\": 65536 will not do; want a port, 1 to 65535\n" +
				"2:60: post_install_steps step 1 (run): field \"network.tcp[3]\": is a string; want a port, 1 to 65535\n" +
				`2:65: post_install_steps step 1 (run): field "network.tcp[4]": 1.0 will not do; want a port, 1 to 65535`},
		{"no port", native(`{"type":"run","command":"/a","network":{"tcp":[]}}`),
			`2:47: post_install_steps step 1 (run): field "network.tcp": has 0 elements; want 1 to 16 of them`},
		{"network without ports", native(`{"type":"run","command":"/a","network":{}}`),
			`2:40: post_install_steps step 1 (run): field "network.tcp": is missing`},
		{"network is a list", native(`{"type":"run","command":"/a","network":[443]}`),
			`2:40: post_install_steps step 1 (run): field "network": is an array; want an object with the field tcp, a list of ports`},
		{"glob characters in one output", native(`{"type":"run","command":"/a","outputs":[{"path":"/a"},{"path":{"base":"var","path":"{{name}}*"}}]}`),
			`2:63: post_install_steps step 1 (run): field "outputs[1].path": "{{name}}*" has glob characters, which do not count for one output; want "count": "any", or a plain path`},
		{"output", native(`{"type":"run","command":"/a","outputs":[{"path":"a","kind":"dir","max_size":0,"executable":1,"count":"two","mode":"0644"}]}`),
			"2:49: post_install_steps step 1 (run): field \"outputs[0].path\": \"a\" has no base and is not absolute; want an absolute path, or a path with a base\n" +
				"2:60: post_install_steps step 1 (run): field \"outputs[0].kind\": \"dir\" will not do; want file, directory or symlink\n" +
				"2:77: post_install_steps step 1 (run): field \"outputs[0].max_size\": 0 will not do; want a number of bytes, 1 to 1099511627776 (1 TiB)\n" +
				"2:92: post_install_steps step 1 (run): field \"outputs[0].executable\": is a number; want true or false\n" +
				"2:102: post_install_steps step 1 (run): field \"outputs[0].count\": \"two\" will not do; want one or any\n" +
				`2:108: post_install_steps step 1 (run): field "outputs[0].mode": not a field of an object with the field path, and perhaps kind, max_size, executable and count; want one of path, kind, max_size, executable, count`},
		{"base of an output", native(`{"type":"run","command":"/a","outputs":[{"path":{"base":"vars","path":"a"}}]}`),
			`2:57: post_install_steps step 1 (run): field "outputs[0].path.base": "vars" is no base here; want perhaps "var"`},
		{"output without a path", native(`{"type":"run","command":"/a","outputs":[{}]}`),
			`2:41: post_install_steps step 1 (run): field "outputs[0].path": is missing`},
		{"output is a path", native(`{"type":"run","command":"/a","outputs":["/a"]}`),
			`2:41: post_install_steps step 1 (run): field "outputs[0]": is a string; want an object with the field path, and perhaps kind, max_size, executable and count`},
		{"too many outputs", native(`{"type":"run","command":"/a","outputs":[` + strings.Repeat(`{"path":"/a"},`, 256) + `{"path":"/a"}]}`),
			`2:40: post_install_steps step 1 (run): field "outputs": has 257 elements; want 0 to 256 of them`},
		{"limits", native(`{"type":"run","command":"/a","timeout":86401,"limits":{"cpu":0,"memory":-1,"disk":1}}`),
			"2:40: post_install_steps step 1 (run): field \"timeout\": 86401 will not do; want a whole number of seconds, 1 to 86400\n" +
				"2:62: post_install_steps step 1 (run): field \"limits.cpu\": 0 will not do; want a whole number of seconds, 1 to 86400\n" +
				"2:73: post_install_steps step 1 (run): field \"limits.memory\": -1 will not do; want a number of bytes, 1 to 1099511627776 (1 TiB)\n" +
				`2:76: post_install_steps step 1 (run): field "limits.disk": not a field of an object with the fields cpu, file_size, open_files, processes, memory and output; want one of cpu, file_size, open_files, processes, memory, output`},
		{"passed variables", native(`{"type":"run","command":"/a","pass_env":["A","B=C"]}`),
			`2:46: post_install_steps step 1 (run): field "pass_env[1]": "B=C" will not do; want the name of an environment variable`},
		{"command with a slash", native(`{"type":"run","command":"bin/a"}`),
			`2:25: post_install_steps step 1 (run): field "command": "bin/a" has no base and is not absolute; want an absolute path, or a plain name`},
		{"bad UTF-8", native(`{"type":"warn","message":"` + "\xff" + `"}`), "2:27: is no JSON: invalid UTF-8"},
		{"lone surrogate", native(`{"type":"warn","message":"\ud800"}`), `2:27: is no JSON: invalid surrogate pair ` + "`\\ud800\"}]}`" + ` in string`},
		{"trailing data", native(`{"type":"warn","message":"a"}`) + "\n{}", "3:1: there is more data after the document; want its end"},
		{"truncated", `{"schema":1,`, "1:13: the document ends too early; want a complete JSON value"},
		{"empty", ``, "1:1: the document ends too early; want a complete JSON value"},
		{"an array", `[]`, "1:1: is an array; want a document, which is an object"},
		{"no document", `{"a":1}`, "1:1: is no document; want the fields schema, layout and name, or a formula's or cask's API object"},
		{"schema version", `{"schema":2,"layout":"generic","name":"a"}`, `1:11: field "schema": "2" is no schema version that this program knows; want 1`},
		{"unknown layout", `{"schema":1,"layout":"brew","name":"a"}`, `1:22: field "layout": "brew" will not do; want one of generic, homebrew-cask, homebrew-formula`},
		{"slash in the name", `{"schema":1,"layout":"generic","name":"../a"}`, `1:39: field "name": "../a" will not do; want a package's name: letters, digits and @ + . _ -`},
		{"unknown key", `{"schema":1,"layout":"generic","name":"a","post_instal_steps":[]}`, `1:43: field "post_instal_steps": not a field of a document; want perhaps "post_install_steps"`},
		{"nothing is there", `{"schema":1}`, "1:1: field \"layout\": is missing\n1:1: field \"name\": is missing"},
		{"unknown phase of a formula", `{"name":"a","head":null,"Post_Install_Steps":[]}`, `1:25: field "Post_Install_Steps": is no phase; want "post_install_steps": names are case-sensitive`},
		{"known name in other letters", `{"name":"a","Name":"b"}`, `1:13: field "Name": is a known name in other letters; want "name": names are case-sensitive`},
		{"unknown phase of a cask", `{"token":"a","artifacts":[{"app":[null]},{"posflight_steps":[]}]}`, `1:43: field "posflight_steps": is no phase; want perhaps "postflight_steps"`},
		{"unknown phase in symbol form", `{"token":"a","artifacts":[[":preflght_steps",{}]]}`, `1:28: field "artifacts[0]": "preflght_steps" is no phase; want perhaps "preflight_steps"`},
		{"steps of a cask at the top", `{"token":"a","preflight_steps":[]}`, `1:14: field "preflight_steps": is not in its place; want the steps of a cask among its artifacts`},
		{"block of a cask", `{"token":"a","artifacts":[{"preflight_steps":[{"Steps":[]}]}]}`,
			"1:47: field \"artifacts[0].preflight_steps\": has no field steps; want \"steps\"\n" +
				`1:48: field "artifacts[0].preflight_steps": "Steps" is no field of a block of steps; want "steps"`},
		{"one name spelt twice in symbol form", `{"token":"a","artifacts":[[":preflight_steps",{":steps":[{":type":":warn",":message":"a","message":"b"}]}]]}`,
			`1:90: preflight_steps step 1 (warn): field "message": is there twice in one object; want each name once`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			doc, err := Decode([]byte(tc.in), Limits{})
			if doc != nil || err == nil {
				t.Fatalf("accepted: %+v", doc)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeErrorFields(t *testing.T) {
	t.Parallel()
	in := `{"token":"a","artifacts":[{"app":[]},{"postflight_steps":[{"steps":[]},{"steps":[` + "\n" +
		`{"type":"warn","message":"a"},{"type":"remove","paths":["/a",{"base":"~","path":"b"}]}]}]}]}`
	_, err := Decode([]byte(in), Limits{})
	var got *Error
	if !errors.As(err, &got) {
		t.Fatalf("error is %T, want *Error", err)
	}
	got.Want = ""
	want := &Error{
		Pos: Pos{2, 70}, Pointer: "/artifacts/1/postflight_steps/1/steps/1/paths/1/base", Phase: PhasePostflight,
		Step: 2, Type: TypeRemove, Field: "paths[1].base", Msg: `"~" is no base here`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrorsAreCapped(t *testing.T) {
	t.Parallel()
	list := make([]string, 30)
	for i := range list {
		list[i] = `{"type":"warn"}`
	}
	_, err := Decode([]byte(native(list...)), Limits{})
	var faults Errors
	if !errors.As(err, &faults) || len(faults) != maxErrors {
		t.Fatalf("got %d faults, want %d", len(faults), maxErrors)
	}
	if faults[0].Step != 1 || faults[9].Step != 10 {
		t.Errorf("faults are not in order: %v", err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	doc := native(`{"type":"warn","message":"a"}`, `{"type":"warn","message":"b"}`)
	deep := `{"name":"a","x":` + strings.Repeat("[", 5) + strings.Repeat("]", 5) + `}`
	for _, tc := range []struct {
		name, in string
		lim      Limits
		want     string
	}{
		{"bytes", doc, Limits{Bytes: len(doc) - 1}, fmt.Sprintf("1:1: the document has %d bytes; want at most %d", len(doc), len(doc)-1)},
		{"steps", doc, Limits{Steps: 1}, "3:1: the document has too many steps; want at most 1"},
		{"depth", deep, Limits{Depth: 5}, "1:21: nests too deep; want at most 5 levels"},
		{"depth of a step", native(`{"type":"warn","message":"a","x":[[[]]]}`), Limits{Depth: 5}, "2:36: nests too deep; want at most 5 levels"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Decode([]byte(tc.in), tc.lim)
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	for _, tc := range []struct {
		in  string
		lim Limits
	}{{doc, Limits{Bytes: len(doc), Steps: 2, Depth: 3}}, {deep, Limits{Depth: 6}}} {
		if _, err := Decode([]byte(tc.in), tc.lim); err != nil {
			t.Errorf("within its limits: %v", err)
		}
	}
	// So deep that a recursive reader would run out of stack.
	if _, err := Decode([]byte(`{"name":"a","x":`+strings.Repeat("[", 1<<20)), Limits{}); err == nil {
		t.Error("accepted a million brackets")
	}
	if err := CheckJSON([]byte(deep), Limits{Depth: 5}); err == nil {
		t.Error("CheckJSON accepted what nests too deep")
	}
}
