package crash

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// fate is what becomes of file content that was not synced.
type fate int

const (
	kept fate = iota
	lost
	torn   // half of what is new is there
	zeroed // half of it, and zeros for the rest
	fates
)

func (f fate) String() string { return [...]string{"kept", "lost", "torn", "zeroed"}[f] }

// loss is one of the outcomes that a power failure may have.
type loss struct {
	// keep is how many of the changes of names and attributes that are not durable
	// stay, for each file system, in the order of their devices; -1 for all.
	keep []int
	// journal is the fate of journals, others that of all other contents; mixed
	// chooses for each file by the seed.
	journal, others fate
	mixed           bool
	seed            uint64
}

func (l loss) String() string {
	var keep []string
	for _, k := range l.keep {
		if k < 0 {
			keep = append(keep, "all")
		} else {
			keep = append(keep, fmt.Sprint(k))
		}
	}
	if l.mixed {
		return fmt.Sprintf("names kept: %s; contents: some", strings.Join(keep, ", "))
	}
	return fmt.Sprintf("names kept: %s; journal %v, other contents %v", strings.Join(keep, ", "), l.journal, l.others)
}

// shape is what there is to lose.
type shape struct {
	names    []int // not durable, for each file system
	journals bool  // a journal has content that is not durable
	others   bool  // another file does
}

func (d *disk) devices() []uint64 { return slices.Sorted(maps.Keys(d.graves)) }

func (d *disk) shape() shape {
	var s shape
	for _, dev := range d.devices() {
		s.names = append(s.names, d.names(dev))
	}
	for _, f := range d.dirty {
		if f.name == journal {
			s.journals = true
		} else {
			s.others = true
		}
	}
	return s
}

const journal = "journal"

// fail is the power failure. Afterwards the disk is as it then is, all of it
// durable.
func (d *disk) fail(l loss) error {
	keep := map[uint64]int{}
	for i, dev := range d.devices() {
		keep[dev] = -1
		if i < len(l.keep) {
			keep[dev] = l.keep[i]
		}
	}
	// Contents first: a file that is then taken back does not matter.
	for id, f := range d.dirty {
		if err := f.lose(l.fateOf(f), keep[id.dev]); err != nil {
			return fmt.Errorf("lose content of %s: %w", f.name, err)
		}
	}
	here := map[uint64]int{}
	gone := make([]bool, len(d.ops))
	for i, o := range d.ops {
		gone[i] = keep[o.dev] >= 0 && here[o.dev] >= keep[o.dev]
		here[o.dev]++
	}
	for i := len(d.ops) - 1; i >= 0; i-- {
		if !gone[i] {
			continue
		}
		if err := d.ops[i].undo(); err != nil {
			return fmt.Errorf("take back %s: %w", d.ops[i].what, err)
		}
	}
	return d.forget(func(uint64) bool { return true })
}

func (l loss) fateOf(f *content) fate {
	switch {
	case l.mixed:
		h := fnv.New64a()
		fmt.Fprint(h, l.seed, f.name)
		return fate(h.Sum64() % uint64(fates))
	case f.name == journal:
		return l.journal
	}
	return l.others
}

// lose gives a file the content that is left of it, where so many changes of names
// are kept, -1 for all. Its time stays.
func (f *content) lose(how fate, names int) error {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return err
	}
	now := make([]byte, st.Size)
	if _, err := unix.Pread(f.fd, now, 0); err != nil {
		return err
	}
	longest := int64(len(f.durable))
	for _, g := range f.grown {
		if names < 0 || g.names <= names {
			longest = max(longest, g.size)
		}
	}
	now = now[:min(longest, st.Size)]
	left := f.durable
	switch how {
	case kept:
		left = now
	case torn, zeroed:
		same := 0
		for same < len(now) && same < len(f.durable) && now[same] == f.durable[same] {
			same++
		}
		half := same + (len(now)-same)/2
		left = bytes.Clone(now[:half])
		if how == zeroed {
			left = append(left, make([]byte, len(now)-half)...)
		}
	}
	if err := unix.Ftruncate(f.fd, 0); err != nil {
		return err
	}
	if len(left) > 0 {
		if _, err := unix.Pwrite(f.fd, left, 0); err != nil {
			return err
		}
	}
	return errors.Join(unix.Ftruncate(f.fd, int64(len(left))), setTime(f.fd, st.Mtim))
}
