package changeset

import (
	"fmt"
	"path/filepath"
)

// declared makes the tables of what may be at which path.
func (j *contractJudge) declared() {
	j.outputs, j.parents = map[string][]*Output{}, map[string]bool{}
	for i := range j.Outputs {
		o := &j.Outputs[i]
		for _, path := range o.Paths {
			j.outputs[path] = append(j.outputs[path], o)
			for dir := filepath.Dir(path); !j.parents[dir] && dir != "/"; dir = filepath.Dir(dir) {
				j.parents[dir] = true
			}
		}
	}
}

// output insists that a change is one that an output of the step stands for. Of
// several outputs that a path matches, one that it keeps is enough.
func (j *contractJudge) output(c *Change) {
	if j.Outputs == nil {
		return
	}
	reason := ""
	for _, o := range j.outputs[c.Path] {
		why := o.broken(c)
		if why == "" {
			return
		}
		if reason == "" {
			reason = why
		}
	}
	switch {
	case reason != "":
	case j.parents[c.Path] && c.Before == nil && c.After != nil && c.After.Kind == Dir:
		return // it holds an output
	case c.After == nil:
		reason = "was deleted, and is not among the outputs that the step declares; declare it, or let the command leave it"
	default:
		reason = "is not among the outputs that the step declares; declare it, or let the command remove it again"
	}
	j.add(c.Path, "output", reason, "")
}

// broken says what a change does not keep of an output; "" if it keeps all.
func (o *Output) broken(c *Change) string {
	switch after := c.After; {
	case after == nil:
		return "" // a missing one is reported as such
	case after.Kind != o.Kind:
		return fmt.Sprintf("is a %s, and the step declares a %s there; change the declaration's kind, or what the command makes", word(after.Kind), word(o.Kind))
	case after.Kind != File:
		return ""
	case after.Size > o.MaxSize && !c.KeepsObject():
		return fmt.Sprintf("has %d bytes, and the step declares at most %d; raise the declaration's max_size, or let the command make less", after.Size, o.MaxSize)
	case after.Mode&0o111 != 0 && !o.Executable && !(c.KeepsObject() && c.Before.Mode&0o111 != 0):
		return "is executable, and the step does not declare that; set the declaration's executable, or let the command not make it so"
	}
	return ""
}

// missing reports the outputs that a successful command has not produced.
func (j *contractJudge) missing() error {
	if j.Failed {
		return nil
	}
	for i := range j.Outputs {
		o := &j.Outputs[i]
		if o.Any {
			continue
		}
		for _, path := range o.Paths {
			after, err := j.after(path)
			switch {
			case err != nil:
				return err
			case after == nil:
				j.add(path, "output", "is missing: the step declares this output, and the command succeeded without producing it", "")
			case after.Kind != o.Kind && j.changed[path] == nil:
				j.add(path, "output", o.broken(&Change{After: after}), "")
			}
		}
	}
	return nil
}

// word is how documents and people call a kind.
func word(k Kind) string {
	switch k {
	case Dir:
		return "directory"
	case Other:
		return "special file"
	}
	return string(k)
}
