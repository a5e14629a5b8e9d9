// Package terminal writes what commands say: streams, usage errors, progress, JSON, and whole files. Used by
// cmd/confetti, cmd/confetti/internal and lab/cmd/confetti-lab.
package terminal

import (
	"fmt"
	"io"
)

// Streams is where a command writes, and the program's version, which some of what it
// writes bears.
type Streams struct {
	Out     io.Writer // results
	Err     io.Writer // everything said to a person beside the results
	Version string
}

// UsageError is a fault in what was asked for: exit code 2. Every other error
// is a failure: exit code 1.
type UsageError struct{ error }

// Usage makes a UsageError of an error.
func Usage(err error) error { return UsageError{err} }

// UnfinishedError says that what was asked for is done in part, and that others do the rest, or say
// what is left open: exit code 3.
type UnfinishedError struct{ error }

// Unfinishedf makes an UnfinishedError with the text.
func Unfinishedf(format string, a ...any) error { return UnfinishedError{fmt.Errorf(format, a...)} }

// Usagef returns a UsageError with the text.
func Usagef(format string, a ...any) error { return UsageError{fmt.Errorf(format, a...)} }

// Faults are what is wrong with flags, all of it.
type Faults []error

// Require adds a UsageError of the text where something does not hold.
func (f *Faults) Require(holds bool, format string, a ...any) {
	if !holds {
		*f = append(*f, Usagef(format, a...))
	}
}
