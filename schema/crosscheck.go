package schema

import (
	"errors"
	"fmt"

	"steps.example/steps"
)

// CrossCheck validates a document twice: by the schema, and by the code that is
// generated from it, which is what a client runs. It returns the latter's [steps.Errors]
// if both refuse the document. If one of them accepts what the other refuses, the error
// begins with "BUG(steps):", and the document must not be used.
func CrossCheck(data []byte) error {
	_, generated := steps.Decode(data, steps.Limits{})
	return agreed(generated, ValidateDocument(data))
}

// CrossCheckSteps does the same for a bare list of steps.
func CrossCheckSteps(data []byte) error {
	_, generated := steps.DecodeSteps(data, steps.Limits{})
	return agreed(generated, ValidateSteps(data))
}

func agreed(generated, schema error) error {
	var faults steps.Errors
	if schema != nil && !errors.As(schema, &faults) {
		return schema // the schema could not be asked
	}
	switch {
	case (generated == nil) == (schema == nil):
		return generated
	case generated == nil:
		return fmt.Errorf("BUG(steps): the client's checks accept what the schema refuses: %w", schema)
	default:
		return fmt.Errorf("BUG(steps): the schema accepts what the client's checks refuse: %w", generated)
	}
}
