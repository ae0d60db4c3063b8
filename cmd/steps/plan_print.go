package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"steps.example/interp"
	"steps.example/interp/changeset"
	"steps.example/interp/jail"
)

// printPlan prints a plan for people, or one object a line.
func printPlan(t *terminal, job interp.Job, p *interp.Plan) error {
	if t.json {
		return planObjects(t, p)
	}
	t.say("%s", heading(job))
	if err := renderer(t, job).Render(t.out, p.Changes); err != nil {
		return err
	}
	for _, a := range p.Actions {
		t.say("%s", describeAction(job, a))
	}
	for _, s := range p.Privileged {
		t.say("as root  %s", s)
	}
	changed := stepsIn(p)
	for _, o := range p.Outcomes {
		if o.Result == "done" && !changed[o.Step] {
			t.say("keep     %s (%s): nothing to change", o.Place, o.Type)
		}
	}
	for _, s := range p.Spared {
		t.say("keep     %s (--keep): not to %s", changeset.Printable(s.Path), s.Verb)
	}
	for _, path := range stays(p.Changes, p.Yours) {
		t.say("keep     %s: what you changed is yours", changeset.Printable(path))
	}
	for _, a := range p.Adopted {
		t.say("adopt    %s: it is as the package makes it", changeset.Printable(a.Path))
	}
	for _, u := range p.Unpredicted {
		t.say("unknown  %s: %s; it may differ once the command before it has run", u.Place, changeset.Printable(u.Reason))
	}
	for _, r := range p.Refused {
		t.say("conflict %s", multiline(r.Reason))
	}
	for _, w := range p.Warnings {
		t.say("warning  %s", changeset.Printable(w.Text))
	}
	t.say("%s", summary(p.Changes, len(p.Actions)))
	return nil
}

func planObjects(t *terminal, p *interp.Plan) error {
	if err := changeObjects(t, p.Changes); err != nil {
		return err
	}
	for _, a := range p.Actions {
		if err := t.object("action", a); err != nil {
			return err
		}
	}
	for _, s := range p.Privileged {
		if err := t.object("privileged", s); err != nil {
			return err
		}
	}
	changed := stepsIn(p)
	for _, o := range p.Outcomes {
		if err := t.object("step", struct {
			interp.Outcome
			Changes bool `json:"changes"`
		}{o, changed[o.Step]}); err != nil {
			return err
		}
	}
	for _, s := range p.Spared {
		if err := t.object("spared", s); err != nil {
			return err
		}
	}
	for _, path := range stays(p.Changes, p.Yours) {
		if err := t.object("yours", map[string]string{"path": path}); err != nil {
			return err
		}
	}
	for _, a := range p.Adopted {
		if err := t.object("adopted", a); err != nil {
			return err
		}
	}
	for _, u := range p.Unpredicted {
		if err := t.object("unknown", u); err != nil {
			return err
		}
	}
	for _, r := range p.Refused {
		if err := t.object("conflict", r); err != nil {
			return err
		}
	}
	for _, w := range p.Warnings {
		if err := t.object("warning", w); err != nil {
			return err
		}
	}
	return t.object("plan", map[string]any{
		"digest": p.Digest(), "changes": len(p.Changes.Changes), "actions": len(p.Actions), "conflicts": len(p.Refused),
	})
}

// stays are the paths of the user's that nothing is changed at.
func stays(cs *changeset.Changeset, yours []string) []string {
	changed := map[string]bool{}
	for _, c := range cs.Changes {
		changed[c.Path] = true
	}
	return slices.DeleteFunc(slices.Clone(yours), func(p string) bool { return changed[p] })
}

func changeObjects(t *terminal, cs *changeset.Changeset) error {
	for i := range cs.Changes {
		c := &cs.Changes[i]
		if err := t.object("change", struct {
			Verb changeset.Verb `json:"verb"`
			*changeset.Change
		}{c.Verb(), c}); err != nil {
			return err
		}
	}
	return nil
}

// stepsIn tells which steps have a part in something that changes or executes.
func stepsIn(p *interp.Plan) map[int]bool {
	in := map[int]bool{}
	for _, c := range p.Changes.Changes {
		for _, s := range c.Steps {
			in[s] = true
		}
	}
	for _, a := range p.Actions {
		if a.Run != nil {
			in[a.Run.Step] = true
		} else {
			in[a.Terminate.Step] = true
		}
	}
	for _, w := range p.Warnings {
		in[w.Step] = true
	}
	return in
}

func describeAction(job interp.Job, a interp.Action) string {
	if a.Terminate != nil {
		how := "called"
		if a.Terminate.Full {
			how = "whose command line matches"
		}
		return fmt.Sprintf("end      processes %s %q (%s)", how, a.Terminate.Name, job.Place(a.Terminate.Step))
	}
	r := a.Run
	lines := []string{fmt.Sprintf("run      %s (%s)", strings.Join(quoted(append([]string{r.Name}, r.Args...)), " "), job.Place(r.Step))}
	add := func(what string, values ...string) {
		if len(values) > 0 && values[0] != "" {
			lines = append(lines, underAction(what, quoted(values))...)
		}
	}
	p := &r.Policy
	add("in", r.Dir)
	add("with", p.Env...)
	add("with your", p.PassEnv...)
	add("reads its input from", r.Stdin)
	add("output goes to", r.Stdout)
	add("may read, beside the system's own,", p.Reads...)
	add("may change", p.Writes...)
	add("is not granted, since nothing is there,", p.Absent...)
	for _, o := range p.Outputs {
		lines = append(lines, "         "+describeOutput(o))
	}
	if p.Outputs != nil {
		lines = append(lines, "         makes nothing else")
	}
	if p.Network {
		lines = append(lines, "         may use the network")
	}
	for _, port := range p.Ports {
		lines = append(lines, fmt.Sprintf("         may connect to TCP port %d", port))
	}
	if limits := describeLimits(p.Limits); len(limits) > 0 {
		lines = append(lines, underAction("limited to", limits)...)
	}
	add("accepted gaps:", p.Gaps...)
	if open := notKept(p.Guarantees); len(open) > 0 {
		add("not guaranteed here:", open...)
	}
	return strings.Join(lines, "\n")
}

func describeOutput(o interp.Output) string {
	text := "makes " + o.Kind
	if o.Any {
		text = "may make any " + o.Kind
	}
	text += " " + quoted([]string{o.Path})[0]
	if o.MaxSize > 0 {
		text += fmt.Sprintf(", at most %d bytes", o.MaxSize)
	}
	if o.Executable {
		text += ", executable"
	}
	return text
}

// describeLimits names the limits that are not the usual ones.
func describeLimits(l interp.Limits) []string {
	var out []string
	usual := interp.DefaultLimits()
	for _, v := range []struct {
		value, usual int64
		unit         string
	}{
		{int64(l.Timeout), int64(usual.Timeout), "seconds"},
		{int64(l.CPU), int64(usual.CPU), "seconds of processor time"},
		{l.FileSize, usual.FileSize, "bytes a file"},
		{int64(l.OpenFiles), int64(usual.OpenFiles), "open files"},
		{int64(l.Processes), int64(usual.Processes), "processes"},
		{l.Memory, usual.Memory, "bytes of memory"},
		{int64(l.Output), int64(usual.Output), "bytes of output"},
	} {
		if v.value != v.usual && v.value > 0 {
			out = append(out, fmt.Sprintf("%d %s", v.value, v.unit))
		}
	}
	return out
}

// notKept lists the guarantees of the jail that nothing keeps.
func notKept(kept map[string]string) []string {
	var out []string
	for _, g := range jail.Guarantees() {
		if kept[g.Name] == "none" {
			out = append(out, g.Name)
		}
	}
	return out
}

// underAction shows a list under an action, in lines that fit where they can.
func underAction(what string, values []string) []string {
	const width, indent = 80, "         "
	lines := []string{indent + what + " " + values[0]}
	for _, v := range values[1:] {
		last := &lines[len(lines)-1]
		*last += ","
		if len(*last)+1+len(v) < width {
			*last += " " + v
		} else {
			lines = append(lines, indent+"  "+v)
		}
	}
	return lines
}

// quoted shows words so that each is one word, and none more than a word.
func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = changeset.Printable(w)
		if w == "" || out[i] != w || strings.ContainsAny(w, " \t\"'$`\\") {
			out[i] = strconv.Quote(w)
		}
	}
	return out
}

func heading(job interp.Job) string {
	phases := make([]string, 0, len(job.Phases))
	for _, p := range job.Phases {
		phases = append(phases, string(p))
	}
	what := strings.Join(phases, ", ")
	if len(phases) == 0 {
		what = "no steps"
	}
	if job.Removal {
		what += " (removal)"
	}
	where := ""
	if dir := prefixOf(job.Target); dir != "" {
		where = " in " + dir
	}
	return fmt.Sprintf("%s: %s%s", strings.TrimSpace(job.Target.Name+" "+job.Target.Version), what, where)
}

func summary(cs *changeset.Changeset, actions int) string {
	count := map[changeset.Verb]int{}
	for i := range cs.Changes {
		count[cs.Changes[i].Verb()]++
	}
	var parts []string
	for _, v := range []changeset.Verb{changeset.Create, changeset.Replace, changeset.Modify, changeset.Move, changeset.Delete} {
		if count[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", count[v], v))
		}
	}
	if actions > 0 {
		parts = append(parts, fmt.Sprintf("%d to execute", actions))
	}
	if len(parts) == 0 {
		return "nothing to change"
	}
	return strings.Join(parts, ", ")
}

// renderer shows paths relative to the directory above the roots, where that is
// shorter, and diffs against the files as they are now.
func renderer(t *terminal, job interp.Job) changeset.Renderer {
	return changeset.Renderer{
		Style:  t.style,
		Short:  shorten(job.Target.Dirs),
		Before: interp.BeforeReader(job.Target),
	}
}

// shorten gives paths below the prefix relative to it, and those below another
// named directory as "{name}/rest".
func shorten(dirs map[string]string) func(string) string {
	type root struct{ dir, as string }
	var roots []root
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		as := "{" + name + "}/"
		if isPrefix(name) {
			as = ""
		}
		roots = append(roots, root{dirs[name], as})
		if real, err := filepath.EvalSymlinks(dirs[name]); err == nil && real != dirs[name] {
			roots = append(roots, root{real, as})
		}
	}
	// The innermost directory names a path best.
	slices.SortStableFunc(roots, func(a, b root) int { return len(b.dir) - len(a.dir) })
	return func(p string) string {
		for _, r := range roots {
			if rel, ok := strings.CutPrefix(p, r.dir+"/"); ok {
				return r.as + rel
			}
		}
		return p
	}
}

// isPrefix reports whether a layout's directory is the one that --prefix names.
// prefixOf is the directory that packages are installed under; "" where a target has none.
func prefixOf(t interp.Target) string {
	for name, dir := range t.Dirs {
		if isPrefix(name) {
			return dir
		}
	}
	return ""
}

func isPrefix(name string) bool { return name != "home" && name != "temp" && name != "appdir" }
