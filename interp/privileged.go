package interp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/internal/fsroot"
	"steps.example/steps"
)

// Privileged is a step that cannot be done with the user's rights.
type Privileged struct {
	Step int `json:"step"` // the running number, from 1
	Place
	Type steps.Type `json:"type"`
	// Path is the first that the step changes; "" where it changes none.
	Path string `json:"path,omitempty"`
	Why  string `json:"why"`
}

func (p Privileged) String() string {
	where := fmt.Sprintf("%s (%s)", p.Place, p.Type)
	if p.Path != "" {
		where += " " + changeset.Printable(p.Path)
	}
	return where + ": " + p.Why
}

// brokered are the step types that a broker does: those that only change files, and
// do not show what is in them.
var brokered = []steps.Type{
	"mkdir", "mkdir_p", "touch", "write", "inreplace", "symlink", "link_dir", "link_children",
	"move", "move_contents", "move_children", "copy", "remove", "set_permissions", "set_ownership",
}

// Caller is the user for whom a step is done.
type Caller struct {
	UID, GID int
	Groups   []int
}

// self is who this process acts for.
func self() Caller {
	groups, _ := unix.Getgroups()
	return Caller{UID: unix.Geteuid(), GID: unix.Getegid(), Groups: groups}
}

func (c Caller) in(gid int) bool { return gid == c.GID || slices.Contains(c.Groups, gid) }

// gives reports whether a change gives the object to somebody to whom the caller
// cannot give it.
func (c Caller) gives(ch *changeset.Change) bool {
	if ch.After == nil {
		return false
	}
	uid, gid := c.UID, c.GID
	if ch.KeepsObject() {
		uid, gid = ch.Before.UID, ch.Before.GID
	}
	other := func(now, was int) bool { return now != was && now != changeset.KeepOwner }
	return other(ch.After.UID, uid) || other(ch.After.GID, gid) && !c.in(ch.After.GID)
}

// lacks says why the caller cannot make a change, "" if he can, as far as owners and
// modes tell. His own directory counts as one that he can write to.
func (c Caller) lacks(ch *changeset.Change) string {
	if ch.KeepsObject() {
		if ch.Before.UID != c.UID {
			return fmt.Sprintf("it belongs to uid %d", ch.Before.UID)
		}
		return ""
	}
	dir, st := above(ch.Path)
	if lack := c.shut(dir, st); lack != "" {
		return lack
	}
	return c.stuck(ch, st)
}

// above is the nearest directory above a path that is there.
func above(path string) (string, changeset.Stamp) {
	dir := filepath.Dir(path)
	var st unix.Stat_t
	for err := unix.Stat(dir, &st); err != nil && dir != "/"; err = unix.Stat(dir, &st) {
		dir = filepath.Dir(dir)
	}
	return dir, fsroot.StampOf(&st)
}

// stuck says why the caller cannot take away what is in a sticky directory.
func (c Caller) stuck(ch *changeset.Change, st changeset.Stamp) string {
	if st.Mode&unix.S_ISVTX != 0 && int(st.UID) != c.UID && ch.Before != nil && ch.Before.UID != c.UID {
		return fmt.Sprintf("%s belongs to uid %d, in a sticky directory", changeset.Printable(ch.Path), ch.Before.UID)
	}
	return ""
}

// shut says why the caller cannot write to a directory.
func (c Caller) shut(dir string, st changeset.Stamp) string {
	if int(st.UID) == c.UID {
		return ""
	}
	const writeAndEnter = 3
	bits := st.Mode
	if c.in(int(st.GID)) {
		bits >>= 3
	}
	if bits&writeAndEnter == writeAndEnter {
		return ""
	}
	return fmt.Sprintf("%s belongs to uid %d, and you cannot write to it", changeset.Printable(dir), st.UID)
}

// denied decides about a directory that this process cannot write to: root can, if it
// is not the user's own.
func (m *machine) denied(dir string) bool {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return false
	}
	why := self().shut(dir, fsroot.StampOf(&st))
	return why != "" && m.effects.elevate(m, why)
}

// privileged lists the steps of a plan that need root: those for which that turned out
// when they were interpreted, marks, and those that change what is somebody else's, or
// is so by then.
func privileged(marks map[int]string, outcomes []Outcome, cs *changeset.Changeset) []Privileged {
	why, path := maps.Clone(marks), map[int]string{}
	me := self()
	for known := -1; known != len(why); {
		known = len(why)
		made := map[string]bool{} // directories that root will have made
		for i := range cs.Changes {
			c := &cs.Changes[i]
			lack := ""
			switch dir := filepath.Dir(c.Path); {
			case made[dir]:
				lack = changeset.Printable(dir) + " is made as root"
			case c.KeepsObject():
				lack = me.lacks(c)
			case c.Before != nil && c.Before.UID != me.UID:
				_, st := above(c.Path)
				lack = me.stuck(c, st)
			}
			for _, n := range c.Steps {
				if why[n] == "" && lack != "" {
					why[n], path[n] = lack, c.Path
				}
				if path[n] == "" {
					path[n] = c.Path
				}
				if why[n] != "" && c.Before == nil && c.After.Kind == changeset.Dir {
					made[c.Path] = true
				}
			}
		}
	}
	var out []Privileged
	for _, o := range outcomes {
		if text, ok := why[o.Step]; ok {
			out = append(out, Privileged{Step: o.Step, Place: o.Place, Type: o.Type, Path: path[o.Step], Why: text})
		}
	}
	return out
}

// errPrivilege is behind every refusal of a step that needs root.
var errPrivilege = errors.New("needs root")

// refusePrivileged lists what stands against the privileged steps: that no broker is
// there, or that it does none of their type.
func (p *Plan) refusePrivileged(job Job) {
	refused := false
	for _, s := range p.Privileged {
		if job.Broker && slices.Contains(brokered, s.Type) {
			continue
		}
		refused = true
		p.Refused = append(p.Refused, Refusal{
			Step: s.Step, Place: s.Place, Path: s.Path, Rule: "need", err: errPrivilege,
			Reason: s.String() + "; it needs root",
		})
	}
	if !refused {
		return
	}
	advice := "do it as root"
	switch {
	case job.Broker:
		advice += "; the broker does no steps of this type"
	case job.NoBroker != "":
		advice += ", or through the broker for such steps, but " + job.NoBroker
	}
	// One for each step, and what to do once, behind the last.
	p.Refused[len(p.Refused)-1].Reason += "\nwhat needs root cannot be done, since this process is not root: " + advice
}

// elevate finds the steps of a plan that need root, and refuses them where no broker can
// do them. Ends are the last steps of the jobs.
func (p *Plan) elevate(ctx context.Context, envs []*environment, jobs []Job, ends []int, host Host, set *fsroot.Set, marks map[int]string) error {
	all := privileged(marks, p.Outcomes, p.Changes)
	first := 0
	for k, job := range jobs {
		p.Privileged = nil
		for _, s := range all {
			if first < s.Step && s.Step <= ends[k] {
				s.Step -= first
				p.Privileged = append(p.Privileged, s)
			}
		}
		first = ends[k]
		from := len(p.Refused)
		p.refusePrivileged(job)
		p.attribute(from, k, job)
	}
	if len(p.Privileged) == 0 || len(p.Refused) > 0 {
		return nil
	}
	return p.checkOrder(ctx, envs[0], jobs[0], host, set)
}
