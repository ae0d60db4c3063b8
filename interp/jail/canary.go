package jail

import "context"

// A CanaryReport is what a jail on this machine really does.
type CanaryReport struct {
	OK bool `json:"ok"` // every probe came out as it must
	// Surprises are the probes that did not, a sentence each.
	Surprises []string `json:"surprises,omitempty"`
	// Mechanisms says how each guarantee was kept, see [Support.Judge].
	Mechanisms map[string]string `json:"mechanisms"`
}

// Canary tries a real jail: over a temporary directory of its own, which is
// gone when it returns, the helper itself is the command and tries things that
// must be denied and things that must work. An error says that no jail could
// be made; a jail that does not hold is in the report.
//
// The result holds for this kernel, this user and this build until the next
// boot; the caller decides where to remember it.
func Canary(ctx context.Context, helper string) (CanaryReport, error) {
	return canary(ctx, helper)
}
