package steps

// Pos is a place in the source text. Both numbers start at 1; Col counts bytes. The
// zero Pos is no place.
type Pos struct{ Line, Col int }

// Origin says which form of document something was decoded from.
type Origin string

// The forms of a document.
const (
	// OriginNative is this project's own form.
	OriginNative Origin = "native"
	// OriginFormula is a formula as Homebrew's API serves it.
	OriginFormula Origin = "formula"
	// OriginCask is a cask as Homebrew's API serves it.
	OriginCask Origin = "cask"
)

// SchemaVersion is the schema version that this package implements.
const SchemaVersion = 1

// Phase is the name of a key that holds steps, such as "post_install_steps".
type Phase string

// A Document is what a package asks for, phase by phase.
type Document struct {
	Origin Origin
	// Schema is the version of the schema that the document needs.
	Schema int
	// Layout is the name of the layout, one of [LayoutNames].
	Layout string
	Name   string
	// Version is empty where the document does not say.
	Version string
	// Blocks are in the order of [Phases]; those of one phase in the document's order.
	Blocks []Block
}

// A Block is one list of steps. A cask may have several in one phase; guards are
// shared within a block only.
type Block struct {
	Phase Phase
	Steps []Step
	// Pos tells where each step begins.
	Pos []Pos
}

// A Step is one of the generated step types, by pointer. No other type implements it.
type Step interface {
	// Type is the step's name on the wire.
	Type() Type
	// StepGuards are the conditions that must all hold for the step to be done.
	StepGuards() []Guard

	appendJSON([]byte) []byte
	setGuards([]Guard)
	// writes are the paths at which the step changes something, or below.
	writes() []Path
}

// Type is the wire name of a step type, such as "mkdir_p".
type Type string

// Base is the name of a directory from which a path starts, such as "var".
type Base string

// Bases that are no directory of a layout.
const (
	// BaseAbsolute is the same as no base.
	BaseAbsolute Base = "absolute"
	// BaseRelative makes a path the literal text of a symbolic link, or a command's
	// name to look up.
	BaseRelative Base = "relative"
	// BaseSearchPath stands for each directory of PATH in turn.
	BaseSearchPath Base = "search_path"
)

// A Path is a path beneath a base, or an absolute path, which has no base.
// Base "path", the deprecated spelling of "search_path", is decoded as the latter.
type Path struct {
	Base Base
	// Path is never empty; "." is the base itself.
	Path string
	// Formula is the other formula that the bases formula_pkgetc and
	// formula_opt_prefix refer to.
	Formula string
}

// Sudo says whether a step wants to be done as root.
type Sudo string

// The values of [Sudo].
const (
	SudoNever    Sudo = ""
	SudoAlways   Sudo = "true"
	SudoIfNeeded Sudo = "if_needed"
)

// A Guard is a condition for a step. Guards that are equal, id included, share one
// answer within a block.
type Guard struct {
	// Condition is "if_exists", "unless_exists" or "on".
	Condition string
	ID        string
	// Value is the platform that "on" asks for: "macos" or "linux".
	Value string
	// Base, Path and Formula are the path of the other two conditions.
	Base    Base
	Path    string
	Formula string
}
