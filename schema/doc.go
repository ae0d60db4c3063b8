// Package schema is the authority on documents, layouts and trust policies: the CUE
// files in this folder, and what can be done with them.
//
// It is for tools that have time: validating, signing, converting, continuous
// integration. Package steps does the same checks from Go code that is generated from
// these files, several hundred times as fast and without CUE; that is what a client
// runs. [CrossCheck] runs both and insists that they agree. After a change to a CUE
// file, run
//
//	go generate ./schema
//
// A validator picks the definition of a step by its type, #ByType, instead of trying
// #Step, the disjunction of all: that is some 25 times as fast, and an error can name
// the step and the field.
//
// The package says whether a document is well formed. It does not say whether it does
// harm: a valid document may ask for anything that its layout and the user's approvals
// allow. Documents are JSON; it never evaluates CUE text of others.
package schema

//go:generate go run ./internal/gen . ../steps
