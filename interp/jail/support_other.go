//go:build !linux && !darwin

package jail

import "runtime"

// Check reports what this machine offers: on this system, nothing.
func Check() Support {
	return Support{
		System:  runtime.GOOS + "/" + runtime.GOARCH,
		Missing: []string{"no jail on " + runtime.GOOS + " yet: run steps are refused"},
	}
}
