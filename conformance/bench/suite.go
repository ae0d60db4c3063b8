//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"steps.example/steps"
)

type suite struct {
	bin, dir string
	runs     int
	made     int
}

func numCPU() int { return runtime.NumCPU() }

// sample is one finished process.
type sample struct {
	wall time.Duration
	rss  int64 // bytes, peak
}

func (b *suite) process(env []string, name string, args ...string) (sample, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stderr = &out
	start := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(start)}
	if err != nil {
		return s, fmt.Errorf("%s %v: %w: %s", name, args, err, out.Bytes())
	}
	if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.rss = ru.Maxrss * 1024
	}
	return s, nil
}

// pairs measures two things in turn, after one warm-up of each, and gives the
// median of each and of the ratios pair by pair.
func (b *suite) pairs(one, two func() (sample, error)) (x, y sample, ratio float64, err error) {
	var xs, ys []sample
	var ratios []float64
	for i := range b.runs + 1 {
		x, err := one()
		if err != nil {
			return x, y, 0, err
		}
		y, err := two()
		if err != nil {
			return x, y, 0, err
		}
		if i > 0 {
			xs, ys = append(xs, x), append(ys, y)
			ratios = append(ratios, float64(x.wall)/float64(y.wall))
		}
	}
	slices.Sort(ratios)
	return median(xs), median(ys), ratios[len(ratios)/2], nil
}

func median(s []sample) sample {
	slices.SortFunc(s, func(a, b sample) int { return int(a.wall - b.wall) })
	return s[len(s)/2]
}

// prefix makes an empty prefix of its own for one run.
func (b *suite) prefix() (string, error) {
	b.made++
	p := filepath.Join(b.dir, fmt.Sprintf("prefix%d", b.made))
	return p, os.MkdirAll(filepath.Join(p, "var"), 0o755)
}

func (b *suite) applyOnce(doc string) (sample, error) {
	p, err := b.prefix()
	if err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(p)
	state := p + ".state"
	defer os.RemoveAll(state)
	return b.process(nil, filepath.Join(b.bin, "steps"), "apply", "--unsigned", doc, "--prefix", p, "--state", state,
		"--dir", "home="+b.dir, "--dir", "temp="+b.dir)
}

func (b *suite) bareOnce(n int) (sample, error) {
	self, err := os.Executable()
	if err != nil {
		return sample{}, err
	}
	p, err := b.prefix()
	if err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(p)
	return b.process(nil, self, "bare", p, fmt.Sprint(n))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

func mib(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

func row(what, this, against string, ratio float64, goal string) {
	fmt.Printf("| %s | %s | %s | %.2f | %s |\n", what, this, against, ratio, goal)
}

func (b *suite) apply() error {
	doc, err := write(b.dir, "10k.json", document(10_000))
	if err != nil {
		return err
	}
	x, y, ratio, err := b.pairs(
		func() (sample, error) { return b.applyOnce(doc) },
		func() (sample, error) { return b.bareOnce(10_000) },
	)
	if err != nil {
		return err
	}
	row("apply 10,000 typed steps, against bare system calls", ms(x.wall)+", "+mib(x.rss), ms(y.wall), ratio, "≤ 1.5")
	return nil
}

func (b *suite) scaling() error {
	var perStep []float64
	for _, n := range []int{1_000, 10_000, 100_000} {
		doc, err := write(b.dir, fmt.Sprintf("%d.json", n), document(n))
		if err != nil {
			return err
		}
		x, y, ratio, err := b.pairs(
			func() (sample, error) { return b.applyOnce(doc) },
			func() (sample, error) { return b.bareOnce(n) },
		)
		if err != nil {
			return err
		}
		perStep = append(perStep, float64(x.wall)/float64(n))
		row(fmt.Sprintf("apply %d steps: µs a step", n), fmt.Sprintf("%.1f µs, %s", float64(x.wall)/float64(n)/1e3, mib(x.rss)),
			fmt.Sprintf("%.1f µs bare", float64(y.wall)/float64(n)/1e3), ratio, "")
	}
	for i, name := range []string{"1k", "", "100k"} {
		if name != "" {
			row("per-step cost at "+name+", against 10k", fmt.Sprintf("%.1f µs", perStep[i]/1e3), fmt.Sprintf("%.1f µs", perStep[1]/1e3), perStep[i]/perStep[1], "≤ 1.1")
		}
	}
	return nil
}

func (b *suite) validate() error {
	doc := document(10_000)
	x, y, ratio, err := b.pairs(
		func() (sample, error) {
			start := time.Now()
			_, err := steps.Decode(doc, steps.DefaultLimits)
			return sample{wall: time.Since(start)}, err
		},
		func() (sample, error) { return strictDecode(doc) },
	)
	if err != nil {
		return err
	}
	row("decode and validate 10,000 steps (client), against a strict decode", ms(x.wall), ms(y.wall), ratio, "≤ 3")
	path, err := write(b.dir, "validate.json", doc)
	if err != nil {
		return err
	}
	best, err := b.process(nil, filepath.Join(b.bin, "steps-full"), "validate", path)
	if err != nil {
		return err
	}
	row("validate 10,000 steps through CUE", ms(best.wall)+", "+mib(best.rss), "2 s, 128 MiB", best.wall.Seconds()/2, "≤ 1")
	return nil
}

// strictDecode is the least that a decoder could do: the same bytes into the
// same shape, unknown and doubled members refused.
func strictDecode(doc []byte) (sample, error) {
	type path struct {
		Base string `json:"base"`
		Path string `json:"path"`
	}
	var d struct {
		Schema  int    `json:"schema"`
		Layout  string `json:"layout"`
		Name    string `json:"name"`
		Version string `json:"version"`
		Steps   []struct {
			Type        string `json:"type"`
			Path        path   `json:"path"`
			Content     string `json:"content"`
			Source      path   `json:"source"`
			Target      path   `json:"target"`
			Paths       []path `json:"paths"`
			Permissions string `json:"permissions"`
		} `json:"post_install_steps"`
	}
	start := time.Now()
	err := json.Unmarshal(doc, &d, json.RejectUnknownMembers(true))
	return sample{wall: time.Since(start)}, err
}

func (b *suite) cold() error {
	doc, err := write(b.dir, "ten.json", bytes.ReplaceAll(document(12), []byte(`"bench"`), []byte(`"ten"`)))
	if err != nil {
		return err
	}
	artifact := "the package"
	sum := sha256.Sum256([]byte(artifact))
	full, purl, registry := filepath.Join(b.bin, "steps-full"), "pkg:generic/bench/ten@1.0", "https://registry.example"
	at := func(name string) string { return filepath.Join(b.dir, name) }
	for _, args := range [][]string{
		{"keygen", at("key"), "--policy", at("policy"), "--registry", registry, "--package", "pkg:generic/bench/*"},
		{"sign", doc, "--key", at("key"), "--artifact-sha256", hex.EncodeToString(sum[:]), "--purl", purl, "--registry", registry, "-o", at("bundle")},
	} {
		if _, err := b.process(nil, full, args...); err != nil {
			return err
		}
	}
	x, y, ratio, err := b.pairs(
		func() (sample, error) {
			p, err := b.prefix()
			if err != nil {
				return sample{}, err
			}
			defer os.RemoveAll(p)
			defer os.RemoveAll(p + ".state")
			return b.process(nil, filepath.Join(b.bin, "steps"), "apply", at("bundle"), "--policy", at("policy"), "--purl", purl,
				"--artifact-sha256", hex.EncodeToString(sum[:]), "--prefix", p, "--state", p+".state", "--dir", "home="+b.dir, "--dir", "temp="+b.dir)
		},
		func() (sample, error) { return b.process(nil, "/bin/true") },
	)
	if err != nil {
		return err
	}
	row("cold apply of a signed 12-step document, against /bin/true", ms(x.wall), ms(y.wall), ratio, "")
	return nil
}

func (b *suite) startUp() error {
	for _, c := range []struct{ what, bin string }{
		{"start of steps (no signatures, no CUE)", "steps"},
		{"start of steps-full (signatures and CUE)", "steps-full"},
		{"start of steps-registry (all in one)", "steps-registry"},
	} {
		x, y, ratio, err := b.pairs(
			func() (sample, error) { return b.process(nil, filepath.Join(b.bin, c.bin), "--help") },
			func() (sample, error) { return b.process(nil, "/bin/true") },
		)
		if err != nil {
			return err
		}
		row(c.what+", against /bin/true", ms(x.wall), ms(y.wall), ratio, "")
	}
	return nil
}
