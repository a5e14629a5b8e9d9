// Package account computes privacy guarantees: the vocabulary of a guarantee, the events that it is asked about, and
// their composition. Used by protocol and question for promises, by client for the ledger, and by release for what
// is published.
//
// It takes descriptions of mechanisms (Event), never mechanisms. Every function states which way it rounds; none
// answers outside its domain.
package account
