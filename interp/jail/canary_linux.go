package jail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"steps.example/interp/jail/internal/probes"
	"steps.example/interp/jail/internal/wire"
)

// canaryWall bounds the probes. It takes a few milliseconds.
const canaryWall = 20 * time.Second

func canary(ctx context.Context, helper string) (CanaryReport, error) {
	return canaryOn(ctx, helper, Check())
}

// canaryOn is canary on a machine that may offer less than this one.
func canaryOn(ctx context.Context, helper string, s Support) (report CanaryReport, err error) {
	dir, err := os.MkdirTemp("", "steps-canary-")
	if err != nil {
		return report, fmt.Errorf("jail canary: %w", err)
	}
	defer func() {
		if rmErr := os.RemoveAll(dir); err == nil && rmErr != nil {
			err = fmt.Errorf("jail canary: %w", rmErr)
		}
	}()
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		err = furnish(real)
	}
	if err != nil {
		return report, fmt.Errorf("jail canary: %w", err)
	}
	program, err := filepath.EvalSymlinks(helper)
	if err != nil {
		return report, fmt.Errorf("jail canary: the helper: %w", err)
	}
	in := filepath.Join(real, probes.In)
	p := Policy{
		Reads:  SystemReads(),
		Execs:  append(SystemExecs(), program),
		Writes: []string{in},
		Dir:    in,
		Limits: Limits{Wall: canaryWall},
	}
	report.Mechanisms, err = s.Judge(p)
	if err != nil {
		return report, err
	}
	var optional []string
	for _, g := range guarantees {
		if g.Optional && report.Mechanisms[g.Name] != "none" {
			optional = append(optional, g.Name)
		}
	}
	res, err := run(ctx, helper, p, Command{
		Path: program,
		Args: slices.Concat([]string{wire.Canary, real, strconv.Itoa(os.Getpid())}, optional),
	}, s)
	if err != nil {
		return report, err
	}
	report.Mechanisms = res.Mechanisms
	lines := strings.Split(strings.TrimSpace(Printable(res.Stdout)), "\n")
	last := len(lines) - 1
	if !res.OK() || lines[last] != probes.Tries(len(optional)) {
		return report, fmt.Errorf("jail canary: it came to no end: exit status %d %s\n%s%s",
			res.ExitCode, res.Signal, Printable(res.Stdout), Printable(res.Stderr))
	}
	report.Surprises = lines[:last]
	if err := unharmed(real); err != nil {
		report.Surprises = append(report.Surprises, err.Error())
	}
	report.OK = len(report.Surprises) == 0
	return report, nil
}

const canaryText = "#!/bin/sh\n"

// furnish makes what the canary tries to reach.
func furnish(dir string) error {
	for _, side := range []string{probes.In, probes.Out} {
		if err := os.Mkdir(filepath.Join(dir, side), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, side, probes.File), []byte(canaryText), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, probes.In, probes.Tool), []byte(canaryText), 0o755)
}

// unharmed looks at what the canary must not have reached.
func unharmed(dir string) error {
	path := filepath.Join(dir, probes.Out, probes.File)
	text, err := os.ReadFile(path)
	if err != nil || string(text) != canaryText {
		return errors.New("a file outside was changed or moved")
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		return errors.New("files appeared outside")
	}
	return nil
}
