package commit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
)

// stage builds every new object of the plan in its slot, with its final owner,
// mode and time. Only directories get theirs later: they must be writable until
// they are filled. It stores content hashes, sizes and owners in the changeset.
func (w *work) stage(p *plan) error {
	var tops [][]*node                 // what goes into one slot, parents first
	topOf := make([]int, len(p.nodes)) // in tops, by node
	for i := range p.nodes {
		n := &p.nodes[i]
		if !n.comes || n.from >= 0 {
			continue
		}
		if n.puts {
			n.stage = slotName(n.putSlot.n)
			topOf[i] = len(tops)
			tops = append(tops, nil)
		} else {
			up := &p.nodes[n.up]
			n.putSlot, n.stage = up.putSlot, up.stage+n.c.Path[len(up.c.Path):]
			topOf[i] = topOf[n.up]
		}
		tops[topOf[i]] = append(tops[topOf[i]], n)
	}
	return w.inParallel(len(tops), func(i int) error {
		for _, n := range tops[i] {
			if err := w.stopped(); err != nil {
				return err
			}
			if err := w.stageOne(n); err != nil {
				return fmt.Errorf("prepare %s: %w", n.c.Path, err)
			}
		}
		return nil
	})
}

// manyTops is from how many objects on it pays to build them side by side.
const manyTops = 64

// inParallel calls f for 0 to n-1, several at a time where there is much to do,
// and returns the first error after all calls have ended. Tests that stop at
// each call in turn have one at a time.
func (w *work) inParallel(n int, f func(int) error) error {
	workers := min(runtime.GOMAXPROCS(0), 4)
	if n < manyTops || w.disk.hook != nil {
		workers = 1
	}
	if workers == 1 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	errs := make([]error, workers)
	var group sync.WaitGroup
	for k := range workers {
		group.Go(func() {
			for errs[k] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[k] = f(i); errs[k] != nil {
					next.Store(int64(n))
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (w *work) stageOne(n *node) (err error) {
	dir, after := w.slots[n.putSlot.dir].fd, n.c.After
	switch after.Kind {
	case changeset.Dir:
		mode := after.Mode | 0o700
		if err := w.disk.mkdir(dir, n.stage, mode); err != nil {
			return err
		}
		n.id, err = w.finish(dir, n.stage, after, mode, 0)
	case changeset.Symlink:
		if err := w.disk.symlink(after.Target, dir, n.stage); err != nil {
			return err
		}
		n.id, err = w.finish(dir, n.stage, after, 0, after.MTime)
	default:
		err = w.stageFile(n, dir)
	}
	if err == nil {
		after.UID, after.GID = int(n.id.UID), int(n.id.GID)
	}
	return err
}

// finish sets owner, mode and time of a fresh object by name, where they are
// not what they should be, and stamps it.
func (w *work) finish(dir int, name string, want *changeset.State, mode uint32, mtime int64) (changeset.Stamp, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return changeset.Stamp{}, err
	}
	stamp := fsroot.StampOf(&st)
	a := wanted(stamp, want, mode, mtime)
	if a.set == 0 {
		return stamp, nil
	}
	obj, _, err := openObject(dir, name)
	if err != nil {
		return stamp, err
	}
	defer unix.Close(obj)
	if err := w.setAttrs(obj, dir, name, a); err != nil {
		return stamp, err
	}
	return fsroot.StampFD(obj)
}

// wanted tells which attributes of an object have to be set.
func wanted(have changeset.Stamp, want *changeset.State, mode uint32, mtime int64) attrs {
	a := attrs{mode: mode, uid: -1, gid: -1, mtime: mtime}
	if want.UID >= 0 && want.UID != int(have.UID) {
		a.set, a.uid = hasOwner, want.UID
	}
	if want.GID >= 0 && want.GID != int(have.GID) {
		a.set, a.gid = hasOwner, want.GID
	}
	// A new owner may cost set-id bits, so the mode is set again.
	if have.Kind() != changeset.Symlink && (have.Perm() != mode || a.set != 0 && mode&0o6000 != 0) {
		a.set |= hasMode
	}
	if mtime != 0 && mtime != have.MTime {
		a.set |= hasTime
	}
	return a
}

// setAttrs sets those attributes of an open object (see [openObject]) that a
// names, the owner first.
func (w *work) setAttrs(obj, dir int, name string, a attrs) error {
	if a.set&hasOwner != 0 {
		if err := w.disk.chown(obj, name, a.uid, a.gid); err != nil {
			return fmt.Errorf("set owner to %d:%d: %w", a.uid, a.gid, err)
		}
	}
	if a.set&hasMode != 0 {
		if err := w.disk.chmod(obj, name, a.mode); err != nil {
			return fmt.Errorf("set mode to %04o: %w", a.mode, err)
		}
	}
	if a.set&hasTime != 0 {
		if err := w.disk.chtime(obj, dir, name, a.mtime); err != nil {
			return fmt.Errorf("set time: %w", err)
		}
	}
	return nil
}

func (w *work) stageFile(n *node, dir int) error {
	after := n.c.After
	fd, err := w.disk.create(dir, n.stage, after.Mode&0o777)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var sum string
	switch content := n.c.Content; {
	case content == nil:
		sum, err = hashHex(nil), nil
	case content.Origin != nil:
		sum, err = w.copyOrigin(fd, n.stage, content.Origin)
	default:
		sum, err = hashHex(content.Bytes), w.disk.write(fd, n.stage, content.Bytes)
	}
	if err != nil {
		return err
	}
	if after.SHA256 != "" && !strings.EqualFold(after.SHA256, sum) {
		return moved(n.c.Path, "its content is not what was planned")
	}
	stamp, err := fsroot.StampFD(fd)
	if err != nil {
		return err
	}
	mtime := after.MTime
	if o := n.c.Content; mtime == 0 && o != nil && o.Origin != nil && w.isHeld(o.Origin.Path) {
		mtime = o.Origin.Stamp.MTime // programs compare the times of what they made
	}
	if a := wanted(stamp, after, after.Mode, mtime); a.set != 0 {
		if err := w.setOpen(fd, dir, n.stage, a); err != nil {
			return err
		}
		if stamp, err = fsroot.StampFD(fd); err != nil {
			return err
		}
	}
	if fsyncEach && w.sync {
		if err := w.disk.fsync(fd, n.stage); err != nil {
			return err
		}
	}
	n.id, after.SHA256, after.Size = stamp, sum, stamp.Size
	return nil
}

// setOpen is setAttrs for a file that is open in its own right.
func (w *work) setOpen(fd, dir int, name string, a attrs) error {
	if a.set&hasMode != 0 && a.set&^hasMode == 0 {
		return w.disk.do(on("chmod", fd, name), func() error { return unix.Fchmod(fd, a.mode) })
	}
	obj, _, err := openObject(dir, name)
	if err != nil {
		return err
	}
	defer unix.Close(obj)
	return w.setAttrs(obj, dir, name, a)
}

func hashHex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// copyOrigin fills the open file fd with the content of a real file that must
// still be the stamped one, before and after. It returns the hash of the copy.
func (w *work) copyOrigin(fd int, name string, o *changeset.Origin) (string, error) {
	f, stamp, err := w.openOrigin(o.Path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if !stamp.Unchanged(o.Stamp) {
		return "", moved(o.Path, "it is not the file that was to be copied")
	}
	if err := w.copyFile(fd, name, f, stamp.Size); err != nil {
		return "", err
	}
	// Of the copy, which nobody else can write to, not of the original.
	sum, err := hashFD(fd, stamp.Size)
	if err != nil {
		return "", err
	}
	w.disk.between("staged and looked at", int(f.Fd()), "")
	if stamp, err = fsroot.StampFD(int(f.Fd())); err != nil {
		return "", err
	}
	if !stamp.Unchanged(o.Stamp) {
		return "", moved(o.Path, "it was written to while it was copied")
	}
	return sum, nil
}

// openOrigin may be called from several goroutines at once, unlike the set.
func (w *work) openOrigin(path string) (*os.File, changeset.Stamp, error) {
	w.setLock.Lock()
	defer w.setLock.Unlock()
	set := w.set
	switch {
	case w.isHeld(path):
		set = w.held
	case w.isKept(path):
		set = w.kept
	}
	d, base, err := set.OpenParent(path)
	if err != nil {
		return nil, changeset.Stamp{}, moved(path, "%v", err)
	}
	f, stamp, err := d.Open(base)
	if fsroot.IsMissing(err) {
		err = moved(path, "it is gone")
	}
	return f, stamp, err
}

// hashFD hashes the first size bytes of an open file.
func hashFD(fd int, size int64) (string, error) {
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(borrowed{fd}, 0, size))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// borrowed reads a descriptor that stays its owner's.
type borrowed struct{ fd int }

func (b borrowed) ReadAt(p []byte, off int64) (int, error) {
	n, err := unix.Pread(b.fd, p, off)
	for err == unix.EINTR {
		n, err = unix.Pread(b.fd, p, off)
	}
	if err != nil {
		return max(n, 0), err
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
