package model

// A Model is everything that the schema says.
type Model struct {
	Steps  []Step
	Rules  map[string]*Rule
	Phases []string

	Bases, FormulaBases, GlobBases []string
	AbsoluteTokens, ValueTokens    []string
	Placeholders                   []string
	MaxUndo                        int

	Layouts []Layout

	Composites  []Composite
	Unsupported []Pair
}

// A Step is the definition of one step type.
type Step struct {
	Type   string
	Name   string
	Doc    []string
	Fields []Field
}

// A Field is a field of a step other than type and guards.
type Field struct {
	Name     string
	Doc      []string
	Required bool
	Kind     Kind
	// Writes is set for a path at which the step changes something, or below.
	Writes bool
	// Rule holds for a scalar, for each element of a list and each value of a map.
	Rule *Rule
}

// Kind says what a field holds.
type Kind string

// The kinds of fields. A Choice is a boolean whose absence counts.
const (
	KindBool    Kind = "bool"
	KindChoice  Kind = "choice"
	KindSudo    Kind = "sudo"
	KindInt     Kind = "int"
	KindString  Kind = "string"
	KindStrings Kind = "strings"
	KindEnv     Kind = "env"
	KindPath    Kind = "path"
	KindPaths   Kind = "paths"
)

// A Rule is a named scalar definition, or a path definition.
type Rule struct {
	Name string
	// Want says in words what is wanted.
	Want string
	// Match must all match, NoMatch must not.
	Match, NoMatch []string
	// Min and Max bound an integer.
	Min, Max *int64
	// Arms are the forms of a path or guard, in order.
	Arms []Arm
}

// An Arm is one form of a path or a guard: a bare string if Text is set, else an
// object with these fields.
type Arm struct {
	Text   *Rule
	Fields []ArmField
}

// An ArmField is a field of an object. Const is its only value, if it has just one.
type ArmField struct {
	Name     string
	Required bool
	Const    string
	Rule     *Rule
}

// A Layout says where a kind of package lives.
type Layout struct {
	Name   string
	Doc    []string
	Vars   []Var
	Bases  []Pair
	Tokens []Pair
	// Placeholders include their dollar sign.
	Placeholders []Pair
	Verbatim     []string
	Grants       []Grant
	Run          Run
}

// A Var is a value that the client supplies for a layout.
type Var struct {
	Name, Doc string
	Dir       bool
}

// A Pair is a name and a template.
type Pair struct{ Name, Template string }

// A Grant is a directory and what a package may do there.
type Grant struct{ Dir, Access, Approval string }

// Run is what a run step may read and write that declares nothing.
type Run struct{ Reads, Writes []string }
