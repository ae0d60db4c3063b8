package main

import (
	"steps.example/conformance/faults"
	"steps.example/conformance/jail"
	"steps.example/conformance/race"
)

// conformancePart plays a part of a conformance suite if this process was started
// for that: as an attacker, or to have limits of its own.
func conformancePart() (status int, is bool) {
	switch {
	case jail.IsPart():
		return jail.Part(), true
	case race.IsPart():
		return race.Part(), true
	case faults.IsPart():
		return faults.Part(), true
	}
	return 0, false
}
