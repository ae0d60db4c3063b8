package rubyre

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A rubyCase is one replacement, run by Ruby and by this package. Text and
// result travel as Latin-1, one character for each byte.
type rubyCase struct {
	Pattern string `json:"pattern"`
	Options int    `json:"options"`
	Text    string `json:"text"`
	After   string `json:"after"`
	First   bool   `json:"first"`
	Literal bool   `json:"literal"`
}

type rubyResult struct {
	Out   *string `json:"out"` // nil: nothing replaced
	Error string  `json:"error"`
}

const rubyProgram = `
require "json"; require "timeout"; $VERBOSE = nil
STDIN.each_line do |line|
  c = JSON.parse(line); res = {}
  begin
    Timeout.timeout(1) do
      pattern = c["literal"] ? c["pattern"] : Regexp.new(c["pattern"], c["options"])
      text = c["text"].encode("ISO-8859-1").b
      out = text.send(c["first"] ? :sub! : :gsub!, pattern, c["after"])
      res["out"] = out && out.b.force_encoding("ISO-8859-1").encode("UTF-8")
    end
  rescue StandardError => e
    res["error"] = "#{e.class}: #{e.message.b.scrub('?')[0, 100]}".encode("UTF-8", invalid: :replace, undef: :replace)
  end
  puts JSON.generate(res)
end
`

func runRuby(t *testing.T, cases []rubyCase) []rubyResult {
	t.Helper()
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Skip("no ruby on this machine")
	}
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, c := range cases {
		if err := enc.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(ruby, "-Eutf-8:utf-8", "-e", rubyProgram)
	cmd.Stdin = &in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ruby: %v\n%s", err, stderr.String())
	}
	var results []rubyResult
	dec := json.NewDecoder(bytes.NewReader(out))
	for dec.More() {
		var r rubyResult
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	if len(results) != len(cases) {
		t.Fatalf("ruby answered %d of %d cases: %s", len(results), len(cases), stderr.String())
	}
	return results
}

func latin1(b []byte) string {
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}

func fromLatin1(s string) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return b
}

func rubyOptions(o int) Options {
	return Options{IgnoreCase: o&1 != 0, Extended: o&2 != 0, MultiLine: o&4 != 0}
}

func runCase(c rubyCase) rubyResult {
	re := CompileLiteral(c.Pattern)
	if !c.Literal {
		var err error
		if re, err = Compile(c.Pattern, rubyOptions(c.Options), 5*time.Second); err != nil {
			return rubyResult{Error: err.Error()}
		}
	}
	out, n, err := re.Replace(fromLatin1(c.Text), c.After, c.First)
	if err != nil {
		return rubyResult{Error: err.Error()}
	}
	if n == 0 {
		return rubyResult{}
	}
	s := latin1(out)
	return rubyResult{Out: &s}
}

func show(r rubyResult) string {
	if r.Error != "" {
		return "error " + r.Error
	}
	if r.Out == nil {
		return "no match"
	}
	b, _ := json.Marshal(*r.Out)
	return string(b)
}

// compareWithRuby fails for every case this package accepts and Ruby answers
// differently. A refusal is fine: it is the package's way out.
func compareWithRuby(t *testing.T, cases []rubyCase) {
	t.Helper()
	refused, replaced, failures := 0, 0, 0
	for i, want := range runRuby(t, cases) {
		got := runCase(cases[i])
		if got.Error != "" {
			if want.Error == "" {
				refused++
			}
			continue
		}
		if got.Out != nil {
			replaced++
		}
		// Ruby loops for ever on some possessive repeats of nothing.
		if show(got) != show(want) && !strings.HasPrefix(want.Error, "Timeout::Error") {
			if failures++; failures <= 20 {
				t.Errorf("%+v\n got %s\nwant %s", cases[i], show(got), show(want))
			}
		}
	}
	t.Logf("%d cases, %d replaced text, %d refused that Ruby accepts, %d differ", len(cases), replaced, refused, failures)
}

// patternGen makes random patterns from the constructs of the dialect.
type patternGen struct {
	*rand.Rand
	groups int
}

func (g *patternGen) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *patternGen) alternation(depth int) string {
	s := g.sequence(depth)
	for g.IntN(4) == 0 {
		s += "|" + g.sequence(depth)
	}
	return s
}

func (g *patternGen) sequence(depth int) string {
	var s strings.Builder
	for range g.IntN(4) {
		s.WriteString(g.atom(depth))
		if g.IntN(3) == 0 {
			s.WriteString(g.pick("*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{,2}", "{1,}", "{0,2}?", "{2}?", "{1,2}+", "**", "+?*", "??*"))
		}
	}
	return s.String()
}

func (g *patternGen) atom(depth int) string {
	if depth == 0 || g.IntN(3) > 0 {
		return g.pick("a", "b", "A", "c", ".", "1", `\n`, "^", "$", `\A`, `\z`, `\Z`, `\b`, `\B`, `\w`, `\W`, `\d`, `\s`, `\h`,
			"[ab]", "[^a]", "[a-c&&b-d]", "[[:alpha:]]", "[[:^upper:]]", "[^[:upper:]a]", "[[^a]b]", `\x61`, `\u0062`, `\{`, "[^\\n]", "[\\W]", "(?#x)", "a b", "é", `[a-é]`)
	}
	switch g.IntN(12) {
	case 0, 1, 2:
		g.groups++
		return "(" + g.alternation(depth-1) + ")"
	case 3:
		return "(?:" + g.alternation(depth-1) + ")"
	case 4:
		return "(?>" + g.alternation(depth-1) + ")"
	case 5:
		return "(?=" + g.alternation(depth-1) + ")"
	case 6:
		return "(?!" + g.alternation(depth-1) + ")"
	case 7:
		return "(?<=" + g.alternation(depth-1) + ")"
	case 8:
		return "(?<!" + g.alternation(depth-1) + ")"
	case 9:
		return g.pick("(?i:", "(?-i:", "(?m:", "(?x:", "(?i)(?:") + g.alternation(depth-1) + ")"
	case 10:
		return g.pick(`\1`, `\2`, `\k<1>`, `\k<-1>`, `\k<n>`, `\12`)
	default:
		return "(?<" + g.pick("n", "m") + ">" + g.alternation(depth-1) + ")"
	}
}

func (g *patternGen) text() string {
	var b []byte
	for range g.IntN(9) {
		b = append(b, g.pick("a", "b", "c", "A", "B", "1", "\n", " ", "\xc3", "\xe9", "{", "aa", "ab")...)
	}
	return latin1(b)
}

func (g *patternGen) after() string {
	var s strings.Builder
	for range g.IntN(4) {
		s.WriteString(g.pick("x", `\0`, `\1`, `\2`, `\\`, `\&`, "\\`", `\'`, "[", "]", `\k<n>`, `\q`, `\`, "é"))
	}
	return s.String()
}

func randomCases(seed uint64, n int) []rubyCase {
	g := &patternGen{Rand: rand.New(rand.NewPCG(seed, 1))}
	var cases []rubyCase
	for range n {
		c := rubyCase{Pattern: g.alternation(3), Text: g.text(), After: g.after(), First: g.IntN(4) == 0, Literal: g.IntN(20) == 0}
		if g.IntN(3) == 0 {
			c.Options = g.IntN(8)
		}
		cases = append(cases, c)
	}
	return cases
}

func TestAgainstRuby(t *testing.T) {
	t.Parallel()
	seed, n := uint64(1), 5_000
	if s := os.Getenv("RUBYRE_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
		n = 20_000
	}
	compareWithRuby(t, randomCases(seed, n))
}
