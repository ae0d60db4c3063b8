package filemode

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// randomSpec builds mostly valid operands.
func randomSpec(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return fmt.Sprintf("%0*o", 1+r.IntN(6), r.IntN(0o10000))
	}
	from := func(letters string, most int) string {
		var s strings.Builder
		for range r.IntN(most + 1) {
			s.WriteByte(letters[r.IntN(len(letters))])
		}
		return s.String()
	}
	var clauses []string
	for range 1 + r.IntN(3) {
		clause := from("ugoa", 2)
		for range 1 + r.IntN(2) {
			clause += string("+-="[r.IntN(3)])
			switch r.IntN(8) {
			case 0:
				clause += string("ugo"[r.IntN(3)])
			case 1:
				clause += fmt.Sprintf("%o", r.IntN(0o10000))
			default:
				clause += from("rwxXst", 3)
			}
		}
		clauses = append(clauses, clause)
	}
	spec := strings.Join(clauses, ",")
	if r.IntN(20) == 0 {
		at := r.IntN(len(spec) + 1)
		spec = spec[:at] + from("89zu,+ 7", 2) + spec[at:]
	}
	return spec
}

// TestAgainstChmod compares with the chmod of this machine, on files of its own,
// for which no privileges are needed.
func TestAgainstChmod(t *testing.T) {
	t.Parallel()
	chmod, err := exec.LookPath("chmod")
	if err != nil {
		t.Skip("no chmod on this machine")
	}
	if out, err := exec.Command(chmod, "--version").Output(); err != nil || !bytes.Contains(out, []byte("GNU")) {
		t.Skip("the chmod of this machine is not GNU's")
	}
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "file"), filepath.Join(dir, "folder")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	rejected := 0
	for range 800 {
		spec, old, umask := randomSpec(r), uint32(r.IntN(0o10000)), uint32(r.IntN(0o1000))
		path, isDir := file, r.IntN(2) == 0
		if isDir {
			path = folder
		}
		if err := syscall.Chmod(path, old); err != nil {
			t.Fatal(err)
		}
		start := stat(t, path) // the kernel may drop set-ID bits
		script := fmt.Sprintf(`umask %04o && exec "$1" -- "$2" "$3"`, umask)
		runErr := exec.Command("/bin/sh", "-c", script, "sh", chmod, spec, path).Run()
		m, err := Parse(spec)
		if (err == nil) != (runErr == nil) {
			t.Errorf("%q: Parse says %v, chmod %v", spec, err, runErr)
			continue
		}
		if err != nil {
			rejected++
			continue
		}
		if got, want := m.Apply(start, isDir, umask), stat(t, path); got != want {
			t.Errorf("%q on %#o, dir %v, umask %#o: got %#o, chmod %#o", spec, start, isDir, umask, got, want)
		}
	}
	t.Logf("%d of 800 operands were invalid", rejected)
}

func stat(t *testing.T, path string) uint32 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return uint32(st.Mode) & allBits
}
