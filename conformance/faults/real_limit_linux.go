package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"steps.example/conformance"
	"steps.example/conformance/scene"
	"steps.example/interp/commit"
)

// crossing runs the scene in places on several file systems. It goes through, with
// the result that it has on one, whatever objects that is made of.
func (t *trial) crossing(ctx context.Context, at scene.Places) error {
	w, err := t.MakeAt(at)
	if err != nil {
		return err
	}
	store, err := commit.OpenStore(w.State)
	if err != nil {
		return err
	}
	defer store.Close()
	v := verdict{World: w, store: store, after: t.u.after, err: w.Act(ctx, store), apart: true}
	v.judge()
	if v.err != nil {
		v.say("it failed: %v", v.err)
	}
	t.r.Points++
	if len(v.problems) > 0 {
		t.r.problem("%s: %s", t.Name, strings.Join(v.problems, "; "))
	}
	return nil
}

// limited has a soft limit while the operation runs.
func limited(resource int, to uint64) (func(), error) {
	var was unix.Rlimit
	if err := unix.Getrlimit(resource, &was); err != nil {
		return nil, err
	}
	return func() { _ = unix.Setrlimit(resource, &was) }, unix.Setrlimit(resource, &unix.Rlimit{Cur: to, Max: was.Max})
}

func fewOpenFiles(ctx context.Context, dir string, r *Result) error {
	return each(ctx, dir, r, func(t *trial) error {
		for more := range 30 {
			err := t.run(ctx, fmt.Sprintf("%d more files may be opened", more), more == 0, func(*scene.World) (func(), error) {
				open, err := os.ReadDir("/proc/self/fd")
				if err != nil {
					return nil, errUnmade{fmt.Errorf("the open files cannot be counted: %w", err)}
				}
				// One of them was for counting.
				return limited(unix.RLIMIT_NOFILE, uint64(len(open)-1+more))
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, "mixed", "upgrade", "undo", "uninstall", "run")
}

// smallFilesOnly: who writes more gets EFBIG, and a signal.
func smallFilesOnly(ctx context.Context, dir string, r *Result) error {
	return each(ctx, dir, r, func(t *trial) error {
		for _, size := range []uint64{0, 1, 7, 100, 300, 500, 1000, 2000, 4000} {
			err := t.run(ctx, fmt.Sprintf("no file may have more than %d bytes", size), size < 100, func(*scene.World) (func(), error) {
				return limited(unix.RLIMIT_FSIZE, size)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, "mixed", "upgrade", "undo", "run")
}

// longNames asks for what no file system can name.
func longNames(ctx context.Context, dir string, r *Result) error {
	for what, path := range map[string]string{
		"a name of 300 bytes":  strings.Repeat("n", 300),
		"a path of 6000 bytes": strings.TrimSuffix(strings.Repeat(strings.Repeat("d", 199)+"/", 30), "/"),
	} {
		s := &scene.Scene{Name: what, Verb: scene.VerbApply, Steps: fmt.Sprintf(
			`[{"type": "write", "path": {"base": "var", "path": "first"}, "content": "x"},
			  {"type": "mkdir_p", "path": {"base": "var", "path": %q}}]`, path)}
		t := &trial{Scene: s, u: &undisturbed{}, dir: dir, r: r}
		if err := t.run(ctx, "asked for", true, func(*scene.World) (func(), error) { return func() {}, nil }); err != nil {
			return err
		}
	}
	return nil
}

const appendOnly, unchangeable = 0x20, 0x10 // FS_APPEND_FL, FS_IMMUTABLE_FL

func immutable(ctx context.Context, dir string, r *Result) error {
	if os.Geteuid() != 0 {
		r.Skipped = "only root can make a file immutable, and this process is not root"
		return nil
	}
	return each(ctx, dir, r, func(t *trial) error {
		return t.eachTouched(ctx, func(path string) (func(), error) {
			return flagged(path, unchangeable)
		}, func(path string) (func(), error) {
			return flagged(path, appendOnly)
		})
	}, "write over", "remove file", "move file", "move directory", "mixed", "undo")
}

// eachTouched disturbs, one at a time, every path that the scene changes, and the
// directory that holds it.
func (t *trial) eachTouched(ctx context.Context, disturb ...func(path string) (func(), error)) error {
	dir := filepath.Join(t.dir, "world")
	w, store, err := open(t.Scene, dir)
	if err != nil {
		return err
	}
	store.Close()
	paths := t.touched(w)
	for _, p := range paths {
		paths = append(paths, filepath.Dir(p))
	}
	if err := conformance.RemoveAll(dir); err != nil {
		return err
	}
	for _, path := range paths {
		for k, d := range disturb {
			err := t.run(ctx, fmt.Sprintf("%s (%d)", filepath.Base(path), k), false, func(*scene.World) (func(), error) { return d(path) })
			if err != nil || t.r.Skipped != "" {
				return err
			}
		}
	}
	return nil
}

func flagged(path string, flag uint32) (func(), error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	set := func(to uint32) error {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.FS_IOC_SETFLAGS, uintptr(unsafe.Pointer(&to)))
		if errno != 0 {
			return errno
		}
		return nil
	}
	was, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		err = set(was | flag)
	}
	if err != nil {
		return nil, errors.Join(errUnmade{fmt.Errorf("this file system or user cannot have immutable files: %w", err)}, f.Close())
	}
	return func() {
		_ = set(was)
		f.Close()
	}, nil
}

// shutDirectory takes the right to write away from directories that are not the
// package's.
func shutDirectory(ctx context.Context, dir string, r *Result) error {
	if os.Geteuid() == 0 {
		r.Skipped = "root may write everywhere"
		return nil
	}
	return each(ctx, dir, r, func(t *trial) error {
		return t.eachTouched(ctx, func(path string) (func(), error) {
			st, err := os.Lstat(path)
			if err != nil || !st.IsDir() {
				return func() {}, err
			}
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			// It may be elsewhere by then.
			end := func() {
				_ = f.Chmod(st.Mode())
				f.Close()
			}
			return end, f.Chmod(0o555)
		})
	}, "write over", "remove file", "move file", "mixed")
}

func unreadable(ctx context.Context, dir string, r *Result) error {
	if os.Geteuid() == 0 {
		r.Skipped = "root may read everything"
		return nil
	}
	return each(ctx, dir, r, func(t *trial) error {
		for rel, o := range t.Before {
			if o.Type != "file" {
				continue
			}
			err := t.run(ctx, rel+" cannot be read", false, func(w *scene.World) (func(), error) {
				path := filepath.Join(w.Root, rel)
				st, err := os.Lstat(path)
				if err != nil {
					return nil, err
				}
				return func() { _ = os.Chmod(path, st.Mode()) }, os.Chmod(path, 0)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, "copy over", "inreplace", "run")
}
