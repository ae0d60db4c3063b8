//go:build light || noregistry

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// The command comes in three builds, so that no verb pays for the start of what it does
// not use: steps, which leaves out signatures, CUE and the registry; fullName, which
// leaves out the registry; and registryName, which has everything and is what
// `go build` without tags makes.
const (
	fullName     = "steps-full"
	registryName = "steps-registry"
)

// beside is the build of that name that was installed with this one.
func beside(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s does this, and must be installed beside %s (make build does it): %w", name, self, err)
	}
	return path, nil
}

// handOver lets another build take over this process. It returns only on failure.
func handOver(name string) error { return handOverWith(name, os.Environ()) }

func handOverWith(name string, env []string) error {
	path, err := beside(name)
	if err != nil {
		return err
	}
	return syscall.Exec(path, append([]string{os.Args[0]}, os.Args[1:]...), env)
}

// rarelyCollecting is the environment for a process that ends soon. Most of the garbage
// is from before main, so that [fewerCollections] comes too late for it.
func rarelyCollecting() []string {
	if os.Getenv("GOGC") != "" {
		return os.Environ()
	}
	return append(os.Environ(), "GOGC=400")
}

// delegated is a verb that another build has.
func delegated(verb verb, build string) *cobra.Command {
	return &cobra.Command{
		Use: verb.use, Short: verb.short, GroupID: verb.group, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error { return handOver(build) },
	}
}
