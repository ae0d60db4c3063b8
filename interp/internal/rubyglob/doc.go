// Package rubyglob finds the paths that a shell-like pattern names, in the way
// of Ruby's Dir.glob without flags, over an abstract file tree.
//
// Steps that take path patterns were written for Dir.glob. The package follows
// it in what matches, in the order, and in the spelling of the results:
//
//		paths, err := rubyglob.Glob(fsys, "/opt/lib/**/*.pyc")
//
//	  - "*" and "?" do not match a leading dot; "?" and classes match characters,
//	    not bytes.
//	  - "**/" matches any depth of directories, entering neither hidden ones nor
//	    symbolic links to directories; "**" elsewhere is "*".
//	  - "{a,b}" stands for alternatives, which may be nested, empty or contain
//	    slashes. Unbalanced braces match nothing.
//	  - "[a-c]", "[^a]" and "[!a]" are classes. An unclosed class matches nothing,
//	    and takes the rest of the pattern with it.
//	  - A backslash makes the next character literal.
//	  - A trailing slash selects directories, links to directories included.
//	  - A final component matches whatever is there, dangling links included.
//	  - ".*" also matches "." itself, so "/a/.*" yields "/a/.".
//
// Entries of a directory come in byte order. Alternatives come in the order
// written and are not merged: "/{f,f}" yields /f twice.
//
// Behind "**/" Ruby's braces lose matches unless they directly follow it and
// hold no slash. Such patterns are refused with a [*PatternError].
//
// What it does not protect against: the package trusts the file tree's answers
// and does not confine results to a directory; components "." and ".." of the
// pattern are passed on as they are. The tree can change between the answer and
// its use.
package rubyglob
