package commit

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"steps.example/interp/changeset"
)

// fataler is a test, or a drawn one.
type fataler interface {
	Helper()
	Fatal(...any)
}

// putReceipt stores a receipt as a settled transaction has it.
func putReceipt(t fataler, s *Store, r *Receipt) {
	t.Helper()
	r.Version = receiptVersion
	data, err := encodeReceipt(r, maxReceipt)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.path, receiptsDir, r.ID)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, receiptName), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func dropReceipt(t fataler, s *Store, id string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.path, receiptsDir, id)); err != nil {
		t.Fatal(err)
	}
}

func receiptID(n int) string { return newID(time.Unix(1_800_000_000, int64(n))) }

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := OpenStore(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// owners reads them as a transaction does, with the lock.
func owners(t fataler, s *Store) *Owners {
	t.Helper()
	if err := s.acquire(""); err != nil {
		t.Fatal(err)
	}
	defer s.unlock()
	o, err := s.Owners()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func fileState(content string) *changeset.State {
	return &changeset.State{Kind: changeset.File, Mode: 0o644, Size: int64(len(content)), SHA256: hashHex([]byte(content))}
}

func receipt(n int, pkg string, changes ...changeset.Change) *Receipt {
	return &Receipt{
		ID: receiptID(n), Layout: "generic", Package: Package{Name: pkg, Version: "1"},
		Roots: []string{"/r"}, Changeset: &changeset.Changeset{Changes: changes},
	}
}

func TestOwnersOf(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	dir := &changeset.State{Kind: changeset.Dir, Mode: 0o755}
	x, y := fileState("x"), fileState("y")
	mode := *x
	mode.Mode, mode.SHA256 = 0o600, ""
	touched := *y
	touched.SHA256 = ""
	putReceipt(t, s, receipt(1, "a",
		changeset.Change{Path: "/r/d", After: dir},
		changeset.Change{Path: "/r/d/x", After: x},
		changeset.Change{Path: "/r/d/z", After: x},
		changeset.Change{Path: "/r/user", Before: &touched, After: &touched},
		changeset.Change{Path: "/r/m", After: x}))
	putReceipt(t, s, receipt(2, "b",
		changeset.Change{Path: "/r/d/y", After: y},
		changeset.Change{Path: "/r/d/z", Before: x, After: y},
		changeset.Change{Path: "/r/m", Before: x}, changeset.Change{Path: "/r/n", After: x, From: "/r/m"}))
	r := receipt(3, "a", changeset.Change{Path: "/r/d/x", Before: &changeset.State{Kind: changeset.File, Mode: 0o644, Size: 1}, After: &mode})
	r.Bases = []Base{{Path: "/r/d/y", SHA256: x.SHA256, Held: true}}
	r.Adopted = []Adopted{{Path: "/r/given", State: y}}
	putReceipt(t, s, r)

	for pass, o := range []*Owners{owners(t, s), owners(t, s)} {
		if known := o.file.count > 0; known != (pass > 0) {
			t.Fatalf("pass %d: from the file is %v", pass, known)
		}
		for path, want := range map[string]string{
			"/r/d": "a 1 made", "/r/d/x": "a 3 made", "/r/d/y": "b 2 made", "/r/d/z": "b 2 made",
			"/r/user": "a 1", "/r/m": "", "/r/n": "b 2 made", "/r/given": "a 3 made",
			"/r": "", "/r/d/": "", "/r/nothing": "",
		} {
			got := ""
			if owner, ok := o.Of(path); ok {
				for n := 1; n <= 3; n++ {
					if owner.Receipt == receiptID(n) {
						got = fmt.Sprint(owner.Package.Name, " ", n)
					}
				}
				if owner.Made {
					got += " made"
				}
			}
			if got != want {
				t.Errorf("pass %d: %s is of %q, want %q", pass, path, got, want)
			}
		}
		if owner, _ := o.Of("/r/d/x"); owner.State.SHA256 != x.SHA256 || owner.State.Mode != 0o600 {
			t.Errorf("a new mode lost the hash: %+v", owner.State)
		}
		if n := o.Shared("/r/d"); n != 2 {
			t.Errorf("%d packages use /r/d", n)
		}
		if n := o.Shared("/r/none"); n != 0 {
			t.Errorf("%d packages use /r/none", n)
		}
		if b, by, ok := o.Base("/r/d/y", Identity{"generic", "a"}); !ok || by != receiptID(3) || !b.Held || b.SHA256 != x.SHA256 {
			t.Errorf("base %+v of %s", b, by)
		}
		if _, _, ok := o.Base("/r/d/y", Identity{"generic", "b"}); ok {
			t.Error("a base is another package's as well")
		}
	}
}

// model of the same, for [TestOwnersReplay].
type replayed struct {
	Pkg, Receipt string
	Made         bool
	State        changeset.State
}

func replay(receipts map[string]*Receipt) map[string]replayed {
	m := map[string]replayed{}
	for _, id := range installed(receipts) {
		r := receipts[id]
		for _, c := range r.Changeset.Changes {
			if c.After == nil {
				delete(m, c.Path)
				continue
			}
			now := replayed{r.Package.Name, id, true, *c.After}
			if was, ok := m[c.Path]; c.KeepsObject() {
				now.Made = ok && was.Made && was.Pkg == now.Pkg
				if ok && now.State.Kind == changeset.File && now.State.SHA256 == "" && was.State.Kind == changeset.File && was.State.Size == now.State.Size {
					now.State.SHA256 = was.State.SHA256
				}
			}
			m[c.Path] = now
		}
	}
	return m
}

// TestOwnersReplay: whatever receipts come and go, with the file old, new, missing
// or damaged, the owners are what a replay of the receipts gives.
func TestOwnersReplay(t *testing.T) {
	t.Parallel()
	scratch := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		s, err := OpenStore(filepath.Join(scratch, fmt.Sprint(n)))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		paths := []string{"/r/a", "/r/a-b", "/r/a/b", "/r/a/b/c", "/r/b", "/r/é"}
		there, away := map[string]*Receipt{}, map[string]*Receipt{}
		for i := range rapid.IntRange(1, 12).Draw(t, "rounds") {
			switch rapid.IntRange(0, 9).Draw(t, "act") {
			case 0, 1:
				if len(there) > 0 {
					id := rapid.SampledFrom(slices.Sorted(maps.Keys(there))).Draw(t, "drop")
					dropReceipt(t, s, id)
					away[id] = there[id]
					delete(there, id)
				}
			case 2:
				if len(away) > 0 {
					id := rapid.SampledFrom(slices.Sorted(maps.Keys(away))).Draw(t, "back")
					putReceipt(t, s, away[id])
					there[id] = away[id]
					delete(away, id)
				}
			case 3:
				damage(t, filepath.Join(s.path, ownersName))
			default:
				r := drawReceipt(t, i, paths)
				putReceipt(t, s, r)
				there[r.ID] = r
			}
			if rapid.Bool().Draw(t, "look") {
				sameOwners(t, s, there, paths)
			}
		}
		sameOwners(t, s, there, paths)
		sameOwners(t, s, there, paths)
	})
}

// installed are the receipts of what is installed, by looking ahead: what no
// uninstallation ends, of the version itself or of one that it was upgraded to.
func installed(receipts map[string]*Receipt) []string {
	ids := slices.Sorted(maps.Keys(receipts))
	var live []string
	for i, id := range ids {
		r := receipts[id]
		now, ended := r.Package, r.Action == ActionUninstall || r.Action == ActionTrigger
		for _, later := range ids[i+1:] {
			l := receipts[later]
			switch {
			case ended || l.Action == ActionTrigger:
			case l.Action == ActionUninstall && l.Package == now:
				ended = true
			case l.Action == ActionUpgrade && *l.Replaces == now:
				now = l.Package
			}
		}
		if !ended {
			live = append(live, id)
		}
	}
	return live
}

func drawReceipt(t *rapid.T, i int, paths []string) *Receipt {
	var changes []changeset.Change
	for _, p := range paths {
		state := func() *changeset.State {
			return rapid.SampledFrom([]*changeset.State{
				nil, fileState("x"), fileState("y"), {Kind: changeset.File, Mode: 0o600, Size: 1},
				{Kind: changeset.Dir, Mode: 0o755, UID: -1, GID: 1000}, {Kind: changeset.Symlink, Target: "../x"},
			}).Draw(t, "state")
		}
		if before, after := state(), state(); rapid.Bool().Draw(t, "changes") && (before != nil || after != nil) {
			changes = append(changes, changeset.Change{Path: p, Before: before, After: after})
		}
	}
	r := receipt(i+1, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "package"), changes...)
	version := rapid.SampledFrom([]string{"1", "1", "2"})
	r.Package.Version = version.Draw(t, "version")
	r.Action = rapid.SampledFrom([]string{"", "", "", ActionRepair, ActionUninstall, ActionUpgrade, ActionTrigger}).Draw(t, "action")
	if r.Action == ActionUpgrade {
		r.Replaces = &Package{r.Package.Name, version.Draw(t, "replaced")}
	}
	return r
}

// damage spoils a file in one of several ways.
func damage(t *rapid.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return
	}
	switch rapid.IntRange(0, 3).Draw(t, "damage") {
	case 0:
		data = data[:rapid.IntRange(0, len(data)-1).Draw(t, "cut")]
	case 1:
		data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	case 2:
		data = append(data, 0)
	default:
		_ = os.Remove(path)
		return
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func sameOwners(t *rapid.T, s *Store, receipts map[string]*Receipt, paths []string) {
	o := owners(t, s)
	want, got := replay(receipts), map[string]replayed{}
	for _, p := range paths {
		if owner, ok := o.Of(p); ok {
			got[p] = replayed{owner.Package.Name, owner.Receipt, owner.Made, *owner.State}
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	for _, dir := range paths {
		users := map[string]bool{}
		for p, r := range want {
			if changeset.Within(p, dir) {
				users[r.Pkg] = true
			}
		}
		if n := o.Shared(dir); n != len(users) {
			t.Fatalf("%s: %d packages use it, want %d", dir, n, len(users))
		}
	}
}

// An owners' file that was put there, or a receipt that cannot be read, is not
// taken for the truth.
func TestOwnersDistrust(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	putReceipt(t, s, receipt(1, "a", changeset.Change{Path: "/r/x", After: fileState("x")}))
	owners(t, s)
	path := filepath.Join(s.path, ownersName)
	// A receipt that changed in place has another stamp.
	dropReceipt(t, s, receiptID(1))
	putReceipt(t, s, receipt(1, "b", changeset.Change{Path: "/r/x", After: fileState("x")}))
	if owner, _ := owners(t, s).Of("/r/x"); owner.Package.Name != "b" {
		t.Errorf("x is of %q", owner.Package.Name)
	}
	for _, put := range []func() error{
		func() error { return os.Symlink("/etc/passwd", path) },
		func() error { return os.Mkdir(path, 0o700) },
		func() error { return os.WriteFile(path, []byte(ownerMagic+"\x00\x00\x00\x00"), 0o600) },
	} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if owner, ok := owners(t, s).Of("/r/x"); !ok || owner.Package.Name != "b" {
			t.Errorf("x is of %q", owner.Package.Name)
		}
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	// Without the lock nothing is written.
	if _, err := s.Owners(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Error("the file was written without the lock")
	}
	if err := os.WriteFile(filepath.Join(s.path, receiptsDir, receiptID(1), receiptName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Owners(); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged receipt: %v", err)
	}
}

func FuzzOwners(f *testing.F) {
	o := &Owners{late: map[string][]ownerRecord{}}
	f.Add(o.encode())
	by := &ownerReceipt{act: act{id: receiptID(1), pkg: Package{"a", "1"}, layout: "npm"}}
	o.fresh = []*ownerReceipt{by}
	o.late["/a"] = []ownerRecord{{by: by, what: recordPut, state: fileState("x")}, {by: by, what: recordBase, base: Base{SHA256: hashHex(nil), Held: true}}}
	o.late["/b"] = []ownerRecord{{by: by, what: recordGone}}
	f.Add(o.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := decodeOwners(data)
		if err != nil {
			// What the check sum keeps out is looked at as well.
			file, err = decodeOwners(withSum(data))
		}
		if err != nil {
			return
		}
		o := &Owners{file: file, gone: make([]bool, len(file.receipts)), late: map[string][]ownerRecord{}}
		for i := range file.count {
			p, _, _, _ := file.record(i)
			o.Of(p)
			o.Shared(p)
		}
		whole := 0
		for i := range file.count {
			if _, _, _, ok := file.record(i); ok {
				whole++
			}
		}
		out := o.encode()
		if whole < file.count && out == nil {
			return
		}
		again, err := decodeOwners(out)
		if err != nil || again.count != whole {
			t.Fatalf("%d records became %d: %v", whole, again.count, err)
		}
	})
}

// BenchmarkOwners is what a transaction spends on knowing whose the paths are, in
// a store with 1,000 receipts of 100 paths: with the file as the last one left it,
// with one receipt more, with the newest or the oldest one gone, and without it.
func BenchmarkOwners(b *testing.B) {
	s := newStore(b)
	const receipts, paths = 1000, 100
	make := func(n int) {
		var changes []changeset.Change
		for i := range paths {
			changes = append(changes, changeset.Change{
				Path: fmt.Sprintf("/opt/prefix/share/package-%04d/files/file-%03d.conf", n, i), After: fileState(fmt.Sprint(i)), Steps: []int{i},
			})
		}
		putReceipt(b, s, receipt(n, fmt.Sprintf("package-%04d", n), changes...))
	}
	for n := range receipts {
		make(n + 1)
	}
	owners(b, s)
	file := filepath.Join(s.path, ownersName)
	saved, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("owners' file: %d bytes", len(saved))
	run := func(name string) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				if err := os.WriteFile(file, saved, 0o600); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				o := owners(b, s)
				for i := range paths {
					o.Of(fmt.Sprintf("/opt/prefix/share/package-0500/files/file-%03d.conf", i))
				}
			}
		})
	}
	run("fresh")
	make(receipts + 1)
	run("one more")
	dropReceipt(b, s, receiptID(receipts+1))
	dropReceipt(b, s, receiptID(receipts))
	run("newest gone")
	dropReceipt(b, s, receiptID(1))
	run("oldest gone")
	saved = nil
	run("rebuilt")
}

// withSum gives data the check sum that it should have.
func withSum(data []byte) []byte {
	head := len(ownerMagic) + 4
	if len(data) < head {
		return data
	}
	out := slices.Clone(data)
	binary.LittleEndian.PutUint32(out[len(ownerMagic):], crc32.Checksum(out[head:], castagnoli))
	return out
}
