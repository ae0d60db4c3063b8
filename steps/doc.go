// Package steps is the model of documents that say what a package does when it is
// installed and removed: typed steps in place of scripts.
//
// It is for clients, and for everything that reads or writes documents. [Decode] reads a
// document strictly and validates it in one pass; [Document.Encode] writes the canonical
// form; [Capabilities] says what the document asks for; [Expand] turns a composite step
// into primitive ones; [LayoutByName] finds where a kind of package lives;
// [NewProtection] finds the places that take more than that.
//
//	doc, err := steps.Decode(data, steps.Limits{})
//	if err != nil {
//		return err // "7:31: post_install_steps step 3 (write): field …"
//	}
//	for _, c := range steps.Capabilities(doc) {
//		fmt.Println(c)
//	}
//
// # Where the rules come from
//
// The CUE files in folder schema are the authority. The step types, their decoders and
// encoders, the rules, the layouts and the composites here are generated from them, in
// the files zz_generated_*.go; package schema checks that both agree. This package does
// not depend on CUE, and it does no input or output.
//
// # What it does not protect against
//
// A valid document is not a harmless one. It may ask for anything that its layout and
// the user's approvals allow, run any command, and name paths that symbolic links lead
// elsewhere. That is for the interpreter, the jail and the judge of changes. Paths are
// checked as they are written, before tokens and globs are expanded: who expands them
// has to check again what comes out. Whether a document is the one that its author
// signed is for package signer.
package steps
