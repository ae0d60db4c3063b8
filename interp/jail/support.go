package jail

// Landlock versions that decide something here.
const (
	minABI   = 3 // truncation is controlled, so writes are confined
	scopeABI = 6 // signals are confined to the domain
)

// Support is what a machine offers to the jail.
type Support struct {
	System   string   `json:"system"`            // GOOS/GOARCH
	Landlock int      `json:"landlock"`          // ABI that the jail uses; 0: none
	Seccomp  bool     `json:"seccomp"`           // filters with the actions that the jail needs
	Proc     bool     `json:"proc"`              // /proc shows this process
	Missing  []string `json:"missing,omitempty"` // what is not there and why, a sentence each
}
