package faults

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"steps.example/conformance"
	"steps.example/conformance/scene"
	"steps.example/interp/changeset"
	"steps.example/interp/commit"
)

// errnos are what each call fails with in turn.
var errnos = []unix.Errno{
	unix.ENOSPC, unix.EDQUOT, unix.EIO, unix.EPERM, unix.EACCES, unix.EROFS, unix.EMFILE, unix.EXDEV, unix.ENAMETOOLONG,
}

// fault is what goes wrong in one run of a scene.
type fault struct {
	at    int // the call, from 0
	errno unix.Errno
	how   manner
}

// manner is how a call fails.
type manner int

const (
	once    manner = iota
	lasting        // and so does from then on every call that would for the same reason
	short          // a write of which half was done
)

func (f fault) String() string {
	how := map[manner]string{once: "fails with", lasting: "and what follows fail with", short: "stops half way with"}[f.how]
	return fmt.Sprintf("%s %s", how, unix.ErrnoName(f.errno))
}

// injector makes calls fail.
type injector struct {
	fault
	calls []commit.Call // that were about to be made, without their descriptors
	over  bool          // the fault is gone
	hit   bool
}

// takesSpace are the calls that fail on a full disk.
var takesSpace = []string{"mkdir", "create", "write", "clone", "copy", "symlink", "setxattr"}

func (i *injector) call(c commit.Call) error {
	if c.After {
		return nil
	}
	k := len(i.calls)
	i.calls = append(i.calls, commit.Call{Op: c.Op, Name: c.Name, Length: c.Length})
	switch {
	case i.over || i.at < 0 || k < i.at:
	case k == i.at:
		i.hit = true
		if i.how == short {
			return i.half(c)
		}
		return i.errno
	case i.how == lasting && i.lasts(c.Op):
		return i.errno
	}
	// Nothing here is about power failures.
	if c.Op == "sync" || c.Op == "fsync" {
		return commit.ErrInstead
	}
	return nil
}

// watch has all calls made to a fault's liking: those of the store, and a broker's.
func (i *injector) watch(w *scene.World, store *commit.Store) {
	store.Intercept(i.call)
	if w.Broker {
		w.Watch = i.call
	}
}

// lasts reports whether a later call fails, too.
func (i *injector) lasts(op string) bool {
	switch i.errno {
	case unix.ENOSPC, unix.EDQUOT:
		return slices.Contains(takesSpace, op)
	case unix.EROFS, unix.EIO:
		return true
	}
	return op == i.calls[i.at].Op
}

// half does half of a write.
func (i *injector) half(c commit.Call) error {
	part := c.Data[:len(c.Data)/2]
	var err error
	if c.Offset < 0 {
		_, err = unix.Write(c.FD, part)
	} else {
		_, err = unix.Pwrite(c.FD, part, c.Offset)
	}
	return cmp.Or[error](err, i.errno)
}

// faultsOf are all that can go wrong in a scene with these calls.
func faultsOf(calls []commit.Call) []fault {
	var out []fault
	for k, c := range calls {
		for i, errno := range errnos {
			out = append(out, fault{k, errno, once})
			if errno == unix.ENOSPC || i == 1+k%(len(errnos)-1) {
				out = append(out, fault{k, errno, lasting})
			}
		}
		if c.Op == "write" && c.Length > 1 {
			out = append(out, fault{k, unix.ENOSPC, short})
		}
	}
	return out
}

// some are as many of the faults as may be, spread over all of them.
func some(all []fault, most int, seed uint64) []fault {
	if most <= 0 || most >= len(all) {
		return all
	}
	var out []fault
	for i := range most {
		out = append(out, all[(i*len(all)/most+int(seed%uint64(len(all))))%len(all)])
	}
	return out
}

// undisturbed is how a scene goes when nothing is wrong.
type undisturbed struct {
	calls []commit.Call
	after scene.Snapshot // in terms of the tree before
}

func inject(ctx context.Context, s *scene.Scene, base string, opt Options) (Result, error) {
	r := Result{Name: s.Name, Skipped: s.Lacks()}
	if r.Skipped != "" {
		return r, nil
	}
	u, err := learn(ctx, s, base+"-0")
	if err != nil {
		return r, err
	}
	r.Calls = len(u.calls)
	list := some(faultsOf(u.calls), opt.Rounds, opt.Seed)
	var mu sync.Mutex
	err = inParallel(ctx, len(list), func(i int) {
		dir := fmt.Sprint(base, "-", i+1)
		said, problems := u.try(ctx, s, dir, list[i])
		mu.Lock()
		defer mu.Unlock()
		r.Points++
		r.said(said)
		if len(problems) > 0 {
			c := u.calls[list[i].at]
			r.problem("call %d, %s of %s, %v: %s", list[i].at, c.Op, c.Name, list[i], strings.Join(problems, "; "))
		}
	})
	return r, err
}

// learn runs the scene without a fault.
func learn(ctx context.Context, s *scene.Scene, dir string) (*undisturbed, error) {
	w, store, err := open(s, dir)
	if err != nil {
		return nil, err
	}
	defer conformance.RemoveAll(dir)
	defer store.Close()
	i := injector{fault: fault{at: -1}}
	i.watch(w, store)
	if err := w.Act(ctx, store); err != nil {
		return nil, fmt.Errorf("without a fault: %w", err)
	}
	now, err := w.Take()
	return &undisturbed{calls: i.calls, after: w.Promised(now.Since(w.Before))}, err
}

func open(s *scene.Scene, dir string) (*scene.World, *commit.Store, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, nil, err
	}
	return s.Open(dir)
}

// try runs the scene with a fault, and says what a user would have been told and
// what is wrong.
func (u *undisturbed) try(ctx context.Context, s *scene.Scene, dir string, f fault) (said string, problems []string) {
	defer conformance.RemoveAll(dir)
	w, store, err := open(s, dir)
	if err != nil {
		return "", []string{err.Error()}
	}
	defer store.Close()
	i := injector{fault: f}
	i.watch(w, store)
	err = w.Act(ctx, store)
	i.over = true
	if !i.hit {
		return "", []string{"the call was not made"}
	}
	v := verdict{World: w, store: store, after: u.after, err: err}
	v.judge()
	if err != nil {
		text := v.plain(err)
		said = text
		v.problems = append(v.problems, unclear(text, f.errno, s.Fails || s.Force, s.Broker)...)
	}
	return said, v.problems
}

// verdict judges the end of an operation in a world.
type verdict struct {
	*scene.World
	store *commit.Store
	after scene.Snapshot
	err   error // of the operation
	// apart: the tree is not on the store's file system, so it holds slots for undo.
	apart    bool
	problems []string
}

func (v *verdict) say(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// judge insists on the tree before or after, and on a clean store, after a recovery
// at the latest. What stands in the way of it must be gone.
func (v *verdict) judge() {
	pending, err := v.store.Pending()
	if err != nil {
		v.say("pending: %v", err)
	}
	// What waits for recovery may also be a broker's part only.
	notes, err := v.store.Partners()
	if err != nil {
		v.say("notes of brokers: %v", err)
	}
	waits := len(pending)+len(notes) > 0
	if v.err == nil && !v.Fails && waits {
		v.say("went through, and left a transaction to be recovered")
	}
	was := v.state()
	switch {
	case v.Fails && was.before, v.err != nil && waits:
	case v.Fails && !waits, v.err == nil && !v.Fails && !was.after:
		v.say("it ended with the tree %s", was)
	case v.err != nil && !was.before && !v.recorded():
		v.say("it failed with nothing left to recover, and the tree %s", was)
	}
	if err := v.Recover(v.store); err != nil {
		v.say("recovery, with the fault gone: %v", err)
	}
	switch now := v.state(); {
	case !now.before && !now.after:
		v.say("recovery left the tree %s", now)
	case !waits && now != was:
		v.say("recovery had nothing to do, and changed the tree from %s to %s", was, now)
	}
	for _, dir := range []string{"tx", "trash", "kept", "partners"} {
		left, _ := filepath.Glob(filepath.Join(v.State, dir, "*"))
		if len(left) > 0 {
			v.say("left in the store: %s", strings.Join(left, ", "))
		}
	}
	if err := v.Agree(v.store); err != nil {
		v.say("%v", err)
	}
	for _, d := range v.OutsideDiff() {
		v.say("outside: %s", d)
	}
}

// recorded reports whether the receipts say that the operation was done.
func (v *verdict) recorded() bool {
	all, err := v.store.Receipts()
	if err != nil {
		v.say("receipts: %v", err)
	}
	if v.Verb == scene.VerbUndo {
		return len(all) < len(v.Had)
	}
	return len(all) != len(v.Had)
}

// state is how a tree compares with the one before and the one after, which may be
// the same.
type state struct {
	before, after bool
	differs       string
}

func (s state) String() string {
	switch {
	case s.before:
		return "as before"
	case s.after:
		return "as after"
	}
	return s.differs
}

func (v *verdict) state() state {
	now, err := v.Take()
	if err != nil {
		return state{differs: err.Error()}
	}
	was, want := v.Before, v.after
	if v.apart {
		now, was, want = withoutSlots(now), withoutSlots(was), withoutSlots(want)
	}
	before := v.Promised(now).Diff(v.Promised(was))
	after := v.Promised(now.Since(was)).Diff(want)
	s := state{before: len(before) == 0, after: len(after) == 0}
	if !s.before && !s.after {
		s.differs = fmt.Sprintf("neither as before (%s) nor as after (%s)", first(before), first(after))
	}
	return s
}

// withoutSlots leaves out what is kept for undo.
func withoutSlots(s scene.Snapshot) scene.Snapshot {
	out := scene.Snapshot{}
	for p, o := range s {
		if !strings.Contains("/"+p, "/"+changeset.Reserved) {
			o.Nlink, o.Names = 0, ""
			out[p] = o
		}
	}
	return out
}

func first(list []string) string {
	const most = 3
	if len(list) > most {
		list = append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, ", ")
}

// plain is a message with short paths, as they would be in life.
func (v *verdict) plain(err error) string {
	text := err.Error()
	for _, p := range []struct{ long, short string }{{v.State, "/var/steps"}, {v.Root, "/opt"}, {filepath.Dir(v.Root), "/"}} {
		text = strings.ReplaceAll(text, p.long, p.short)
	}
	return text
}
