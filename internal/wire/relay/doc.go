// Package relay is what services hand on to one another: batches with the receipts that bear
// them out, manifests of batches in parts, the keys that sign, and receipts as a release
// publishes them. docs/wire.md describes all of it for a second implementation.
//
// Every decoder accepts exactly what its encoder writes and refuses the rest.
package relay
