package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/conformance"
	"steps.example/conformance/scene"
)

// small mounts a file system in memory of so many bytes.
func small(dir string, size int) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return errUnmade{fmt.Errorf("mounts cannot be made private here: %w", err)}
	}
	err := unix.Mount("steps", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", size))
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return errUnmade{fmt.Errorf("no tmpfs can be mounted here: %w", err)}
	}
	return err
}

// skipped takes an error that says that the fault cannot be made.
func skipped(r *Result, err error) error {
	if unmade := (errUnmade{}); errors.As(err, &unmade) {
		r.Skipped = unmade.Error()
		return nil
	}
	return err
}

// fullFileSystem leaves fewer and fewer blocks.
func fullFileSystem(ctx context.Context, dir string, r *Result) error {
	const size, blocks = 2 << 20, 24
	if err := small(dir, size); err != nil {
		return skipped(r, err)
	}
	return each(ctx, dir, r, func(t *trial) error {
		for free := range blocks {
			err := t.run(ctx, fmt.Sprintf("%d blocks free", free), false, func(*scene.World) (func(), error) {
				filler := filepath.Join(dir, "filler")
				return func() { os.Remove(filler) }, fill(filler, free)
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, "mixed", "upgrade", "undo", "run")
}

// fill takes all blocks but so many.
func fill(path string, free int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, os.Getpagesize())
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return f.Truncate(st.Size() - int64(free*len(block)))
}

func readOnlyMount(ctx context.Context, dir string, r *Result) error {
	if err := small(dir, 8<<20); err != nil {
		return skipped(r, err)
	}
	return each(ctx, dir, r, func(t *trial) error {
		for _, part := range []string{"hb", "hb/etc", "hb/var"} {
			err := t.run(ctx, part+" is read only", false, func(w *scene.World) (func(), error) {
				at := filepath.Join(w.Root, part)
				if err := unix.Mount(at, at, "", unix.MS_BIND, ""); err != nil {
					return nil, err
				}
				end := func() { _ = unix.Unmount(at, unix.MNT_DETACH) }
				return end, unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, "write over", "move file", "mkdir", "mixed")
}

func otherMount(ctx context.Context, dir string, r *Result) error {
	if err := small(dir, 8<<20); err != nil {
		return skipped(r, err)
	}
	return each(ctx, dir, r, func(t *trial) error {
		return t.run(ctx, "hb/etc is another mount", true, func(w *scene.World) (func(), error) {
			at := filepath.Join(w.Root, "hb/etc")
			return func() { _ = unix.Unmount(at, unix.MNT_DETACH) }, unix.Mount(at, at, "", unix.MS_BIND, "")
		})
	}, "move file", "move directory")
}

// apartFromStore is no fault: it works.
func apartFromStore(ctx context.Context, dir string, r *Result) error {
	const shm = "/dev/shm"
	var a, b unix.Stat_t
	if unix.Stat(dir, &a) != nil || unix.Stat(shm, &b) != nil || a.Dev == b.Dev || unix.Access(shm, unix.W_OK) != nil {
		r.Skipped = "there is no second file system: " + shm + " cannot be written to, or is the same"
		return nil
	}
	tree, err := os.MkdirTemp(shm, "steps-faults-")
	if err != nil {
		return err
	}
	defer conformance.RemoveAll(tree)
	return each(ctx, dir, r, func(t *trial) error {
		at := filepath.Join(tree, strings.ReplaceAll(t.Name, " ", "-"))
		store := filepath.Join(dir, strings.ReplaceAll(t.Name, " ", "-"))
		if err := errors.Join(os.Mkdir(at, 0o755), os.Mkdir(store, 0o755)); err != nil {
			return err
		}
		return t.crossing(ctx, scene.Places{Tree: at, Store: store})
	}, "write over", "move directory", "mixed", "upgrade", "uninstall")
}
