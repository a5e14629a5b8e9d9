// Package confetti is a complete system to collect statistics and train models
// from end users without anyone ever seeing a user's data.
//
// A device randomizes its own value, tears the report into unlinkable
// fragments and seals each one; shufflers in separate trust domains mix them
// with everybody else's; an analyzer counts what is left and learns:
//
//	plan -> encode -> randomize -> fragment -> seal -> mix -> open -> count -> estimate -> learn -> release
//
// Begin with the example of this package, which runs the whole flow in memory;
// then plan, protocol, client, shuffler, analyzer and release.
package confetti
