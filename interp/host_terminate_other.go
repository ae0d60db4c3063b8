//go:build !linux

package interp

import (
	"context"
	"errors"
	"os/exec"
)

// Terminate implements [Host] with the system's killall and pkill.
func (Machine) Terminate(ctx context.Context, t *Terminate) (bool, error) {
	args := []string{"/usr/bin/killall", "--", t.Name}
	if t.Full {
		args = []string{"/usr/bin/pkill", "-f", "--", t.Name}
	}
	err := exec.CommandContext(ctx, args[0], args[1:]...).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return false, nil
	}
	return err == nil, err
}
