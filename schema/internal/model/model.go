package model

// A Model is everything that the schema says.
type Model struct {
	Steps []Step
	// Objects are the objects that fields hold, in the order of their first use.
	Objects []*Object
	Rules   map[string]*Rule
	Phases  []string

	Bases, FormulaBases, GlobBases []string
	AbsoluteTokens, ValueTokens    []string
	Placeholders                   []string
	MaxUndo                        int

	Layouts []Layout

	Composites  []Composite
	Unsupported []Pair
	// Classes are by step type.
	Classes   map[string]Class
	Protected []ProtectedName
}

// A Step is the definition of one step type.
type Step struct {
	Type   string
	Name   string
	Doc    []string
	Fields []Field
	// Check is set where fields are checked together.
	Check bool
}

// An Object is the definition of an object that a step's field holds.
type Object struct {
	Name   string
	Doc    []string
	Fields []Field
	Check  bool
	// Want says in words what is wanted.
	Want string
}

// A Field is a field of a step other than type and guards, or of an object.
type Field struct {
	Name     string
	Doc      []string
	Required bool
	Kind     Kind
	// Writes is set for a path at which the step changes something, or below.
	Writes bool
	// Rule holds for a scalar, for each element of a list and each value of a map.
	Rule *Rule
	// Object is what the field, or each element of it, holds.
	Object *Object
	// MinItems and MaxItems bound a list of numbers or objects; 0 is no bound.
	MinItems, MaxItems int
}

// Want says in words what the field, or an element of it, wants.
func (f Field) Want() string {
	switch {
	case f.Object != nil:
		return f.Object.Want
	case f.Rule != nil:
		return f.Rule.Want
	}
	return "true or false"
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
	KindInts    Kind = "ints"
	KindObject  Kind = "object"
	KindObjects Kind = "objects"
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

// A ProtectedName is a place that only an approved document may change.
type ProtectedName struct{ Name, Why string }

// A Pair is a name and a template.
type Pair struct{ Name, Template string }

// A Grant is a directory and what a package may do there.
type Grant struct{ Dir, Access, Approval string }

// Run is what a run step may read and write that declares nothing.
type Run struct{ Reads, Writes []string }
