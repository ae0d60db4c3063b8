package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const (
	cueFolder = "../.."
	goFolder  = "../../../steps"
)

// The generated files are those that the CUE gives: nothing was forgotten, or edited.
func TestGenerateLeavesNoDiff(t *testing.T) {
	t.Parallel()
	want, err := Generate(os.DirFS(cueFolder))
	if err != nil {
		t.Fatal(err)
	}
	there, err := filepath.Glob(filepath.Join(goFolder, "zz_generated_*.go"))
	if err != nil || len(there) != len(want) {
		t.Errorf("%d generated files are there, want %d (%v)", len(there), len(want), err)
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(goFolder, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(text), string(got)); diff != "" {
			t.Errorf("%s: run go generate ./schema (-want +got):\n%s", name, diff)
		}
	}
}

// A construct that the generator does not know stops it, so that no rule gets lost.
func TestGenerateRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file, old, new, want string
	}{
		{"a number without a name", "step.cue", "skip_audit?: bool", "skip_audit?: int", "#Inreplace.skip_audit"},
		{"a rule without a name", "step.cue", "locale?: #Locale", `locale?: =~"^a"`, "must refer to a definition"},
		{"a required boolean", "step.cue", "skip_audit?: bool", "skip_audit!: bool", "must be optional"},
		{"an operator", "value.cue", "#Attempts: int & >=1 & <=100", "#Attempts: int & >1 & <=100", "operator"},
		{"a rule without words", "value.cue", ` @want("macos or linux")`, "", "needs the attribute want"},
		{"a step without guards", "step.cue", "message!: #Text\n\t_common", "message!: #Text", "must embed _common"},
		{"an open step", "step.cue", "message!: #Text\n\t_common", "message!: #Text\n\t_common\n\t...", "must be closed"},
		{"a wrong type", "step.cue", `"warn"`, `"worn"`, "type must be"},
		{"an unknown field of a path", "path.cue", `{path!: #RelativeText, base!: =~_base} |`, `{path!: #RelativeText, base!: =~_base, mode?: #Text} |`, "mode"},
		{"a rule for paths that Go lacks", "path.cue", `{path!: #CommandName, base!: "relative"}`, `{path!: #Text, base!: "relative"}`, "#CommandName"},
		{"an unknown placeholder", "composite.cue", `"--locale=$locale"`, `"--locale=$lcoale"`, "$lcoale"},
		{"an unsupported type that is not there", "composite.cue", "configure_php: ", "configure_perl: ", "configure_perl"},
		{"an object without words", "step.cue", ` @want("an object with the field tcp, a list of ports")`, "", "want"},
		{"an open object", "step.cue", "\toutput?: #OutputBytes\n", "\toutput?: #OutputBytes\n\t...\n", "must be closed"},
		{"an object without a name", "step.cue", "limits?:  #RunLimits", "limits?: {cpu?: #Timeout}", "must refer to a definition"},
		{"a required object", "step.cue", "limits?:  #RunLimits", "limits!:  #RunLimits", "must be optional"},
		{"a bounded list of strings", "step.cue", "pass_env?: [...#EnvName]", "pass_env?: [...#EnvName] & list.MaxItems(3)", "only lists of numbers and objects"},
		{"another validator of lists", "step.cue", "[...#Output] & list.MaxItems(256)", "[...#Output] & list.UniqueItems()", "not understood"},
		{"a type without a class", "classes.cue", "\tmkdir_p: {}\n", "", "has no class for mkdir_p"},
		{"a class of no type", "classes.cue", "\tmkdir_p: {}\n", "\tmkdir_p: {}\n\tmkdir_q: {}\n", "mkdir_q"},
		{"a class without a reason", "classes.cue", "\ttouch: {again: \"no\", again_why: \"it sets the time of modification anew\"}", "\ttouch: again: \"no\"", "again_why"},
		{"broken CUE", "value.cue", "#Attempts: int", "#Attempts: int & string", "broken"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{}
			names, err := filepath.Glob(filepath.Join(cueFolder, "*.cue"))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if filepath.Base(name) == tc.file {
					changed := strings.ReplaceAll(string(text), tc.old, tc.new)
					if changed == string(text) {
						t.Fatalf("%s does not hold %q", tc.file, tc.old)
					}
					text = []byte(changed)
				}
				files[filepath.Base(name)] = &fstest.MapFile{Data: text}
			}
			_, err = Generate(files)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}
