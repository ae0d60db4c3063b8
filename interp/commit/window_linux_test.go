package commit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"steps.example/interp/changeset"
)

// meddle is what somebody does to what is at a path.
type meddle func(path string) error

func writeTo(path string) error { return os.WriteFile(path, []byte("X"), 0) }

// replace puts an equal one there, with the same time.
func replace(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	return errors.Join(err, os.Rename(path, path+".theirs"), os.WriteFile(path, data, 0o644),
		os.Chtimes(path, info.ModTime(), info.ModTime()))
}

func replaceDir(path string) error {
	return errors.Join(os.Rename(path, path+".theirs"), os.Mkdir(path, 0o755))
}

func linkInstead(path string) error {
	return errors.Join(os.Rename(path, path+".theirs"), os.Symlink(path+".theirs", path))
}

// in does it to something in the directory.
func (m meddle) in(name string) meddle {
	return func(path string) error { return m(path + "/" + name) }
}

// windowCases are places between two looks at one object, and what changes it there.
var windowCases = []struct {
	between string
	flow    func(t *testing.T, b bed, s *Store) error
	meddle  map[string]meddle
}{
	{"taken and checked", withoutDir, map[string]meddle{
		"file in it written to": meddle(writeTo).in("f"), "file in it replaced": meddle(replace).in("f"),
		"file in it gone": meddle(os.Remove).in("f"), "a link in its place": linkInstead,
	}},
	{"looked at and entered", withoutDir, map[string]meddle{"a link in its place": linkInstead}},
	{"surveyed and hashed", underSnapshot, map[string]meddle{"written to": writeTo, "replaced": replace}},
	{"looked at and opened", underSnapshot, map[string]meddle{"written to": writeTo, "replaced": replace}},
	{"hashed and looked at", underSnapshot, map[string]meddle{"written to": writeTo}},
	{"hashed and looked at", keptHash, map[string]meddle{"written to": writeTo}},
	{"taken back and stamped", underSnapshot, map[string]meddle{"made another's to read": func(path string) error { return os.Chmod(path, 0o604) }}},
	{"set aside and stamped", underSnapshot, map[string]meddle{"written to": writeTo, "replaced": replace}},
	{"made and held", underSnapshot, map[string]meddle{"replaced": replaceDir, "a link in its place": linkInstead}},
	{"looked at and copied", underSnapshot, map[string]meddle{"written to": writeTo, "replaced": replace}},
	{"copied and looked at", underSnapshot, map[string]meddle{"written to": writeTo}},
	{"staged and looked at", withCopy, map[string]meddle{"written to": writeTo}},
	{"looked at and loosened", inLayer, map[string]meddle{"replaced": replaceDir}},
	{"looked at and asked for marks", inLayer, map[string]meddle{"replaced": replaceDir}},
	{"looked at and emptied", inLayer, map[string]meddle{"replaced": replaceDir, "a link in its place": linkInstead}},
}

// TestWindows: what changes between two looks at it is noticed, and not taken for what
// was looked at first. Without that all goes well.
func TestWindows(t *testing.T) {
	for _, tc := range windowCases {
		tc.meddle[""] = nil
		for how, meddle := range tc.meddle {
			t.Run(tc.between+"/"+how, func(t *testing.T) {
				t.Parallel()
				b := newBed(t, parse(t, `
					f 0644 f
					g 0644 g
					d/ 0755
					d/f 0644 f
					d/g 0644 g
					d/e/ 0755`))
				s := b.open(t)
				s.disk.noSync = true
				hit := 0
				s.disk.window = func(between string, dir int, name string) {
					if between != tc.between {
						return
					}
					if hit++; hit > 1 || meddle == nil {
						return
					}
					path := name
					if dir != unix.AT_FDCWD {
						at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir))
						if err != nil {
							t.Error(err)
						}
						path = filepath.Join(at, name)
					}
					if err := meddle(path); err != nil {
						t.Error(err)
					}
				}
				err := tc.flow(t, b, s)
				switch {
				case hit == 0:
					t.Error("nothing comes by there")
				case meddle == nil && err != nil:
					t.Errorf("undisturbed: %v", err)
				case meddle != nil && !errors.Is(err, ErrMoved) && !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.ENOTDIR):
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

func withoutDir(t *testing.T, b bed, s *Store) error {
	before := parse(t, `
		f 0644 f
		g 0644 g
		d/ 0755
		d/f 0644 f
		d/g 0644 g
		d/e/ 0755`)
	for p, o := range before {
		o.orig = p
	}
	after := before.clone()
	after.remove("d")
	_, err := b.apply(t, s, derive(t, b.root, before, after))
	return err
}

func withCopy(t *testing.T, b bed, s *Store) error {
	st, err := openSet(t, b.root).Lstat(b.root + "/f")
	if err != nil {
		t.Fatal(err)
	}
	state := st.State()
	_, err = b.apply(t, s, &changeset.Changeset{Changes: []changeset.Change{{
		Path: b.root + "/copy", After: state, Content: &changeset.Content{Origin: &changeset.Origin{Path: b.root + "/f", Stamp: st}},
	}}})
	return err
}

// underSnapshot has a command change a file and removes another, under a snapshot.
func underSnapshot(t *testing.T, b bed, s *Store) error {
	tx, err := s.Begin(openSet(t, b.root), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Snapshot([]string{b.root}); err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(b.root+"/f", []byte("by the command"), 0o644), os.Remove(b.root+"/g")); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Capture(); err != nil {
		return err
	}
	return tx.Rollback()
}

// inLayer has a command change a directory in a layer, and close it.
func inLayer(t *testing.T, b bed, s *Store) error {
	needWhiteouts(t)
	tx, l := beginLayers(t, b, s)
	if err := errors.Join(os.Mkdir(l.Upper+"/d", 0o755), os.WriteFile(l.Upper+"/d/f", []byte("by the command"), 0o644), os.Chmod(l.Upper+"/d", 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.CaptureLayers(); err != nil {
		return err
	}
	return tx.Rollback()
}

// keptHash hashes what a receipt keeps.
func keptHash(t *testing.T, b bed, s *Store) error {
	was, err := openSet(t, b.root).Lstat(b.root + "/d/f")
	if err == nil {
		err = withoutDir(t, b, s)
	}
	all, err2 := s.Receipts()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	tx, err := s.Begin(openSet(t, b.root), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	kept, err := tx.Keep(all)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := kept.Content(b.root+"/d/f", was)
	if !ok {
		t.Fatal("it is not kept")
	}
	_, err = tx.Hash(c)
	return err
}

// What a receipt keeps is given only as what it was, and up to the size asked for.
func TestKeptIsChecked(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{"": nil, "written to": writeTo, "replaced": replace} {
		before := parse(t, `f 0644 text`)
		b := newBed(t, before)
		after := before.clone()
		after.remove("f")
		was, err := openSet(t, b.root).Lstat(b.root + "/f")
		if err != nil {
			t.Fatal(err)
		}
		s := b.open(t)
		id, err := b.apply(t, s, derive(t, b.root, before, after))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Receipt(id)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := s.Begin(openSet(t, b.root), Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		kept, err := tx.Keep([]*Receipt{r})
		if err != nil {
			t.Fatal(err)
		}
		c, ok := kept.Content(b.root+"/f", was)
		if !ok {
			t.Fatal("it is not kept")
		}
		if spoil != nil {
			if err := spoil(c.Origin.Path); err != nil {
				t.Fatal(err)
			}
			if _, ok := kept.Content(b.root+"/f", was); ok && name == "written to" {
				t.Errorf("%s: it is still given", name)
			}
		}
		data, err := tx.Read(c, 100)
		_, err2 := tx.Hash(c)
		if spoil == nil && (string(data) != "text" || err != nil || err2 != nil) {
			t.Errorf("%q, %v, %v", data, err, err2)
		}
		if spoil != nil && (!errors.Is(err, ErrMoved) || !errors.Is(err2, ErrMoved)) {
			t.Errorf("%s: read: %v, hash: %v", name, err, err2)
		}
		if _, err := tx.Read(c, 1); spoil == nil && (err == nil || !strings.Contains(err.Error(), "more than 1")) {
			t.Errorf("more than asked for: %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}
