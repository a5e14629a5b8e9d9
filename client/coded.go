package client

import "errors"

// coded wraps an error and gives it a code that a program may branch on, one of docs/embedding.md.
type coded struct {
	error
	code string
}

// as gives an error a code; nil stays nil.
func as(code string, err error) error {
	if err == nil {
		return nil
	}
	return coded{err, code}
}

// Code returns the code.
func (c coded) Code() string { return c.code }

// Unwrap returns the error.
func (c coded) Unwrap() error { return c.error }

// Code returns that of what carries requests, if it gives one: it may know better why nobody was reached.
func (e *networkError) Code() string {
	if c, ok := errors.AsType[interface {
		error
		Code() string
	}](e.cause); ok {
		return c.Code()
	}
	return "unreachable"
}
