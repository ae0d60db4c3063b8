package steps

// Description is what the schema says about a step type in words.
type Description struct {
	// Doc says what the step does, beginning with a verb.
	Doc    string
	Fields []FieldDescription
	// Again says whether doing the step a second time, with nothing else changed,
	// changes nothing: "yes", "no" or "depends". AgainWhy is one sentence about it.
	// It is empty for a type that is not done yet; see [Unsupported].
	Again    string
	AgainWhy string
	// Undo says what undo takes back of it: "yes" for all, "files" or "no".
	Undo    string
	UndoWhy string
	// Writes: it has a path at which it changes something, or below.
	Writes bool
	// Trigger: it rebuilds a cache from all that packages put somewhere.
	Trigger bool
}

// FieldDescription is what the schema says about a field.
type FieldDescription struct {
	Name string
	// Wants says what values it takes.
	Wants    string
	Required bool
	// Doc is empty where the name says it all.
	Doc string
}

// Describe tells what a step type is; it is empty for a type that is not known.
func Describe(t Type) Description { return descriptions[t] }

// MayAsk lists the capabilities that a step of the type may ask for, depending on
// its fields and paths; see [Capabilities]. NAME and PORT stand for any.
func MayAsk(t Type) []string {
	var out []string
	if _, ok := composites[t]; ok {
		out = append(out, "run")
	}
	switch t {
	case TypeRun:
		out = append(out, "run", "network", "network:tcp/PORT", CapabilityEnv+"NAME", "sudo")
	case TypeSetPermissions:
		out = append(out, "set-id")
	case TypeSetOwnership:
		out = append(out, "ownership", "sudo")
	case TypeTerminateProcess:
		out = append(out, "terminate", "sudo")
	case TypeRemove, TypeSymlink, TypeDeleteKeychainCertificate:
		out = append(out, "sudo")
	}
	if descriptions[t].Writes {
		out = append(out, CapabilityProtected+"NAME", "write:PLACE")
	}
	return out
}
