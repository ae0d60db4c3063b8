package batch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// head is the first line of a file: what all statements in it have in common.
type head struct {
	Batch    int    `json:"batch"` // version of the format
	Registry string `json:"registry"`
	SignedBy string `json:"signed_by"`
	IssuedAt string `json:"issued_at"`
}

// headBegins is how every head begins, also one that was not written to its end.
const headBegins = `{"batch":`

// maxLineBytes bounds a line: the greatest bundle and what stands before it.
const maxLineBytes = 16<<20 + 64<<10

// journal reads what an earlier run has left in a file, and is at its end from the
// beginning if there is nothing.
type journal struct {
	file     *os.File
	in       *bufio.Reader
	issuedAt time.Time
	line     int         // that was read last
	end      int64       // offset after it
	next     *pastSigned // in it; nil at the end
}

type pastSigned struct {
	PURL     string         `json:"purl"`
	Revision int            `json:"revision"`
	Content  string         `json:"content"`
	Bundle   jsontext.Value `json:"bundle"`
}

// readJournal begins to read a file, or writes its head if it has none. The head has to
// be like want, but for the time.
func readJournal(file *os.File, want head) (*journal, error) {
	j := &journal{file: file, in: bufio.NewReaderSize(file, 256<<10)}
	if begin, _ := j.in.Peek(len(headBegins)); !strings.HasPrefix(headBegins, string(begin)) {
		return nil, errors.New("is no output of a batch; give a new file")
	}
	data, err := j.readLine()
	if err != nil {
		return nil, err
	}
	got := want
	if data == nil {
		if data, err = json.Marshal(want); err != nil {
			return nil, err
		}
		if err := j.cut(); err != nil {
			return nil, err
		}
		if _, err := file.Write(append(data, '\n')); err != nil {
			return nil, err
		}
	} else if err := json.Unmarshal(data, &got, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("is no output of a batch (%w); give a new file", err)
	}
	if j.issuedAt, err = time.Parse(time.RFC3339, got.IssuedAt); err != nil || got.Batch != want.Batch {
		return nil, errors.New("is of another format or version; give a new file")
	}
	if got.Registry != want.Registry || got.SignedBy != want.SignedBy {
		return nil, fmt.Errorf("is of registry %s and signed by %s, not of %s by %s; give a new file", got.Registry, got.SignedBy, want.Registry, want.SignedBy)
	}
	if j.line == 0 {
		return j, nil
	}
	return j, j.advance()
}

// readLine returns the next line, nil after the last one that is whole.
func (j *journal) readLine() ([]byte, error) {
	data, err := readLine(j.in, maxLineBytes)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", j.line+1, err)
	}
	j.line++
	j.end += int64(len(data)) + 1
	return data, nil
}

// advance goes on to the next line. At the end it cuts off what a killed process left
// half written, and leaves the file ready for more.
func (j *journal) advance() error {
	data, err := j.readLine()
	if err != nil {
		return err
	}
	if j.next = nil; data == nil {
		return j.cut()
	}
	next := new(pastSigned)
	if err := json.Unmarshal(data, next, json.RejectUnknownMembers(true)); err != nil || next.Revision < 1 || len(next.Bundle) == 0 {
		return fmt.Errorf("line %d is damaged (%v); remove it and all that follow, or give a new file", j.line, err)
	}
	j.next = next
	return nil
}

func (j *journal) cut() error {
	if err := j.file.Truncate(j.end); err != nil {
		return err
	}
	_, err := j.file.Seek(j.end, io.SeekStart)
	return err
}

// more tells that there are lines which the input has not come to.
func (j *journal) more() bool { return j.next != nil }

// has returns the next line if it is of that submission, and goes on to the one after.
func (j *journal) has(content string) (*pastSigned, error) {
	if j.next == nil || j.next.Content != content {
		return nil, nil
	}
	found := j.next
	return found, j.advance()
}

// ended says what is wrong if lines are left over after the input.
func (j *journal) ended() error {
	if j.next == nil {
		return nil
	}
	return fmt.Errorf("line %d is of %s, which the input does not have any more; give a new file", j.line, j.next.PURL)
}
