package rubyre

// MaxOutput is the largest result of [Regexp.Replace] in bytes. A replacement
// with \` or \' grows with the square of the text.
const MaxOutput = 256 << 20

// CheckReplacement reports whether the replacement is well-formed and refers
// only to named groups the pattern has. The error is a [*SyntaxError] or
// [ErrEncoding].
func (re *Regexp) CheckReplacement(replacement string) error {
	_, err := re.parseReplacement(replacement)
	return err
}

// Replace returns src with every match, or only the first, replaced, and the
// number of replacements, as Ruby's gsub! and sub! on a binary string. With no
// match it returns src itself and 0. It never changes src.
//
// The replacement may contain \0 or \& (the match), \1 to \9 and \k<name>
// (groups), \` and \' (the text before and after the match) and \\. These apply
// to literals too. Unlike Ruby it checks the replacement even when nothing
// matches, see [Regexp.CheckReplacement].
//
// Errors: [ErrTimeout], [ErrStack], [ErrEncoding], [ErrTooLarge] or
// [*SyntaxError]; out is then nil and n is 0.
func (re *Regexp) Replace(src []byte, replacement string, firstOnly bool) (out []byte, n int, err error) {
	return re.replace(src, replacement, firstOnly, MaxOutput)
}

func (re *Regexp) replace(src []byte, replacement string, firstOnly bool, limit int) (out []byte, n int, err error) {
	pieces, err := re.parseReplacement(replacement)
	if err != nil {
		return nil, 0, err
	}
	w := &writer{src: src, pieces: pieces, limit: limit}
	err = re.each(src, func(bounds []int) bool {
		n++
		w.source(w.done, bounds[0])
		w.expand(bounds)
		w.done = bounds[1]
		return !firstOnly && !w.full
	})
	if err != nil {
		return nil, 0, err
	}
	if n == 0 {
		return src, 0, nil
	}
	w.source(w.done, len(src))
	switch {
	case w.full:
		return nil, 0, ErrTooLarge
	case !isASCII(replacement) && w.sourceHigh:
		return nil, 0, ErrEncoding
	}
	return w.out, n, nil
}

// writer builds the result.
type writer struct {
	src    []byte
	pieces []piece
	limit  int // of len(out)
	out    []byte
	done   int // offset in src up to which the text is copied or replaced

	sourceHigh bool // a byte above 7F was copied from src
	full       bool // limit would be exceeded
}

// source appends a part of the text; start is -1 for a group that took no part.
func (w *writer) source(start, end int) {
	if start < 0 || !w.fits(end-start) {
		return
	}
	text := w.src[start:end]
	w.sourceHigh = w.sourceHigh || !isASCII(text)
	w.out = append(w.out, text...)
}

func (w *writer) fits(n int) bool {
	w.full = w.full || n > w.limit-len(w.out)
	return !w.full
}

func (w *writer) expand(bounds []int) {
	for _, p := range w.pieces {
		switch p.kind {
		case pieceLiteral:
			if w.fits(len(p.literal)) {
				w.out = append(w.out, p.literal...)
			}
		case pieceGroup:
			w.source(bounds[2*p.group], bounds[2*p.group+1])
		case pieceBefore:
			w.source(0, bounds[0])
		case pieceAfter:
			w.source(bounds[1], len(w.src))
		}
	}
}
