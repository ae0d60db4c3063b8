package batch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// Item is one submission as it was read.
type Item struct {
	File string
	Line int // where it begins, from 1
	Data []byte
	// Fault says why the item could not be read, though the next one can.
	Fault error
}

// Source yields items, and at most one error, last.
type Source iter.Seq2[Item, error]

// Lines yields the lines of r, which is called name. Empty lines are passed over, and
// one that is too long is a faulty item.
func Lines(r io.Reader, name string) Source {
	return func(yield func(Item, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		for line := 1; ; line++ {
			data, err := readLine(in, MaxSubmissionBytes)
			if err != nil && !errors.Is(err, errTooLong) && !errors.Is(err, io.EOF) {
				yield(Item{}, fmt.Errorf("%s: line %d: %w", name, line, err))
				return
			}
			item := Item{File: name, Line: line, Data: data}
			if errors.Is(err, errTooLong) {
				item.Fault = err
			}
			if (item.Fault != nil || len(bytes.TrimSpace(data)) > 0) && !yield(item, nil) {
				return
			}
			if errors.Is(err, io.EOF) {
				return
			}
		}
	}
}

var errTooLong = fmt.Errorf("has more than %d bytes", MaxSubmissionBytes)

// readLine reads up to a line feed, which is not part of the result. Of a line that is
// longer than limit it keeps nothing. The error is [io.EOF] if there is no line feed.
func readLine(in *bufio.Reader, limit int) (line []byte, err error) {
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > limit; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && err == nil:
			return nil, errTooLong
		case tooLong && errors.Is(err, io.EOF):
			return nil, errTooLong // the next call finds the end
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}

// Directory yields the files whose names end in .json, below dir, in the order of
// their paths.
func Directory(ctx context.Context, dir string) Source {
	return func(yield func(Item, error) bool) {
		stopped := errors.New("stopped")
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			if !entry.Type().IsRegular() || !strings.HasSuffix(path, ".json") {
				return nil
			}
			item := Item{File: path, Line: 1}
			if item.Data, err = readFile(path); errors.Is(err, errTooLong) {
				item.Fault, err = err, nil
			}
			if err != nil {
				return err
			}
			if !yield(item, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(Item{}, err)
		}
	}
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSubmissionBytes+1))
	if err == nil && len(data) > MaxSubmissionBytes {
		return nil, errTooLong
	}
	return data, err
}
