// Command gen writes the generated Go files of package steps from the schema's CUE
// files. It is run by go generate ./schema.
//
// Its input is the project's own CUE; it must not be given that of others. It does not
// protect against a schema that is wrong, only against one that it does not understand:
// a construct that it does not know is an error, so that no rule gets lost.
package main
