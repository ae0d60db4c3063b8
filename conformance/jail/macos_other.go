//go:build !darwin

package jail

func macCases() []Case { return evaluated() }
