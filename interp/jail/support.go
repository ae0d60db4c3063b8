package jail

// Support is what a machine offers to the jail.
type Support struct {
	System     string   `json:"system"`             // GOOS/GOARCH
	Landlock   int      `json:"landlock"`           // Linux: ABI that the jail uses; 0: none
	Seccomp    bool     `json:"seccomp"`            // Linux: filters with the actions that the jail needs
	Namespaces bool     `json:"namespaces"`         // Linux: user, mount, pid and ipc namespaces work here
	Proc       bool     `json:"proc"`               // Linux: /proc shows this process
	Seatbelt   bool     `json:"seatbelt,omitempty"` // macOS: sandbox-exec works here
	Missing    []string `json:"missing,omitempty"`  // what is not there and why, a sentence each
}
