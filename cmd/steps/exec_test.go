package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"steps.example/interp/jail"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		want int64 // 0: refused
	}{
		{"1", 1}, {"512", 512}, {"4K", 4 << 10}, {"64M", 64 << 20}, {"3G", 3 << 30}, {"9223372036854775807", math.MaxInt64},
		{"", 0}, {"0", 0}, {"-1", 0}, {"K", 0}, {"1k", 0}, {"1KB", 0}, {"1.5G", 0}, {" 1", 0}, {"9223372036854775807K", 0}, {"99999999999999999999", 0},
	} {
		got, err := parseSize(tc.in)
		if got != tc.want || (err == nil) != (tc.want > 0) {
			t.Errorf("parseSize(%q) = %d, %v; want %d", tc.in, got, err, tc.want)
		}
		if err != nil {
			continue
		}
		if back, err := parseSize(size(got)); back != got || err != nil {
			t.Errorf("parseSize(%q) is %d, %v; want %d", size(got), back, err, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{
		"90": 90 * time.Second, "90s": 90 * time.Second, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute,
		"": 0, "0": 0, "-5m": 0, "5 m": 0, "forever": 0, "99999999999999999999": 0,
	} {
		if got, err := parseDuration(in); got != want || (err == nil) != (want > 0) {
			t.Errorf("parseDuration(%q) = %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestExecCode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		res  jail.Result
		want int
	}{
		{"its own", jail.Result{ExitCode: 7}, 7},
		{"killed", jail.Result{ExitCode: -1, Signal: "SIGKILL"}, 137},
		{"a real-time signal", jail.Result{ExitCode: -1, Signal: "signal 40"}, 168},
		{"out of time", jail.Result{ExitCode: -1, Signal: "SIGKILL", TimedOut: true}, exitStopped},
		{"out of output", jail.Result{ExitCode: 0, OutputCapped: true}, exitStopped},
	} {
		if got := execCode(&tc.res); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// What is granted is never wider than what the flags say: whatever the value
// of a limit, it is set or refused.
func FuzzLimit(f *testing.F) {
	for _, seed := range []string{"cpu=1", "memory=1G", "output=", "=", "file-size=9999999999G", "processes=1=1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		l, err := parseLimits(time.Minute, []string{entry})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error for %q has more than one line", entry)
			}
			return
		}
		if l == (jail.Limits{Wall: time.Minute}) {
			t.Errorf("%q was taken and sets nothing", entry)
		}
		for _, n := range []int64{int64(l.CPU), l.FileSize, l.Memory, l.OutputBytes, l.OpenFiles, l.Processes} {
			if n < 0 {
				t.Errorf("%q sets a negative limit: %+v", entry, l)
			}
		}
	})
}
