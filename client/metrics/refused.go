package metrics

import "fmt"

// refused is an error with a code, by which a program tells what was refused.
type refused struct {
	error
	code string
}

// Code returns what a program may branch on.
func (r refused) Code() string { return r.code }

// Unwrap returns what it says.
func (r refused) Unwrap() error { return r.error }

func refuse(code, format string, a ...any) error { return refused{fmt.Errorf(format, a...), code} }
