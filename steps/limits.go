package steps

// Limits bound what is decoded. A zero field takes its value from [DefaultLimits].
type Limits struct {
	// Bytes is the greatest size of the text.
	Bytes int
	// Depth is how deep arrays and objects may nest.
	Depth int
	// Steps is the greatest number of steps in all phases together.
	Steps int
}

// DefaultLimits are far above what any package needs.
var DefaultLimits = Limits{Bytes: 32 << 20, Depth: 64, Steps: 250_000}

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = DefaultLimits.Bytes
	}
	if l.Depth == 0 {
		l.Depth = DefaultLimits.Depth
	}
	if l.Steps == 0 {
		l.Steps = DefaultLimits.Steps
	}
	return l
}
