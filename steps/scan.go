package steps

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// CheckJSON makes sure that data is one JSON value and nothing else, in UTF-8, without
// duplicate names and within the limits of size and depth. It reports [Errors].
func CheckJSON(data []byte, lim Limits) error {
	lim = lim.withDefaults()
	if err := scan(data, lim); err != nil {
		return err
	}
	c := cursor{data: data, depth: lim.Depth, tooDeep: -1}
	c.skip(c.space(0), 0)
	return c.depthError()
}

// scan makes sure that data is one JSON value and nothing else, in UTF-8, without
// duplicate names and within the limits. Everything after it may rely on that.
func scan(data []byte, lim Limits) error {
	if len(data) > lim.Bytes {
		return Errors{{Pos: Pos{1, 1}, Msg: fmt.Sprintf("the document has %d bytes", len(data)), Want: fmt.Sprintf("at most %d", lim.Bytes)}}
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	if _, err := dec.ReadValue(); err != nil {
		return syntaxError(data, dec, err)
	}
	if end := int(dec.InputOffset()); !isSpace(data[end:]) {
		end += len(data[end:]) - len(bytes.TrimLeft(data[end:], " \t\r\n"))
		return Errors{{Pos: position(data, end), Msg: "there is more data after the document", Want: "its end"}}
	}
	return nil
}

func isSpace(b []byte) bool { return len(bytes.Trim(b, " \t\r\n")) == 0 }

// syntaxError says what a decoder could not read, and where.
func syntaxError(data []byte, dec *jsontext.Decoder, err error) error {
	e := &Error{Pos: position(data, int(dec.InputOffset())), Msg: "is no JSON: " + strings.TrimPrefix(err.Error(), "jsontext: ")}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Pos, e.Msg, e.Want = position(data, len(data)), "the document ends too early", "a complete JSON value"
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		e.Pos, e.Pointer = position(data, int(syntactic.ByteOffset)), string(syntactic.JSONPointer)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			e.Msg = "is no JSON: " + strings.TrimPrefix(syntactic.Err.Error(), "jsontext: ")
		}
		if errors.Is(syntactic.Err, jsontext.ErrDuplicateName) {
			e.Field = syntactic.JSONPointer.LastToken()
			e.Msg, e.Want = "is there twice in one object", "each name once"
		}
	}
	return Errors{e}
}

// position is the place of a byte offset.
func position(data []byte, offset int) Pos {
	offset = min(max(offset, 0), len(data))
	before := data[:offset]
	return Pos{Line: 1 + bytes.Count(before, []byte("\n")), Col: offset - bytes.LastIndexByte(before, '\n')}
}
