package question

import (
	"errors"
	"fmt"
)

// OutOfDomainError says that the plan has no room for a value, and that what the plan has a
// device send then stands in its place (plan.Question.Unfit). It comes beside a
// result that is good and is to be used like any other: whoever stopped here would
// be silent because of its value.
//
// It is for the device's own program, and must go no further: it tells something
// of the value, though it never holds it.
type OutOfDomainError struct {
	Values int   // that do not fit, of those given
	Cause  error // the rule that the first of them breaks
}

// Error names the rule.
func (e *OutOfDomainError) Error() string {
	what := "the value does not fit the plan, and what the plan has for such a value stands in its place"
	if e.Values > 1 {
		what = fmt.Sprintf("%d values do not fit the plan, and what the plan has for such values stands in their place; of the first", e.Values)
	}
	return fmt.Sprintf("question: %s: %v", what, e.Cause)
}

// Unwrap returns the cause.
func (e *OutOfDomainError) Unwrap() error { return e.Cause }

// Fits sorts errors of Encode: an *OutOfDomainError comes beside a symbol.
func Fits(err error) (unfit *OutOfDomainError, failed error) {
	if u, ok := errors.AsType[*OutOfDomainError](err); ok {
		return u, nil
	}
	return nil, err
}
