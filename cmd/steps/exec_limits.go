package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"steps.example/interp/jail"
)

// parseLimits reads the values of --limit.
func parseLimits(timeout time.Duration, given []string) (jail.Limits, error) {
	l := jail.Limits{Wall: timeout}
	if timeout <= 0 {
		return l, fmt.Errorf("--timeout %s: must be above zero", timeout)
	}
	for _, entry := range given {
		name, value, found := strings.Cut(entry, "=")
		if !found {
			return l, fmt.Errorf("--limit %q: write NAME=VALUE", entry)
		}
		var err error
		switch name {
		case "cpu":
			l.CPU, err = parseDuration(value)
		case "file-size":
			l.FileSize, err = parseSize(value)
		case "memory":
			l.Memory, err = parseSize(value)
		case "output":
			l.OutputBytes, err = parseSize(value)
		case "open-files":
			l.OpenFiles, err = parseCount(value)
		case "processes":
			l.Processes, err = parseCount(value)
		default:
			err = errors.New("no such limit; there are cpu, file-size, memory, output, open-files and processes")
		}
		if err != nil {
			return l, fmt.Errorf("--limit %q: %w", entry, err)
		}
	}
	return l, nil
}

func parseDuration(s string) (time.Duration, error) {
	if _, err := strconv.ParseUint(s, 10, 32); err == nil {
		s += "s"
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, errors.New("must be a time above zero, such as 90s or 5m")
	}
	return d, nil
}

func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0, errors.New("must be a number above zero")
	}
	return n, nil
}

// parseSize reads a number of bytes, with K, M or G for powers of 1024.
func parseSize(s string) (int64, error) {
	unit := int64(1)
	digits := s
	if s != "" {
		if i := strings.IndexByte("KMG", s[len(s)-1]); i >= 0 {
			digits, unit = s[:len(s)-1], 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, errors.New("must be a number of bytes above zero, with K, M or G for more")
	}
	return n * unit, nil
}

// size prints what parseSize reads.
func size(n int64) string {
	for i := 3; i > 0; i-- {
		if unit := int64(1) << (10 * i); n >= unit && n%unit == 0 {
			return strconv.FormatInt(n/unit, 10) + "KMG"[i-1:i]
		}
	}
	return strconv.FormatInt(n, 10)
}

// limitsOf is the policy's limits, with the defaults in the place of zeros.
func limitsOf(p jail.Policy) jail.Limits {
	l, d := p.Limits, jail.DefaultLimits()
	for _, pair := range []struct{ have, fallback *int64 }{
		{&l.OutputBytes, &d.OutputBytes}, {&l.FileSize, &d.FileSize}, {&l.OpenFiles, &d.OpenFiles},
		{&l.Processes, &d.Processes}, {&l.Memory, &d.Memory}, {(*int64)(&l.CPU), (*int64)(&d.CPU)},
	} {
		if *pair.have == 0 {
			*pair.have = *pair.fallback
		}
	}
	return l
}
