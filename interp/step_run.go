package interp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
	"steps.example/interp/commit"
	"steps.example/interp/view"
	"steps.example/steps"
)

// Run is a command that a step wants to execute: all of it, resolved, as it
// goes into the plan and the receipt.
type Run struct {
	Step int `json:"step"`
	// Name is the absolute path that the step gave: what is executed, and what
	// the command sees as its name. Command is where it leads, if that is below
	// a root.
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	// CommandID and InputSHA256 identify the command, where it is the package's,
	// and what is fed to it, so that a plan speaks of no others.
	CommandID   string `json:"command_id,omitempty"`
	InputSHA256 string `json:"stdin_sha256,omitempty"`
	// FileIDs identify the files below the roots that arguments and variables
	// name, such as a script.
	FileIDs map[string]string `json:"file_ids,omitempty"`
	Dir     string            `json:"dir"`
	Stdin   string            `json:"stdin_path,omitempty"`
	Stdout  string            `json:"stdout_path,omitempty"`
	// AllowFailure says that the command may fail; then its outputs need not be
	// there.
	AllowFailure bool `json:"allow_failure,omitempty"`
	// Policy is all that it gets.
	Policy Policy `json:"policy"`

	// Layers are where what it writes is to go instead; none where it writes to
	// the tree itself.
	Layers []commit.Layer `json:"-"`

	input []byte
	// named are the protected names that the step's outputs and writable paths
	// name.
	named []string
}

// CommandError is a command that failed.
type CommandError struct {
	Command  string
	ExitCode int
	Signal   string
	// Output is the last of what it printed, made fit for a terminal.
	Output string
}

func (e *CommandError) Error() string {
	how := fmt.Sprintf("exited with %d", e.ExitCode)
	if e.Signal != "" {
		how = "was ended by " + e.Signal
	}
	if e.Output == "" {
		return fmt.Sprintf("%s %s, printing nothing", e.Command, how)
	}
	return fmt.Sprintf("%s %s; it printed last:\n%s", e.Command, how, e.Output)
}

func (m *machine) run(s *steps.Run) error {
	r := &Run{Step: m.step, AllowFailure: s.AllowFailure}
	if err := m.prepareRun(s, r); err != nil {
		return err
	}
	out, err := m.effects.run(m, r)
	var failed *CommandError
	switch {
	case errors.Is(err, errPlanned):
		return nil
	case errors.As(err, &failed) && s.AllowFailure:
		return nil
	case err != nil || r.Stdout == "":
		return err
	}
	if err := m.makeParents(r.Stdout); err != nil {
		return err
	}
	return m.view.Write(r.Stdout, out, 0o666)
}

func (m *machine) prepareRun(s *steps.Run, r *Run) (err error) {
	if r.Name, err = m.command(s.Command); err != nil {
		return err
	}
	r.Command = r.Name
	if real, err := m.view.Real(r.Name); err == nil {
		r.Command = real
		if r.CommandID, err = m.view.Fingerprint(real); err != nil {
			return err
		}
	}
	for _, a := range s.Args {
		r.Args = append(r.Args, m.expand(a))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		r.Policy.Env = append(r.Policy.Env, name+"="+m.expand(s.Env[name]))
	}
	for _, text := range slices.Concat(r.Args, r.Policy.Env) {
		if strings.ContainsRune(text, 0) {
			return errors.New("args and env may not hold a NUL byte")
		}
	}
	r.FileIDs = m.filesNamed(r)
	if r.Dir, err = m.workingDir(s.Chdir); err != nil {
		return err
	}
	if s.StdinPath != nil {
		if r.Stdin, err = m.path(*s.StdinPath); err != nil {
			return err
		}
		if err = m.mayRead(r.Stdin); err != nil {
			return err
		}
		if r.input, err = m.view.ReadFile(r.Stdin); err != nil {
			return err
		}
		sum := sha256.Sum256(r.input)
		r.InputSHA256 = hex.EncodeToString(sum[:])
	}
	if s.StdoutPath != nil {
		if r.Stdout, err = m.path(*s.StdoutPath); err != nil {
			return err
		}
		// Where it leads is settled before anything runs.
		if _, err := m.view.Real(r.Stdout); err != nil && !view.IsAbsent(err) {
			return err
		}
	}
	return m.preparePolicy(s, r)
}

// filesNamed identifies the files below the roots that arguments and variables
// of r name.
func (m *machine) filesNamed(r *Run) map[string]string {
	texts := slices.Clone(r.Args)
	for _, v := range r.Policy.Env {
		_, value, _ := strings.Cut(v, "=")
		texts = append(texts, value)
	}
	ids := map[string]string{}
	for _, text := range texts {
		if !strings.HasPrefix(text, "/") {
			continue
		}
		if id, err := m.view.Fingerprint(text); err == nil {
			ids[text] = id
		}
	}
	return ids
}

// command is the absolute path of what to execute. A bare name is looked up in
// the search path.
func (m *machine) command(p steps.Path) (string, error) {
	name := m.expand(p.Path)
	if (p.Base == "" || p.Base == steps.BaseRelative) && !strings.ContainsRune(name, '/') && !strings.HasPrefix(name, "~") {
		for _, dir := range m.SearchPath {
			file := filepath.Join(dir, name)
			if ok, err := m.executable(file); err != nil {
				return "", err
			} else if ok {
				return file, nil
			}
		}
		return "", fmt.Errorf("the command %q is in none of %s", name, strings.Join(m.SearchPath, ":"))
	}
	file, err := m.path(p)
	if err != nil {
		return "", err
	}
	ok, err := m.executable(file)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", fmt.Errorf("the command %s is not there or not executable", file)
	}
	return file, nil
}

// executable asks the view for what is in the roots, and the system for its own
// commands, which no step can change.
func (m *machine) executable(file string) (bool, error) {
	st, err := m.view.Stat(file)
	if errors.Is(err, view.ErrOutside) {
		return m.effects.systemCommand(file), nil
	}
	if view.IsAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return st != nil && st.Kind == changeset.File && st.Mode&0o111 != 0, nil
}

// workingDir is where a command starts: where the step says, else in the
// package's own directory, else in the first that a command may look at.
func (m *machine) workingDir(chdir *steps.Path) (string, error) {
	if chdir != nil {
		dir, err := m.path(*chdir)
		if err != nil {
			return "", err
		}
		isDir, err := m.view.IsDir(dir)
		if err != nil {
			return "", err
		}
		if !isDir {
			return "", fmt.Errorf("chdir %s: %w", dir, unix.ENOTDIR)
		}
		return m.view.Real(dir)
	}
	candidates := slices.Concat([]string{m.bases["prefix"], m.bases["staged_path"]}, m.runReads, m.runWrites)
	for _, dir := range candidates {
		if dir == "" {
			continue
		}
		if isDir, err := m.view.IsDir(dir); err == nil && isDir {
			return m.view.Real(dir)
		}
	}
	return "", errors.New("none of the package's directories exists, so there is nowhere to run a command")
}

// outermost gives the physical paths, without what is below another one and
// what does not exist.
func (m *machine) outermost(paths []string) []string {
	var real []string
	for _, p := range paths {
		if exists, err := m.view.Exists(p); err != nil || !exists {
			continue
		}
		if r, err := m.view.Real(p); err == nil {
			real = append(real, r)
		}
	}
	return withoutInner(real)
}
