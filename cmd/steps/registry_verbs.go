package main

// The verbs of a registry; the light build hands them on.
var (
	verbRegistry = verb{"registry", "Run a registry's signing: publish, sign, index", "sign"}
	verbPush     = verb{"push FILE REF", "Put a package file into an OCI registry", "sign"}
	verbAttach   = verb{"attach BUNDLE REF", "Attach a bundle to a package in an OCI registry", "sign"}
	verbPull     = verb{"pull REF", "Fetch a package's bundles from an OCI registry", "sign"}
)
