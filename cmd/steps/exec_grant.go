package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"steps.example/interp/jail"
)

// grant is the physical path of what a flag names, with a note if links lead
// elsewhere than the name says. It refuses what is not there and what the user
// may not use himself, since a grant adds no rights.
func grant(flag, path string) (real, note string, err error) {
	if path == "" {
		return "", "", fmt.Errorf("%s: the path is empty", flag)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", "", fmt.Errorf("%s %s: %w", flag, path, err)
	}
	real, err = filepath.EvalSymlinks(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", fmt.Errorf("%s %s: %s", flag, path, absent(flag, abs))
	case errors.Is(err, fs.ErrPermission):
		return "", "", fmt.Errorf("%s %s: you have no permission to reach it", flag, path)
	case err != nil:
		return "", "", fmt.Errorf("%s %s: %w", flag, path, err)
	}
	mode, verb := uint32(unix.R_OK), "read"
	if flag == "--write" {
		mode, verb = unix.W_OK, "change"
	}
	if err := unix.Access(real, mode); err != nil {
		return "", "", fmt.Errorf("%s %s: you cannot %s it yourself (%w), and a grant does not alter that", flag, path, verb, err)
	}
	if real != abs {
		note = fmt.Sprintf("%s %s: links lead to %s, which is granted", flag, path, real)
	}
	return real, note, nil
}

// absent says what to do about a path that is not there.
func absent(flag, abs string) string {
	if target, err := os.Readlink(abs); err == nil {
		return fmt.Sprintf("is a link to %s, which does not exist", target)
	}
	if flag == "--write" {
		return "does not exist, and only what exists can be granted; make it first (mkdir, or touch for a file), or grant the directory that it will be in"
	}
	return "does not exist"
}

// directory is where the command starts.
func (f *execFlags) directory(p jail.Policy) (string, error) {
	dir, name := f.dir, "--dir "+f.dir
	if dir == "" {
		here, err := os.Getwd()
		if err != nil {
			return "", fmt.Errorf("the present directory is not known (%w); choose one with --dir DIR", err)
		}
		dir, name = here, "the present directory "+here
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s: is not a directory", name)
	}
	if slices.ContainsFunc(slices.Concat(p.Reads, p.Execs, p.Writes), func(top string) bool { return under(real, top) }) {
		return real, nil
	}
	if f.dir == "" {
		return "", fmt.Errorf("%s is not granted; add --read . or --write ., or start elsewhere with --dir DIR", name)
	}
	return "", fmt.Errorf("%s: is not granted; add --read %s or --write %s", name, f.dir, f.dir)
}

// under reports whether path is top or lies below it; both are clean.
func under(path, top string) bool {
	return path == top || strings.HasPrefix(path, strings.TrimSuffix(top, "/")+"/")
}

// findCommand gives the path of a command: of a bare name along path, of any
// other name from dir. The path is one by which the command may know itself, so
// the last link of it stays.
func findCommand(name, dir string, path, execs []string) (string, error) {
	file, err := locate(name, dir, path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return "", &exitError{code: exitCannotExec, err: fmt.Errorf("%s: %w", name, err)}
	}
	if !slices.ContainsFunc(execs, func(top string) bool { return under(real, top) }) {
		what := file
		if real != file {
			what += ", a link to " + real + ","
		}
		return "", &exitError{code: exitCannotExec, err: fmt.Errorf("%s is %s and may not be executed; add --exec %s", name, what, filepath.Dir(real))}
	}
	return file, nil
}

func locate(name, dir string, path []string) (string, error) {
	notFound := func(format string, args ...any) (string, error) {
		return "", &exitError{code: exitNotFound, err: fmt.Errorf(format, args...)}
	}
	if name == "" {
		return notFound("the command's name is empty")
	}
	if !strings.Contains(name, "/") {
		for _, entry := range path {
			file := filepath.Join(physical(entry), name)
			if program(file) == nil {
				return file, nil
			}
		}
		if len(path) == 0 {
			return notFound("%s: command not found: PATH names no absolute directory", name)
		}
		return notFound("%s: command not found in PATH (%s)", name, strings.Join(path, ":"))
	}
	if !filepath.IsAbs(name) {
		name = dir + "/" + name
	}
	file := filepath.Join(physical(filepath.Dir(name)), filepath.Base(name))
	err := program(file)
	if errors.Is(err, fs.ErrNotExist) {
		return notFound("%s: no such file", name)
	}
	if err != nil {
		return "", &exitError{code: exitCannotExec, err: fmt.Errorf("%s: %w", name, err)}
	}
	return file, nil
}

// physical is dir without links, or dir itself where that is not known.
func physical(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// program reports why file is no program of this user.
func program(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() {
		return errors.New("is not a file")
	}
	if unix.Access(file, unix.X_OK) != nil {
		return errors.New("is not executable; chmod +x makes it so")
	}
	return nil
}
