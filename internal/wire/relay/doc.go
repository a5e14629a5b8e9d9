// Package relay reads and writes what services state and anybody can check: keys that sign, receipts of batches,
// and published receipts. Used by internal/service, release/verify and cmd/confetti/internal.
//
// docs/wire.md describes all of it for a second implementation. Every decoder accepts exactly what its encoder
// writes and refuses the rest.
package relay
