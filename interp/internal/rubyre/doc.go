// Package rubyre performs the text replacement of the inreplace step with the
// pattern and replacement language of Ruby, on the bytes of a file.
//
// Step lists were written for Ruby, whose patterns differ from Go's in
// look-around, back-references, anchors and in the replacement syntax. The
// package parses the Ruby pattern itself, turns every character class into an
// explicit set of bytes and hands an equivalent expression to a backtracking
// engine. A construct whose meaning could differ is refused by name in a
// [*SyntaxError]; it is never approximated.
//
//	re, err := rubyre.Compile(`^user=(\w+)$`, rubyre.Options{}, time.Second)
//	out, n, err := re.Replace(src, `user=<\1>`, false)
//
// The text is binary, as in the reference: one byte is one character, and \w,
// \d, \s, \h, \b, the POSIX brackets and case folding know ASCII only. A
// pattern that holds a character outside ASCII (or \p{...}, which Ruby treats
// alike) can only be applied to an all-ASCII text; otherwise Replace returns
// [ErrEncoding].
//
// What it does not protect against: a pattern may be slow. Matching is bounded
// by the timeout, the engine's stack and [MaxOutput], but until the timeout is
// reached one processor is busy. Memory use is about six times the size of the
// text, so the caller must bound the file it reads.
package rubyre
