package lookup_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"steps.example/signer/registry/lookup"
)

// What the custom member of an entry is taken for is what a lenient parser reads too.
func FuzzParseCustom(f *testing.F) {
	sum := strings.Repeat("ab", 32)
	f.Add([]byte(`{"revision":7,"stepsRequired":true,"artifactSha256":"` + sum + `","payloadSha256":"` + sum + `"}`))
	f.Add([]byte(`{"revision":1,"Revision":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := lookup.ParseCustom(data)
		if err != nil {
			if c != (lookup.Custom{}) && c.Revision != 0 {
				t.Errorf("a value %+v came with the error", c)
			}
			return
		}
		var lenient lookup.Custom
		if err := json.Unmarshal(data, &lenient); err != nil || lenient != c || c.Revision < 1 {
			t.Errorf("%s: %+v, a lenient parser %+v, %v", data, c, lenient, err)
		}
	})
}

// Whatever a server sends in the place of any file, a client ends, and believes nothing
// that was not signed.
func FuzzServed(f *testing.F) {
	r := newRegistry(f)
	r.publish(testPURL, document("foo", "1.2.3", mkdir("a")))
	names := []string{"timestamp.json", filepath.Base(newest(f, r.dir, "snapshot")), filepath.Base(newest(f, r.dir, "targets")), filepath.Base(newest(f, r.dir, "bin")), "2.root.json"}
	for i, name := range names {
		data, err := os.ReadFile(filepath.Join(r.dir, "tuf", name))
		if err != nil {
			data, err = r.keys.Pinned, nil
		}
		check(f, err)
		f.Add(i, data)
		f.Add(i, []byte(strings.Replace(string(data), `"version":`, `"version":1`, 1)))
		f.Add(i, []byte(strings.Replace(string(data), `"meta":`, `"mata":`, 1)))
	}
	f.Add(0, []byte(`{"signed":{"_type":"timestamp"},"signatures":[]}`))
	root, err := os.OpenRoot(r.dir)
	check(f, err)
	defer root.Close()
	var name string
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/"+name) {
			w.Write(body)
			return
		}
		served{root}.ServeHTTP(w, q)
	}))
	defer server.Close()
	f.Fuzz(func(t *testing.T, file int, data []byte) {
		name, body = names[uint(file)%uint(len(names))], data
		m := r.machine(t)
		c := m.config(r.dir)
		c.BaseURL = server.URL
		entry, err := m.open(c).Lookup(t.Context(), testPURL)
		if err == nil && (entry.Revision != 1 || entry.ArtifactSHA256 != artifact(testPURL)) {
			t.Errorf("believed %s of %q: %+v", name, data, entry)
		}
	})
}
