//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"steps.example/interp"
	"steps.example/interp/commit"
	"steps.example/steps"
)

// stepsFor is how many steps of the measured document make that many paths: three of
// four make one.
func stepsFor(paths int) int { return (paths + 2) / 3 * 4 }

// site is a prefix, its store and a document, in this process.
type site struct {
	store *commit.Store
	job   interp.Job
}

func (b *suite) site(n int) (*site, error) {
	p, err := b.prefix()
	if err != nil {
		return nil, err
	}
	doc, err := steps.Decode(document(n), steps.Limits{})
	if err != nil {
		return nil, err
	}
	store, err := commit.OpenStore(p + ".state")
	if err != nil {
		return nil, err
	}
	return &site{store: store, job: interp.Job{
		Document: doc, Phases: interp.PhasesOf(doc, false), Target: interp.Target{
			Layout: doc.Layout, Name: doc.Name, Version: doc.Version, OS: "linux", Umask: 0o022,
			Dirs: map[string]string{"homebrew_prefix": p, "home": b.dir, "temp": b.dir},
		},
	}}, nil
}

func (s *site) prefix() string { return s.job.Target.Dirs["homebrew_prefix"] }

func (s *site) close() error {
	s.store.Close()
	return errors.Join(os.RemoveAll(s.prefix()), os.RemoveAll(s.prefix()+".state"))
}

// apply applies the document and gives its receipt.
func (s *site) apply() (*commit.Receipt, error) {
	done, err := interp.Apply(context.Background(), s.job, interp.Machine{}, interp.ApplyOptions{Store: s.store})
	if err != nil {
		return nil, err
	}
	return done.Receipt, nil
}

// timed is f as a sample.
func timed(f func() error) (sample, error) {
	start := time.Now()
	err := f()
	return sample{wall: time.Since(start)}, err
}

// durability measures what it costs that an apply survives a power failure: the same
// with all syncs left out. Nothing of steps leaves them out; an interceptor does.
func (b *suite) durability() error {
	once := func(sync bool) (sample, error) {
		s, err := b.site(10_000)
		if err != nil {
			return sample{}, err
		}
		s.store.Intercept(func(c commit.Call) error {
			if !sync && !c.After && (c.Op == "sync" || c.Op == "fsync") {
				return commit.ErrInstead
			}
			return nil
		})
		got, err := timed(func() error { _, err := s.apply(); return err })
		return got, errors.Join(err, s.close())
	}
	x, y, ratio, err := b.pairs(
		func() (sample, error) { return once(true) },
		func() (sample, error) { return once(false) },
	)
	if err != nil {
		return err
	}
	row("durability: apply 10,000 steps, against the same without syncs", ms(x.wall), ms(y.wall), ratio, "")
	return nil
}

// receipts measures what is done with a receipt of 10,000 paths.
func (b *suite) receipts() error {
	s, err := b.site(stepsFor(10_000))
	if err != nil {
		return err
	}
	defer s.close()
	r, err := s.apply()
	if err != nil {
		return err
	}
	data, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return err
	}
	out := filepath.Join(b.dir, "receipt.json")
	size := fmt.Sprintf("%d paths, %s", len(r.Changeset.Changes), mib(int64(len(data))))
	for _, m := range []struct {
		what     string
		one, two func() error
	}{
		{"write a receipt of " + size + ", against its bytes alone",
			func() error {
				data, err := json.Marshal(r, json.Deterministic(true))
				return errors.Join(err, os.WriteFile(out, data, 0o600))
			},
			func() error { return os.WriteFile(out, data, 0o600) }},
		{"read it, against a bare parse",
			func() error { _, err := s.store.Receipt(r.ID); return err },
			func() error {
				var v any
				return json.UnmarshalRead(bytes.NewReader(data), &v)
			}},
		{"verify it, against a walk that hashes",
			func() error {
				drifts, err := s.store.Verify(r)
				if err == nil && len(drifts) > 0 {
					err = fmt.Errorf("verify finds %v", drifts[0])
				}
				return err
			},
			func() error { return hashWalk(s.prefix()) }},
	} {
		x, y, ratio, err := b.pairs(
			func() (sample, error) { return timed(m.one) },
			func() (sample, error) { return timed(m.two) },
		)
		if err != nil {
			return err
		}
		row(m.what, ms(x.wall), ms(y.wall), ratio, "")
	}
	if err := s.store.Undo(r.ID); err != nil {
		return err
	}
	x, y, ratio, err := b.pairs(
		func() (sample, error) {
			if r, err = s.apply(); err != nil {
				return sample{}, err
			}
			return timed(func() error { return s.store.Undo(r.ID) })
		},
		func() (sample, error) {
			got, err := timed(func() (err error) { r, err = s.apply(); return err })
			if err != nil {
				return got, err
			}
			return got, s.store.Undo(r.ID)
		},
	)
	if err != nil {
		return err
	}
	row("undo it, against its apply", ms(x.wall), ms(y.wall), ratio, "")
	return nil
}

// hashWalk is the least that a comparison by content could do.
func hashWalk(root string) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			_, err = os.Readlink(p)
			return err
		}
		data, err := os.ReadFile(p)
		_ = sha256.Sum256(data)
		return err
	})
}

// owned measures an apply into a prefix in which packages own many paths already.
func (b *suite) owned() error {
	small, err := write(b.dir, "small.json", bytes.ReplaceAll(document(12), []byte(`"path": "d`), []byte(`"path": "small`)))
	if err != nil {
		return err
	}
	empty, err := b.prefix()
	if err != nil {
		return err
	}
	steps := func(verb, prefix string, args ...string) (sample, error) {
		args = append([]string{verb, "--prefix", prefix, "--state", prefix + ".state"}, args...)
		return b.process(nil, filepath.Join(b.bin, "steps"), args...)
	}
	once := func(prefix string) (sample, error) {
		got, err := steps("apply", prefix, "--unsigned", small, "--dir", "home="+b.dir, "--dir", "temp="+b.dir)
		if err == nil {
			_, err = steps("undo", prefix)
		}
		return got, err
	}
	full, err := b.prefix()
	if err != nil {
		return err
	}
	const perPackage = 1000
	packages := 0
	for _, paths := range []int{10_000, 100_000} {
		for ; packages < paths/perPackage; packages++ {
			text := bytes.ReplaceAll(document(stepsFor(perPackage)), []byte(`"path": "d`), fmt.Appendf(nil, `"path": "p%d-`, packages))
			text = bytes.ReplaceAll(text, []byte(`"name": "bench"`), fmt.Appendf(nil, `"name": "bench%d"`, packages))
			doc, err := write(b.dir, "owned.json", text)
			if err != nil {
				return err
			}
			if _, err := steps("apply", full, "--unsigned", doc, "--dir", "home="+b.dir, "--dir", "temp="+b.dir); err != nil {
				return err
			}
		}
		x, y, ratio, err := b.pairs(
			func() (sample, error) { return once(full) },
			func() (sample, error) { return once(empty) },
		)
		if err != nil {
			return err
		}
		row(fmt.Sprintf("apply 12 steps where %d packages own %d paths, against an empty prefix", packages, paths), ms(x.wall), ms(y.wall), ratio, "")
	}
	return nil
}
