// Package wire is what a device sends and is told besides envelopes: paths, problems, and the
// messages of tokens. Package relay below it is what services hand on to one another.
// docs/wire.md describes all of it for a second implementation.
//
// Every decoder accepts exactly what its encoder writes and refuses the rest.
package wire
