package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"steps.example/conformance"
	"steps.example/conformance/scene"
)

func realFaults() []realFault {
	return []realFault{
		{"real: full file system", true, fullFileSystem},
		{"real: read-only mount", true, readOnlyMount},
		{"real: move to another mount", true, otherMount},
		{"real: roots and store on different file systems", false, apartFromStore},
		{"real: immutable and append-only", false, immutable},
		{"real: few open files", false, fewOpenFiles},
		{"real: small files only", false, smallFilesOnly},
		{"real: names too long", false, longNames},
		{"real: directory without permission", false, shutDirectory},
		{"real: file that cannot be read", false, unreadable},
	}
}

// run has a process of its own do it.
func (f realFault) run(ctx context.Context, dir string) Result {
	r := Result{Name: f.name}
	fail := func(format string, args ...any) Result {
		r.Points++
		r.problem(format, args...)
		return r
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fail("%v", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fail("%v", err)
	}
	cmd := exec.CommandContext(ctx, self, partArg, f.name, dir)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if f.mounts {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
		}
	}
	err = cmd.Start()
	if f.mounts && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EACCES)) {
		r.Skipped = fmt.Sprintf("no user namespace can be made here: %v", err)
		return r
	}
	if err == nil {
		err = cmd.Wait()
	}
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &r)
	}
	if err != nil {
		return fail("its process: %v\n%s", err, said.String())
	}
	return r
}

// trial is a scene with a fault that is real.
type trial struct {
	*scene.Scene
	u    *undisturbed
	dir  string // of the worlds
	r    *Result
	runs int
}

func newTrial(ctx context.Context, name, dir string, r *Result) (*trial, error) {
	all := scene.All()
	i := slices.IndexFunc(all, func(s scene.Scene) bool { return s.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no scene %q", name)
	}
	t := &trial{Scene: &all[i], dir: dir, r: r}
	var err error
	t.u, err = learn(ctx, t.Scene, filepath.Join(dir, "world"))
	return t, err
}

// errUnmade says that the machine cannot make the fault.
type errUnmade struct{ error }

// run disturbs a fresh world, runs the scene, ends the disturbance and judges. With
// must, the operation is to fail.
func (t *trial) run(ctx context.Context, what string, must bool, disturb func(*scene.World) (end func(), err error)) error {
	dir := filepath.Join(t.dir, "world")
	w, store, err := open(t.Scene, dir)
	if err != nil {
		return err
	}
	defer func() {
		store.Close()
		_ = conformance.RemoveAll(dir)
	}()
	store.Intercept((&injector{fault: fault{at: -1}}).call)
	end, err := disturb(w)
	if unmade := (errUnmade{}); errors.As(err, &unmade) {
		t.r.Skipped = unmade.Error()
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	err = w.Act(ctx, store)
	end()
	t.runs++
	v := verdict{World: w, store: store, after: t.u.after, err: err}
	v.judge()
	var errno unix.Errno
	switch {
	case err == nil && must:
		v.say("it went through")
	case err != nil && !errors.As(err, &errno):
		// The step was refused before anything was tried.
		if t.r.said(v.plain(err)); !strings.Contains(err.Error(), "no permission to change") {
			v.say("no error of the system: %v", err)
		}
	case err != nil:
		text := v.plain(err)
		t.r.said(text)
		v.problems = append(v.problems, unclear(text, errno, false, false)...)
	}
	t.r.Points++
	if len(v.problems) > 0 {
		t.r.problem("%s, %s: %s", t.Name, what, strings.Join(v.problems, "; "))
	}
	return nil
}

// each runs f for several scenes, a directory each.
func each(ctx context.Context, dir string, r *Result, f func(*trial) error, names ...string) error {
	for _, name := range names {
		if err := ctx.Err(); err != nil || r.Skipped != "" {
			return err
		}
		t, err := newTrial(ctx, name, dir, r)
		if err == nil {
			err = f(t)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// touched are the paths that the scene changes and that are there before, absolute.
func (t *trial) touched(w *scene.World) []string {
	var out []string
	for rel, was := range w.Before.Since(w.Before) {
		now, there := t.u.after[rel]
		if (!there || now != was) && was.Kind != "symlink" {
			out = append(out, filepath.Join(w.Root, rel))
		}
	}
	slices.Sort(out)
	return out
}
