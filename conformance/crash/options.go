package crash

import "steps.example/interp/commit"

// Options say what to run.
type Options struct {
	// Pick are parts of the names of scenes, or step types; none for all.
	Pick []string
	// Seed chooses among what could be lost.
	Seed uint64
	// Thorough tries all that could be lost, Short only a sample.
	Thorough, Short bool
	// Dir is where scratch directories are made; "" chooses, a file system in memory
	// if there is one.
	Dir string

	// swallow tells, in a test of the suite itself, which syncs are not done; then
	// one failure of a scene is enough.
	swallow func(commit.Call) bool
	// apart: only scenes that lie on two file systems.
	apart bool
}

// Result is what became of a scene.
type Result struct {
	Scene string `json:"scene"`
	// Where says how it lies on file systems; "" for all on one.
	Where string `json:"where,omitempty"`
	// Points is how often it was stopped, and Failed how often that ended badly.
	Points int `json:"points"`
	Failed int `json:"failed"`
	// Problems are the first few of those.
	Problems []string `json:"problems,omitempty"`
	// Skipped says why it was not run.
	Skipped string `json:"skipped,omitempty"`
}

// Summary counts points, and the scenes that were skipped.
type Summary struct {
	Points  int `json:"points"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}
