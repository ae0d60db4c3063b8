package jail

// RunWith and CanaryOn are Run and Canary on a machine that offers less than
// this one.
var (
	RunWith  = run
	CanaryOn = canaryOn
)
