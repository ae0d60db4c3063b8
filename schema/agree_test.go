package schema

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// agreeSeeds are documents with every form, type, field and condition. More come from
// what the mutations make of them.
var agreeSeeds = []string{
	`{"schema":1,"layout":"homebrew-formula","name":"demo","version":"1.2.3","post_install_steps":[
{"type":"mkdir","path":{"base":"var","path":"a/./b/../c"}},{"type":"mkdir_p","path":"{{HOMEBREW_PREFIX}}/x"},
{"type":"touch","path":{"path":"~/{{name}}"},"guards":[{"condition":"if_exists","id":"1","base":"etc","path":"*c"},{"condition":"on","id":"2","value":"linux"},{"condition":"unless_exists","id":"3","path":"/a"},{"condition":"unless_exists","id":"4","base":"formula_pkgetc","formula":"x","path":"a"},{"condition":"if_exists","id":"5","base":"search_path","path":"a"}]},
{"type":"write","path":{"base":"etc","path":"a"},"content":"","overwrite":false},
{"type":"write","path":{"base":"etc","path":"a"},"content":"x","preserve":"merge"},{"type":"copy","source":"/a","target":"/b","preserve":"rename_old"},
{"type":"move","source":{"base":"absolute","path":"/a"},"target":{"base":"bin","path":"b"},"overwrite":true,"force":false,"source_glob":true},
{"type":"move_contents","source":"/a","target":"/b"},{"type":"move_children","source":"/a","target":"/b"},
{"type":"copy","source":"/a","target":"/b","recursive":true,"overwrite":false,"source_glob":false},
{"type":"remove","paths":["/a*",{"base":"path","path":"x"}],"recursive":true,"sudo":"if_needed","symlink_target_contains":"a","content_contains":"b"},
{"type":"inreplace","path":"/a","before":"","after":"","regexp":true,"regexp_options":5,"skip_audit":true,"first_only":true},
{"type":"set_permissions","paths":[],"permissions":"u+x,go-w","non_recursive":true},
{"type":"symlink","source":{"base":"relative","path":"../a"},"target":"/b","force":true,"uninstall":true,"source_glob":true,"sudo":true},
{"type":"link_dir","source":"/a","target":"/b"},{"type":"link_children","source":"/a","target":"/b","prefix":"p-","suffix":"-s"},
{"type":"run","command":{"path":"true"},"args":["","a"],"env":{"A":"b","C":""},"sudo":true,"allow_failure":true,"print_stdout":true,"suppress_stderr":true,"stdin_path":"/a","stdout_path":{"base":"var","path":"a"},"chdir":"/","writable_paths":["/a",{"base":"var","path":"."}],"network_access":true},
{"type":"run","command":"/a","network":{"tcp":[80,443]},"network_access":false,"pass_env":["A","_b"],"timeout":60,"limits":{"cpu":1,"file_size":1099511627776,"open_files":3,"processes":4,"memory":5000000000,"output":6},"outputs":[{"path":{"base":"var","path":"a"},"kind":"file","max_size":7,"executable":true,"count":"one"},{"path":"/a/*.{c,h}","kind":"directory","count":"any"},{"path":{"base":"formula_pkgetc","formula":"x","path":"{{name}}"},"kind":"symlink","executable":false}]},
{"type":"run","command":"/a","limits":{},"outputs":[]},
{"type":"run","command":{"base":"relative","path":"true"}},{"type":"run","command":{"base":"formula_opt_prefix","formula":"a/b/c@1","path":"bin/x"}}]}`,
	`{"name":"demo","versions":{"stable":"1.2","head":null},"revision":1,"x":null,"post_install_steps":[
{"type":"terminate_process","name":"a","match":"full","sudo":true,"attempts":3,"must_succeed":true,"notices":["a"],"failure_message":"b"},
{"type":"warn","message":"a"},{"type":"install_gzipped_executable","source":"/a","target":"/b"},
{"type":"init_data_dir","path":{"base":"var","path":"d"},"using":"postgresql_initdb","locale":"C"},
{"type":"compile_gsettings_schemas","path":"/a"},{"type":"gio_querymodules","path":"/a"},{"type":"gdk_pixbuf_query_loaders"},
{"type":"gtk_update_icon_cache","path":"/a"},{"type":"update_mime_database","path":"/a"},{"type":"update_desktop_database","path":"/a"},
{"type":"configure_gcc_runtime"},{"type":"configure_glibc_runtime"},{"type":"configure_clang_system"},{"type":"configure_php"},
{"type":"bootstrap_cpython"},{"type":"bootstrap_pypy","abi_version":"3.10"},{"type":"change_dylib_id","source":"/a","id":"b","resolve_source":true}]}`,
	`{"token":"demo","version":"1,2","name":["x"],"artifacts":[{"app":["x",null]},{"postflight_steps":[{"steps":[
{"type":"set_ownership","paths":[{"base":"staged_path","path":"a"},"$APPDIR/x"],"user":"root","group":"wheel","non_recursive":true}]}]},
[":preflight_steps",{":steps":[{":type":":delete_keychain_certificate",":name":"\\:a",":matching_certificate":{":path":"~/a"},":guards":[{":condition":":on",":id":"1",":value":":macos"}]},{"type":"warn","message":"\\\\"}]}]]}`,
	`{"schema":1,"layout":"generic","name":"demo","$schema":"x","preflight_steps":[[{"type":"touch","path":{"base":"cache","path":"{{token}}"}}],[]]}`,
	`[]`, `{"schema":1}`, `{"name":"a","b_steps":[]}`,
}

// FuzzAgree looks for documents that one validator accepts and the other refuses. The
// numbers choose mutations of the document.
func FuzzAgree(f *testing.F) {
	for i, s := range agreeSeeds {
		f.Add([]byte(s), uint64(i), uint8(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, mutations uint8) {
		if len(data) > 1<<14 {
			return
		}
		var tree any
		if err := json.Unmarshal(data, &tree); err == nil && mutations > 0 {
			r := rand.New(rand.NewPCG(seed, 1))
			for range mutations%4 + 1 {
				tree = mutate(r, tree)
			}
			if changed, err := json.Marshal(tree, json.Deterministic(true)); err == nil {
				data = changed
			}
		}
		agree(t, data)
	})
}

func agree(t *testing.T, data []byte) {
	t.Helper()
	if err := CrossCheck(data); err != nil && strings.HasPrefix(err.Error(), "BUG") {
		t.Errorf("%v\n%s", err, data)
	}
	if jsontext.Value(data).Kind() != '[' {
		return
	}
	if err := CrossCheckSteps(data); err != nil && strings.HasPrefix(err.Error(), "BUG") {
		t.Errorf("%v\n%s", err, data)
	}
}

// The same without a fuzzing engine: some thousands of mutated documents, the same ones
// each time.
func TestAgree(t *testing.T) {
	t.Parallel()
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for i, seed := range agreeSeeds {
		agree(t, []byte(seed))
		r := rand.New(rand.NewPCG(uint64(i), 2))
		for range rounds {
			var tree any
			if err := json.Unmarshal([]byte(seed), &tree); err != nil {
				t.Fatal(err)
			}
			tree = mutate(r, tree)
			data, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, data)
		}
	}
}

// Texts that are near the edge of some rule.
var texts = []string{
	"", ".", "..", "a", "a/b", "/a", "/", "~", "~/a", "~a", "../a", "a/../b", "a/../../b", "/a/../b", "a/..", "a//b", "/..", "...", "a/b/c/d/e/../../../../..",
	"{{name}}", "{{version.major}}", "{{versionxmajor}}", "{{nope}}", "{{prefix}}", "{{prefix}}/a", "{{prefix}}a", "a/{{prefix}}", "{{appdir}}/a", "{{ name }}", "{{", "{", "a{", "{a,b}", "{{{name}}}", "{{name}}/../a", "{{name}}..", "$HOMEBREW_PREFIX/a", "$HOMEBREW_PREFIX", "$HOMEBREW_PREFIXa", "$APPDIR", "/$HOME/a",
	"a\x00", "\x00", "\n", "é", "\U0001f600", ":a", "\\a", "\\(a)", "\"", "\\", "#a", "_a", "a b", "-a", "A=B", "1", "1.2", "0755", "07555", "u+x", "u+x,", "+", "g=u", "4755", "rwx!",
	"base", "bin", "relative", "absolute", "search_path", "path", "staged_path", "formula_pkgetc", "formula_opt_prefix", "cache", "logs", "on", "if_exists", "linux", "macos", "windows",
	"if_needed", "true", "name", "full", "file", "directory", "symlink", "one", "any", "keep", "merge", "*", "a?", "[a]", "{{name}}*", "mysql_initialize", "homebrew-cask", "generic", "warn", "write", "a/b/c", "a/b", "x@1",
}

var names = []string{
	"type", "Type", "path", "base", "formula", "guards", "condition", "id", "value", "source", "target", "content", "overwrite", "force", "sudo", "paths",
	"schema", "layout", "name", "Name", "version", "token", "artifacts", "steps", "post_install_steps", "preflight_steps", "Post_Install_Steps", "x_steps",
	":type", "\\type", ":path", "x", "", "_x", "#x", "$schema", "regexp_options", "attempts", "env", "args", "message",
	"preserve", "network", "network_access", "tcp", "outputs", "kind", "max_size", "executable", "count", "limits", "cpu", "pass_env", "timeout",
}

// mutate changes one node of a JSON tree, chosen by r.
func mutate(r *rand.Rand, tree any) any {
	switch node := tree.(type) {
	case map[string]any:
		if len(node) > 0 && r.IntN(6) > 0 {
			key := pick(r, node)
			node[key] = mutate(r, node[key])
			return node
		}
		return mutateObject(r, node)
	case []any:
		if len(node) > 0 && r.IntN(8) > 0 {
			i := r.IntN(len(node))
			node[i] = mutate(r, node[i])
			return node
		}
		if len(node) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(node))
			return append(node[:i:i], node[i+1:]...)
		}
		return append(node, scalar(r))
	default:
		return scalar(r)
	}
}

func mutateObject(r *rand.Rand, node map[string]any) any {
	if len(node) == 0 || r.IntN(3) == 0 {
		node[names[r.IntN(len(names))]] = scalar(r)
		return node
	}
	key := pick(r, node)
	switch r.IntN(4) {
	case 0:
		delete(node, key)
	case 1:
		node[names[r.IntN(len(names))]] = node[key]
	case 2:
		node[strings.ToUpper(key[:min(1, len(key))])+key[min(1, len(key)):]] = node[key]
		delete(node, key)
	default:
		return scalar(r)
	}
	return node
}

// pick chooses a name of an object that has some.
func pick(r *rand.Rand, node map[string]any) string {
	keys := slices.Sorted(maps.Keys(node)) // in the same order each time
	return keys[r.IntN(len(keys))]
}

func scalar(r *rand.Rand) any {
	numbers := []string{"0", "-0", "1", "3", "7", "8", "-1", "100", "101", "65535", "65536", "86401", "1099511627777", "1.0", "1e0", "9223372036854775808", "1e400", "0.5"}
	switch r.IntN(12) {
	case 0:
		return nil
	case 1:
		return true
	case 2:
		return false
	case 3, 4:
		return jsontext.Value(numbers[r.IntN(len(numbers))])
	case 5:
		return []any{}
	case 6:
		return map[string]any{}
	case 7:
		return map[string]any{"path": texts[r.IntN(len(texts))]}
	case 8:
		return map[string]any{"path": texts[r.IntN(len(texts))], "base": texts[r.IntN(len(texts))]}
	default:
		return texts[r.IntN(len(texts))]
	}
}

// Every path text at every kind of path, with and without each kind of base.
func TestAgreeOnPaths(t *testing.T) {
	t.Parallel()
	steps := map[string]string{
		"plain": `[{"type":"touch","path":%}]`, "glob": `[{"type":"remove","paths":[%]}]`,
		"link": `[{"type":"symlink","source":%,"target":"/a"}]`, "output": `[{"type":"run","command":"/a","outputs":[{"path":%},{"count":"any","path":%}]}]`,
		"one output": `[{"type":"run","command":"/a","outputs":[{"path":%,"count":"one"}]}]`, "any outputs": `[{"type":"run","command":"/a","outputs":[{"count":"any","path":%}]}]`, "command": `[{"type":"run","command":%}]`,
	}
	bases := []string{"", "absolute", "relative", "bin", "search_path", "path", "formula_pkgetc", "nope"}
	for kind, template := range steps {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, text := range texts {
				quoted, err := jsontext.AppendQuote(nil, text)
				if err != nil {
					t.Fatal(err)
				}
				agree(t, []byte(strings.ReplaceAll(template, "%", string(quoted))))
				for _, base := range bases {
					for _, formula := range []string{"", `,"formula":"x"`} {
						object := `{"path":` + string(quoted) + formula + "}"
						if base != "" {
							object = `{"base":"` + base + `","path":` + string(quoted) + formula + "}"
						}
						agree(t, []byte(strings.ReplaceAll(template, "%", object)))
						guard := strings.TrimSuffix(object, "}") + `,"condition":"if_exists","id":"1"}`
						if kind == "plain" {
							agree(t, []byte(`[{"type":"warn","message":"a","guards":[`+guard+`]}]`))
						}
					}
				}
			}
		})
	}
}
