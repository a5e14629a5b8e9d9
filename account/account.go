// Package account computes privacy guarantees: the vocabulary of a guarantee, the events
// that it is asked about, their composition, and what calibrations share. The events
// themselves are in the packages below it, shuffle and additive, and printed bounds in
// theorems.
//
// It consumes descriptions of mechanisms (Event), never mechanisms. Every
// function states which way it rounds; none answers outside its domain.
package account
