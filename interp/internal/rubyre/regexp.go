package rubyre

import (
	"bytes"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// maxStack bounds the engine's backtracking stack, in machine words.
const maxStack = 4 << 20

// Options are Ruby's regexp_options.
type Options struct {
	IgnoreCase bool // 1
	Extended   bool // 2: ignore white space and # comments
	MultiLine  bool // 4: the dot matches newline too
}

// A Regexp is a compiled pattern or a literal. It is safe for concurrent use.
type Regexp struct {
	engine  *regexp2.Regexp // nil for a literal
	literal []byte

	groups   int            // capturing groups
	names    map[string]int // named groups
	nonASCII bool           // fits ASCII text only
	timeout  time.Duration
}

// Compile parses a Ruby pattern. The timeout bounds each [Regexp.Replace] call
// and must be positive. A malformed or unsupported pattern yields a
// [*SyntaxError].
func Compile(pattern string, o Options, timeout time.Duration) (*Regexp, error) {
	if timeout <= 0 {
		return nil, fmt.Errorf("compile %q: the timeout %v is not positive", abbreviate(pattern), timeout)
	}
	p := &parser{text: pattern}
	root, err := p.parse(o)
	if err != nil {
		return nil, err
	}
	e := newEmitter(p, root)
	e.emit(root)
	engine, err := compileEngine(e.String())
	if err != nil {
		return nil, &SyntaxError{pattern, 0, "not supported: " + err.Error()}
	}
	engine.MatchTimeout = timeout
	re := &Regexp{
		engine: engine, groups: len(e.numbers), names: map[string]int{},
		nonASCII: p.nonASCII, timeout: timeout,
	}
	for name, index := range p.names {
		re.names[name] = e.numbers[index]
	}
	return re, nil
}

// compileEngine turns a crash of the engine's optimiser into an error: the
// pattern comes from a package author, and must not take the interpreter down.
func compileEngine(expr string) (engine *regexp2.Regexp, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the engine rejects it: %v", r)
		}
	}()
	return regexp2.Compile(expr, regexp2.OptionMaxBacktrackingStackSize(maxStack))
}

// CompileLiteral returns a Regexp that matches exactly s. The replacement
// syntax applies to it as to a pattern without groups.
func CompileLiteral(s string) *Regexp {
	return &Regexp{literal: []byte(s), nonASCII: !isASCII(s)}
}

// each calls yield with the group bounds of every match in order, bounds[2*g]
// and bounds[2*g+1] for group g, -1 for one that took no part. The slice is
// reused. It stops early when yield returns false.
func (re *Regexp) each(src []byte, yield func(bounds []int) bool) error {
	if re.nonASCII && !isASCII(src) {
		return ErrEncoding
	}
	if re.engine == nil {
		re.eachLiteral(src, yield)
		return nil
	}
	return re.eachMatch(src, yield)
}

func (re *Regexp) eachLiteral(src []byte, yield func(bounds []int) bool) {
	if !utf8.Valid(re.literal) {
		return // Ruby never finds a broken string
	}
	for from := 0; from <= len(src); {
		at := bytes.Index(src[from:], re.literal)
		if at < 0 {
			return
		}
		start, end := from+at, from+at+len(re.literal)
		if !yield([]int{start, end}) {
			return
		}
		from = end
		if start == end {
			from++
		}
	}
}

func (re *Regexp) eachMatch(src []byte, yield func(bounds []int) bool) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the pattern engine failed: %v", r)
		}
	}()
	deadline := time.Now().Add(re.timeout)
	late := false
	bounds := make([]int, 2*(re.groups+1))
	err = re.engine.FindRunesMatches(engineText(src), 0, func(m regexp2.MatchView) bool {
		if late = time.Now().After(deadline); late {
			return false
		}
		for g := 0; g <= re.groups; g++ {
			start, length, ok := m.GroupRange(g)
			if !ok {
				start, length = -1, 0
			}
			bounds[2*g], bounds[2*g+1] = start, start+length
		}
		return yield(bounds)
	})
	switch {
	case errors.Is(err, regexp2.ErrBacktrackingStackLimit):
		return ErrStack
	case err != nil, late:
		// The engine's only other error is its timeout, whose text repeats
		// the whole input.
		return ErrTimeout
	}
	return nil
}
