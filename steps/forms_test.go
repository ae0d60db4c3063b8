package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The forms of one document are decoded alike.
func TestForms(t *testing.T) {
	t.Parallel()
	write := &Write{Path: Path{Base: "etc", Path: ":a"}, Content: `\b`, Overwrite: new(false)}
	warn := &Warn{Message: "a", Guards: []Guard{{Condition: "on", ID: "1", Value: "linux"}, {Condition: "if_exists", ID: "2", Base: "search_path", Path: "b*"}}}
	staged := &Touch{Path: Path{Base: "staged_path", Path: "a"}}
	for _, tc := range []struct {
		name, in string
		want     *Document
	}{
		{"native", `{"$schema":"x","schema":1,"layout":"homebrew-formula","name":"demo","version":"1",
"post_install_steps":[{"type":"write","path":{"base":"etc","path":":a"},"content":"\\b","overwrite":false}],
 "pre_install_steps":[
  {"guards":[{"value":"linux","condition":"on","id":"1"},{"condition":"if_exists","id":"2","path":"b*","base":"path"}],"message":"a","type":"warn"}]}`,
			&Document{Origin: OriginNative, Schema: 1, Layout: "homebrew-formula", Name: "demo", Version: "1", Blocks: []Block{
				{PhasePreInstall, []Step{warn}, []Pos{{4, 3}}},
				{PhasePostInstall, []Step{write}, []Pos{{2, 23}}},
			}}},
		{"native with several blocks", `{"schema":1,"layout":"homebrew-cask","name":"demo","preflight_steps":[[{"type":"touch","path":{"base":"staged_path","path":"a"}}],[]],"postflight_steps":[]}`,
			&Document{Origin: OriginNative, Schema: 1, Layout: "homebrew-cask", Name: "demo", Blocks: []Block{
				{PhasePreflight, []Step{staged}, []Pos{{1, 72}}}, {Phase: PhasePreflight}, {Phase: PhasePostflight},
			}}},
		{"formula", `{"name":"demo","full_name":"x/y/demo","head":null,"versions":{"stable":"1.2","head":"HEAD","bottle":true},"revision":3,
"post_install_steps":[{"type":"warn","message":"a","guards":[{"condition":"on","id":"1","value":"linux"},{"condition":"if_exists","id":"2","path":"b*","base":"search_path"}]}]}`,
			&Document{Origin: OriginFormula, Schema: 1, Layout: "homebrew-formula", Name: "demo", Version: "1.2_3", Blocks: []Block{
				{PhasePostInstall, []Step{warn}, []Pos{{2, 23}}},
			}}},
		{"formula without a stable version", `{"name":"demo","versions":{"stable":null},"revision":1}`,
			&Document{Origin: OriginFormula, Schema: 1, Layout: "homebrew-formula", Name: "demo"}},
		{"cask", `{"token":"demo","name":["Demo"],"version":"1.2,3","artifacts":[{"app":["Demo.app"],"target":null},
{"postflight_steps":[{"steps":[{"type":"touch","path":{"base":"staged_path","path":"a"}}]}]},
{"preflight_steps":[{"steps":[]},{"steps":[{"type":"touch","path":{"base":"staged_path","path":"a"}}]}]}]}`,
			&Document{Origin: OriginCask, Schema: 1, Layout: "homebrew-cask", Name: "demo", Version: "1.2,3", Blocks: []Block{
				{Phase: PhasePreflight}, {PhasePreflight, []Step{staged}, []Pos{{3, 44}}},
				{PhasePostflight, []Step{staged}, []Pos{{2, 32}}},
			}}},
		{"cask in symbol form", `{"token":"demo","artifacts":[[":app",["Demo.app"]],[":zap",{":trash":null}],
[":preflight_steps",{":steps":[{":type":":touch",":path":{":base":":staged_path",":path":"a"}},
 {"type":"write",":path":{":base":":staged_path",":path":"\\:a"},":content":"\\\\b",":overwrite":false}]}]]}`,
			&Document{Origin: OriginCask, Schema: 1, Layout: "homebrew-cask", Name: "demo", Blocks: []Block{
				{PhasePreflight, []Step{staged, &Write{Path: Path{Base: "staged_path", Path: ":a"}, Content: `\b`, Overwrite: new(false)}}, []Pos{{2, 32}, {3, 2}}},
			}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Decode([]byte(tc.in), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPathForms(t *testing.T) {
	t.Parallel()
	in := `[{"type":"run","command":"true","stdin_path":"/a","stdout_path":{"base":"var","path":"a/../b"},"chdir":{"path":"~"},
	"writable_paths":["{{var}}/x",{"base":"absolute","path":"/y"}],"env":{"B":"","A":"x"},"args":["","a"],"sudo":true},
	{"type":"symlink","source":{"base":"relative","path":"../a"},"target":{"base":"formula_pkgetc","formula":"x/y/z","path":"."},"sudo":"if_needed"},
	{"type":"remove","paths":["$HOMEBREW_PREFIX/a",{"base":"path","path":"b"}],"sudo":false},
	{"type":"inreplace","path":"/$HOME/a","before":"","after":"","regexp_options":7}]`
	want := []Step{
		&Run{
			Command: Path{Path: "true"}, Args: []string{"", "a"}, Env: map[string]string{"A": "x", "B": ""}, Sudo: SudoAlways,
			StdinPath: &Path{Path: "/a"}, StdoutPath: &Path{Base: "var", Path: "a/../b"}, Chdir: &Path{Path: "~"},
			WritablePaths: []Path{{Path: "{{var}}/x"}, {Base: BaseAbsolute, Path: "/y"}},
		},
		&Symlink{Source: Path{Base: BaseRelative, Path: "../a"}, Target: Path{Base: "formula_pkgetc", Path: ".", Formula: "x/y/z"}, Sudo: SudoIfNeeded},
		&Remove{Paths: []Path{{Path: "$HOMEBREW_PREFIX/a"}, {Base: BaseSearchPath, Path: "b"}}},
		&Inreplace{Path: Path{Path: "/$HOME/a"}, RegexpOptions: 7},
	}
	got, err := DecodeSteps([]byte(in), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wire := `[{"type":"run","command":{"path":"true"},"args":["","a"],"env":{"A":"x","B":""},"sudo":true,"stdin_path":{"path":"/a"},` +
		`"stdout_path":{"base":"var","path":"a/../b"},"chdir":{"path":"~"},"writable_paths":[{"path":"{{var}}/x"},{"base":"absolute","path":"/y"}]},` +
		`{"type":"symlink","source":{"base":"relative","path":"../a"},"target":{"base":"formula_pkgetc","path":".","formula":"x/y/z"},"sudo":"if_needed"},` +
		`{"type":"remove","paths":[{"path":"$HOMEBREW_PREFIX/a"},{"base":"search_path","path":"b"}]},` +
		`{"type":"inreplace","path":{"path":"/$HOME/a"},"before":"","after":"","regexp_options":7}]`
	text, err := EncodeSteps(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wire, string(text)); diff != "" {
		t.Errorf("canonical form (-want +got):\n%s", diff)
	}
}

// What a command is limited to: no list differs from an empty one, no object from one
// without fields.
func TestRunForms(t *testing.T) {
	t.Parallel()
	in := `[{"type":"run","command":"/a","outputs":[],"limits":{},"network":{"tcp":[443,80]},"pass_env":["B","A"],"timeout":9},
	{"type":"run","command":"/a","outputs":[{"count":"any","path":{"base":"var","path":"*.o"},"executable":true,"max_size":5000000000,"kind":"file"},{"path":"/b","executable":false}],
	"limits":{"output":6,"memory":5,"processes":4,"open_files":3,"file_size":2,"cpu":1}},
	{"type":"run","command":"/a","pass_env":[]}]`
	command := Path{Path: "/a"}
	want := []Step{
		&Run{Command: command, Outputs: []Output{}, Limits: &RunLimits{}, Network: &Network{TCP: []int{443, 80}}, PassEnv: []string{"B", "A"}, Timeout: 9},
		&Run{
			Command: command,
			Outputs: []Output{
				{Path: Path{Base: "var", Path: "*.o"}, Kind: OutputFile, MaxSize: 5_000_000_000, Executable: true, Count: CountAny},
				{Path: Path{Path: "/b"}},
			},
			Limits: &RunLimits{CPU: 1, FileSize: 2, OpenFiles: 3, Processes: 4, Memory: 5, Output: 6},
		},
		&Run{Command: command},
	}
	got, err := DecodeSteps([]byte(in), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wire := `[{"type":"run","command":{"path":"/a"},"network":{"tcp":[443,80]},"pass_env":["B","A"],"outputs":[],"timeout":9,"limits":{}},` +
		`{"type":"run","command":{"path":"/a"},"outputs":[{"path":{"base":"var","path":"*.o"},"kind":"file","max_size":5000000000,"executable":true,"count":"any"},{"path":{"path":"/b"}}],` +
		`"limits":{"cpu":1,"file_size":2,"open_files":3,"processes":4,"memory":5,"output":6}},` +
		`{"type":"run","command":{"path":"/a"}}]`
	text, err := EncodeSteps(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wire, string(text)); diff != "" {
		t.Errorf("canonical form (-want +got):\n%s", diff)
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	if _, err := EncodeSteps([]Step{&Warn{Message: "\xff"}}); err == nil {
		t.Error("encoded text that is not UTF-8")
	}
	if _, err := (&Document{Blocks: []Block{{Phase: "x"}}}).Encode(); err == nil {
		t.Error("encoded an unknown phase")
	}
}
