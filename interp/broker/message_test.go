package broker

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestDecodeRequest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, line, want string }{
		{"do", `{"do":3}`, ""},
		{"commit", `{"commit":true}`, ""},
		{"undo", `{"undo":{"version":1,"receipt":"r","transaction":"t"}}`, ""},
		{"hello", `{"hello":{"version":1,"bundles":["AA=="],"document_sha256":"","artifact_sha256":"","purl":"","target":{"phases":[],"os":"linux","dirs":{},"umask":18},"steps":[1],"plan":"","transaction":"","store":""}}`, ""},
		{"nothing", `{}`, "asks for 0 things"},
		{"two things", `{"do":1,"commit":true}`, "asks for 2 things"},
		{"commit twice", `{"commit":true,"commit":true}`, "cannot be read"},
		{"unknown member", `{"do":1,"shell":"sh"}`, "cannot be read"},
		{"other case", `{"Do":1}`, "cannot be read"},
		{"other version", `{"undo":{"version":2,"receipt":"r","transaction":"t"}}`, "has version 2"},
		{"something behind", `{"do":1} {"do":2}`, "something follows it"},
		{"no step", `{"do":0}`, "asks for 0 things"},
		{"not a number", `{"do":"1"}`, "cannot be read"},
		{"a huge number", `{"do":99999999999999999999}`, "cannot be read"},
		{"an array", `[]`, "cannot be read"},
		{"empty", ``, "cannot be read"},
	} {
		_, err := decodeRequest([]byte(tc.line))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestReadLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10000)
	for _, tc := range []struct {
		name, in string
		max      int
		err      error
	}{
		{"a line", "a\nb\n", 2, nil},
		{"the greatest", long + "\n", len(long) + 1, nil},
		{"too long", long + "\n", len(long), errTooLong},
		{"never ending", long, 100, errTooLong},
		{"the end", "", 100, io.EOF},
		{"in the middle", "a", 100, io.ErrUnexpectedEOF},
	} {
		_, err := readLine(bufio.NewReaderSize(strings.NewReader(tc.in), 16), tc.max)
		if err != tc.err {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.err)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"do":3}`))
	f.Add([]byte(`{"abort":true}`))
	f.Add([]byte(`{"settle":{"version":1,"receipt":"20261130T091500.000000000Z","transaction":"t"}}`))
	f.Add([]byte(`{"hello":{"version":1,"bundles":["AA=="],"steps":[1,2],"target":{"dirs":{"home":"/h"},"approved":["sudo"]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRequest(data)
		if err != nil {
			return
		}
		// What was read is one line, and the same when read again.
		var line bytes.Buffer
		if err := write(&line, r); err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(line.Bytes(), '\n') != line.Len()-1 {
			t.Fatalf("%q is not a line", line.String())
		}
		again, err := decodeRequest(line.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", line.String(), err)
		}
		var twice bytes.Buffer
		if err := write(&twice, again); err != nil || twice.String() != line.String() {
			t.Fatalf("%s became %s, %v", line.String(), twice.String(), err)
		}
	})
}
