// Package wire is what travels between a device, the hops, the token issuer and
// the analyzer besides envelopes: paths, problems, receipts, and the messages
// that carry them. docs/wire.md describes all of it for a second
// implementation.
//
// Every decoder accepts exactly what its encoder writes and refuses the rest.
package wire
