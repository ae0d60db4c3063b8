package crash

import (
	"context"
	"flag"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"steps.example/interp/commit"
)

// syncOf names what in package commit a sync is for: the function that wants it, and
// whether it is of other file systems than the store's.
func syncOf() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	others := ""
	for {
		f, more := frames.Next()
		if rest, ok := strings.CutPrefix(f.Function, "steps.example/interp/commit."); ok {
			name := rest[strings.LastIndex(rest, ".")+1:]
			switch {
			case name == "syncOthers":
				others = " (others)"
			case strings.HasPrefix(rest, "(*disk)"), name == "syncSlots", name == "durable", name == "record":
			default:
				return name + others
			}
		}
		if !more {
			return "?"
		}
	}
}

// syncs are the syncs of package commit, and a scene that notices when one is left
// out.
var syncs = map[string]string{
	"begin":             "file where a directory was",
	"begin (others)":    "tree and home",
	"snap":              "init_data_dir",
	"snap (others)":     "init_data_dir",
	"capture":           "init_data_dir",
	"takeBack":          "undo",
	"takeBack (others)": "undo",
	"rollForward":       "file where a directory was",
	"commit":            "file where a directory was",
	"commit (others)":   "tree and home",
	"undo":              "undo of a command",
	"finishUp":          "undo",
	"makeSlotDir":       "tree and home",
	"discard (others)":  "undo",
	"cutTail":           "write new",
	"NotePartner":       "broker",
}

// without are syncs that no scene misses, and why they are there.
var without = map[string]string{
	"markBegun":            "the mark tells a damaged journal from a torn one, and none is damaged here",
	"undo (others)":        "it is the first thing of an undo, and all there was durable before",
	"rollForward (others)": "the commit record is written when all there is durable; only an undo that was given up leaves more to do",
	"finishUp (others)":    "the records that it finds are written when all there is durable",
}

var allSyncs = flag.Bool("syncs", false, "take every sync away in TestEverySync, which takes a minute, and not some")

// someSyncs are those that TestEverySync takes away unless it is told otherwise.
var someSyncs = []string{"begin", "commit", "takeBack", "makeSlotDir"}

// TestEverySync takes each sync of package commit away in turn: the suite must
// notice.
func TestEverySync(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the sample many times")
	}
	var unknown sync.Map
	for want, pick := range syncs {
		if !*allSyncs && !slices.Contains(someSyncs, want) {
			continue
		}
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var done atomic.Bool
			noticed := false
			// What matters only where the power fails twice is not in the sample.
			o := Options{Pick: []string{pick}, Short: want != "cutTail", Thorough: want == "cutTail", apart: strings.HasSuffix(want, "(others)")}
			o.swallow = func(commit.Call) bool {
				got := syncOf()
				if syncs[got] == "" && without[got] == "" {
					if _, told := unknown.LoadOrStore(got, true); !told {
						t.Errorf("no table has %s", got)
					}
				}
				if got == want {
					done.Store(true)
				}
				return got == want
			}
			sum, err := Run(ctx, o, func(r Result) {
				if r.Failed > 0 {
					noticed = true
					cancel()
				}
			})
			if err != nil && !noticed {
				t.Fatal(err)
			}
			if sum.Skipped > 0 && sum.Points == 0 {
				t.Skip("needs two writable file systems")
			}
			if !done.Load() {
				t.Error("the scene does not come by it")
			} else if !noticed {
				t.Errorf("in %d points nothing is wrong without it", sum.Points)
			}
		})
	}
}
