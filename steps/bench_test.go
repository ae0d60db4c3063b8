package steps

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// benchDocument has n steps: mkdir_p, write, symlink and set_permissions in turn.
func benchDocument(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"schema":1,"layout":"homebrew-formula","name":"demo","version":"1.2.3","post_install_steps":[`)
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		dir := fmt.Sprintf("demo/dir%d", i/4)
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, `{"type":"mkdir_p","path":{"base":"var","path":"%s"}}`, dir)
		case 1:
			fmt.Fprintf(&b, `{"type":"write","path":{"base":"var","path":"%s/file.conf"},"content":"prefix = {{HOMEBREW_PREFIX}}\nnumber = %d\n","overwrite":true}`, dir, i)
		case 2:
			fmt.Fprintf(&b, `{"type":"symlink","source":{"base":"var","path":"%s/file.conf"},"target":{"base":"var","path":"%s/link.conf"},"force":true}`, dir, dir)
		case 3:
			fmt.Fprintf(&b, `{"type":"set_permissions","paths":[{"base":"var","path":"%s/file.conf"}],"permissions":"0640"}`, dir)
		}
	}
	b.WriteString("]}")
	return []byte(b.String())
}

// The bare types have nothing but what a strict decoder needs.
type (
	bareDocument struct {
		Schema           int        `json:"schema"`
		Layout           string     `json:"layout"`
		Name             string     `json:"name"`
		Version          string     `json:"version"`
		PostInstallSteps []bareStep `json:"post_install_steps"`
	}
	bareStep struct {
		Type        string     `json:"type"`
		Path        barePath   `json:"path"`
		Source      barePath   `json:"source"`
		Target      barePath   `json:"target"`
		Paths       []barePath `json:"paths"`
		Content     string     `json:"content"`
		Permissions string     `json:"permissions"`
		Overwrite   *bool      `json:"overwrite"`
		Force       bool       `json:"force"`
	}
	barePath struct {
		Base string `json:"base"`
		Path string `json:"path"`
	}
)

func BenchmarkBareStrictDecode(b *testing.B) {
	data := benchDocument(10_000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var doc bareDocument
		if err := json.Unmarshal(data, &doc, json.RejectUnknownMembers(true)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			data := benchDocument(n)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(data, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	doc, err := Decode(benchDocument(10_000), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := doc.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}
