package lookup_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Whatever a server sends in the place of a file, a client reads no more than a bound,
// and has no more than a multiple of it in memory. Not parallel: it counts allocations.
func TestLargestFiles(t *testing.T) {
	r := newRegistry(t)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	root, err := os.OpenRoot(r.dir)
	check(t, err)
	defer root.Close()
	var name string
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/"+name) {
			for range 4 { // and no end at the bound
				w.Write(body)
			}
			return
		}
		served{root}.ServeHTTP(w, q)
	}))
	defer server.Close()
	look := func() error {
		m := r.machine(t)
		c := m.config(r.dir)
		c.BaseURL = server.URL
		entry, err := m.open(c).Lookup(t.Context(), testPURL)
		if err != nil {
			return err
		}
		_, err = m.open(c).Bundle(t.Context(), entry)
		return err
	}
	if err := look(); err != nil {
		t.Fatal("control:", err)
	}
	const most = 5_000_000
	bundle, err := filepath.Rel(r.dir, bundlePath(r.dir, 1))
	check(t, err)
	for what, text := range map[string]string{
		"objects": `{"signed":{"_type":"timestamp","meta":{` + strings.Repeat(`"":{},`, most/6),
		"lists":   `{"signatures":[` + strings.Repeat(`{},`, most/3),
		"nesting": strings.Repeat(`{"signed":`, most/10),
		"noise":   strings.Repeat("x", most),
	} {
		body = []byte(text)
		for _, name = range []string{
			"timestamp.json", filepath.Base(newest(t, r.dir, "snapshot")), filepath.Base(newest(t, r.dir, "targets")),
			filepath.Base(newest(t, r.dir, "bin")), "2.root.json", filepath.ToSlash(bundle),
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := look()
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Errorf("%s as %s: accepted", what, name)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%s as %s: %d bytes allocated", what, name, used)
			}
		}
	}
}
