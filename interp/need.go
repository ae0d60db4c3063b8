package interp

import (
	"fmt"
	"slices"

	"steps.example/interp/changeset"
)

// NeedError says that a step asks for a capability that was not approved, or
// for something that this process or machine does not have.
type NeedError struct {
	// Capability is the one to approve; "" where approval does not help.
	Capability string
	What       string
	// Lack is why approval does not help.
	Lack string
}

func (e *NeedError) Error() string {
	if e.Capability != "" {
		return fmt.Sprintf("%s needs your approval; allow it with --approve %s", e.What, e.Capability)
	}
	return fmt.Sprintf("%s: %s", e.What, e.Lack)
}

// need insists on an approved capability.
func (m *machine) need(capability, what string) error {
	if slices.Contains(m.Approved, capability) {
		return nil
	}
	return &NeedError{Capability: capability, What: what}
}

// mayRead insists on approval before anything of the user's home directory is
// read into the package's own: a command could then read it there.
func (m *machine) mayRead(path string) error {
	real, err := m.view.Real(path)
	if err != nil {
		return err
	}
	if m.home == "" || !changeset.Within(real, m.home) {
		return nil
	}
	// A prefix that is itself below the home directory is the package's.
	if slices.ContainsFunc(m.belowHome, func(dir string) bool { return changeset.Within(real, dir) }) {
		return nil
	}
	if slices.Contains(m.Approved, "write:home") {
		return nil
	}
	return m.need("read:home", "reading "+changeset.Printable(path)+" in the home directory")
}

// needRoot insists on the sudo capability, and on root's rights.
func (m *machine) needRoot(what string) error {
	if err := m.need("sudo", what); err != nil {
		return err
	}
	return m.asRoot(what)
}

// asRoot insists on root's rights: this process', or a broker's, see [Privileged].
func (m *machine) asRoot(what string) error {
	if m.effects.root() || m.effects.elevate(m, what) {
		return nil
	}
	return &NeedError{What: what, Lack: "needs root, and this process is not root"}
}
