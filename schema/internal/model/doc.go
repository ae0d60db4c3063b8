// Package model reads the CUE that defines documents into plain Go values.
//
// It is the one walk over the schema: the generator prints the model as Go, and the
// schema package prints it as JSON Schema. It knows the few constructs that the schema
// uses and fails on any other, so that a new one cannot be lost on the way.
//
// It reads the project's own CUE only. It must not be given CUE text of others: CUE is
// a language, and a short text can take all memory.
package model
