package steps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var fuzzSeeds = []string{
	native(`{"type":"write","path":{"base":"etc","path":"a/../b"},"content":"\u00e9\\","overwrite":false,"guards":[{"condition":"if_exists","id":"1","path":"/a{b,c}"}]}`),
	native(`{"type":"run","command":"a","args":["x",""],"env":{"A":"b"},"writable_paths":["~/a"],"sudo":true}`, `{"type":"gdk_pixbuf_query_loaders"}`),
	`{"schema":1,"layout":"homebrew-cask","name":"a","preflight_steps":[[{"type":"warn","message":"a"}],[]]}`,
	`{"name":"a","versions":{"stable":"1"},"revision":2,"post_install_steps":[{"type":"terminate_process","name":"x","attempts":3,"notices":["a"]}],"x":[[{}]]}`,
	`{"token":"a","artifacts":[[":preflight_steps",{":steps":[{":type":":symlink",":source":{":base":":relative",":path":"..\/a"},":target":"\\:b"}]}],{"app":null}]}`,
}

// Decode never panics, and what it accepts survives encoding.
func FuzzDecode(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := Decode(data, Limits{Bytes: 1 << 16, Depth: 16, Steps: 100})
		if (doc == nil) != (err != nil) {
			t.Fatalf("document %v, error %v", doc, err)
		}
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		text, err := doc.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(text, Limits{})
		if err != nil {
			t.Fatalf("canonical form is refused: %v\n%s", err, text)
		}
		if diff := cmp.Diff(doc, again, cmpopts.IgnoreFields(Document{}, "Origin"), cmpopts.IgnoreFields(Block{}, "Pos")); diff != "" {
			t.Fatalf("changed by encoding (-before +after):\n%s", diff)
		}
		if second, _ := again.Encode(); string(second) != string(text) {
			t.Fatalf("canonical form is not stable:\n%s\n%s", text, second)
		}
		Capabilities(doc)
		for _, b := range doc.Blocks {
			if len(b.Pos) != len(b.Steps) {
				t.Fatal("not a position for each step")
			}
			for _, s := range b.Steps {
				if _, _, err := Expand(s, func(p Path) (string, error) { return "/r/" + p.Path, nil }); err != nil {
					t.Fatalf("expand %s: %v", s.Type(), err)
				}
			}
		}
	})
}
