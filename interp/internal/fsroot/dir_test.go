package fsroot

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// root opens the root r of a tree.
func root(t testing.TB, lines ...string) (*Dir, string) {
	t.Helper()
	dir := tree(t, append([]string{"r/"}, lines...)...)
	s := openSet(t, filepath.Join(dir, "r"))
	return s.roots[0].dir, dir
}

func TestOpenTakesRegularFilesOnly(t *testing.T) {
	t.Parallel()
	d, _ := root(t, "r/f=abc", "r/d/", "r/l -> f", "r/out -> ../secret", "secret=s", "r/p|", "r/null -> /dev/null")
	f, st, err := d.Open("f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, err := io.ReadAll(f); string(data) != "abc" || err != nil || st.Size != 3 || st.Kind() != changeset.File {
		t.Errorf("read %q, %v, stamp %+v", data, err, st)
	}
	for name, want := range map[string]error{
		"d": errNotRegular, "p": errNotRegular, "l": unix.ELOOP, "out": unix.ELOOP, "null": unix.ELOOP, "none": unix.ENOENT,
	} {
		if _, _, err := d.Open(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if _, _, err := d.ReadFile(name, 10); !errors.Is(err, want) {
			t.Errorf("reading %s: %v, want %v", name, err, want)
		}
	}
}

// TestFIFODoesNotHang: nobody writes to the FIFO, so a plain open would wait
// for ever.
func TestFIFODoesNotHang(t *testing.T) {
	t.Parallel()
	d, _ := root(t, "r/p|")
	done := make(chan error, 1)
	go func() {
		_, _, err := d.Open("p")
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, errNotRegular) {
			t.Errorf("error %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("still waiting for a writer")
	}
}

func TestReadFileLimit(t *testing.T) {
	t.Parallel()
	d, _ := root(t, "r/empty=", "r/ten=0123456789")
	for _, tc := range []struct {
		name string
		max  int64
		want string
		err  error
	}{
		{"ten", 11, "0123456789", nil},
		{"ten", 10, "0123456789", nil},
		{"ten", 9, "", errTooLarge},
		{"ten", 0, "", errTooLarge},
		{"empty", 0, "", nil},
		{"ten", math.MaxInt64, "0123456789", nil},
	} {
		data, st, err := d.ReadFile(tc.name, tc.max)
		if !errors.Is(err, tc.err) || string(data) != tc.want || st.Kind() != changeset.File {
			t.Errorf("%s up to %d: %q, %v", tc.name, tc.max, data, err)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	d, dir := root(t, "r/a/below/", "r/b=x", "r/c -> nowhere", "r/.hidden=x", "r/p|")
	want := []string{".hidden", "a", "b", "c", "p"}
	for i := range 300 {
		name := fmt.Sprintf("n%03d", i)
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(dir, "r", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	for range 2 { // a listing leaves no position behind
		got, err := d.Names()
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v", got, err)
		}
	}
	empty := tree(t, "r/")
	if got, err := openSet(t, filepath.Join(empty, "r")).roots[0].dir.Names(); err != nil || len(got) != 0 {
		t.Errorf("an empty directory: %q, %v", got, err)
	}
}

func TestReadlink(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long/", 200)
	odd := "a\n\xffb"
	d, dir := root(t, "r/f=x", "r/l -> ../x", "r/long -> "+long)
	if err := os.Symlink(odd, filepath.Join(dir, "r/odd")); err != nil {
		t.Skipf("this file system takes no link text that is not UTF-8: %v", err)
	}
	for name, want := range map[string]string{"l": "../x", "long": long, "odd": odd} {
		if got, err := d.Readlink(name); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := d.Readlink("f"); !errors.Is(err, unix.EINVAL) {
		t.Errorf("a file: %v", err)
	}
	if _, err := d.Readlink("none"); !IsMissing(err) {
		t.Errorf("nothing: %v", err)
	}
}
