// Package wire reads and writes what a device sends and is told besides envelopes: paths and
// problems. Used by client, internal/service and cmd/confetti/internal.
//
// docs/wire.md describes all of it for a second implementation. Every decoder accepts exactly what its encoder
// writes and refuses the rest.
package wire
