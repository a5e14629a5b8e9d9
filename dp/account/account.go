// Package account computes privacy guarantees: exact and tight accounting of
// shuffled, local and central mechanisms, their composition and calibration,
// and the published theorems by name, each with its domain enforced.
//
// It consumes descriptions of mechanisms (Event), never mechanisms. Every
// function states which way it rounds; none answers outside its domain.
package account
