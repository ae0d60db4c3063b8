package schema

import "cuelang.org/go/cue/ast"

// ValidateBroker checks the configuration of a broker for privileged steps.
func ValidateBroker(data []byte) error {
	return withValidator(data, func(v *validator, expr ast.Expr) { v.definition("#Broker", expr) })
}
