package main

// verifyWorker is the hidden verb by which a light build asks the full one.
const verifyWorker = "verify-worker"

// workerRequest is what it is asked: one of the two is set.
type workerRequest struct {
	Bundle *verifyRequest `json:"bundle,omitempty"`
	API    *apiRequest    `json:"api,omitempty"`
}

// workerAnswer is its answer: one of the two is set.
type workerAnswer struct {
	Verified *verifiedDocument `json:"verified,omitempty"`
	Error    *trustError       `json:"error,omitempty"`
}

// verb is what the help says about a verb that the full build does and the light
// one hands on.
type verb struct{ use, short, group string }

var (
	verbValidate     = verb{"validate FILE...", "Check documents against the schema", "author"}
	verbSchema       = verb{"schema", "Print the JSON Schema of documents, for editors", "author"}
	verbTrust        = verb{"trust", "Write or explain a trust policy", "sign"}
	verbKeygen       = verb{"keygen FILE", "Make a signing key", "sign"}
	verbSign         = verb{"sign FILE", "Sign a document for a package file", "sign"}
	verbVerifyBundle = verb{"verify-bundle FILE", "Check a signed bundle and print what it says", "sign"}
	verbBroker       = verb{"broker", "Do steps that need root, for a user", "apply"}
	verbSignBundle   = verb{"sign-bundle FILE", "Sign any file, for Sigstore's conformance suite", "test"}
)
