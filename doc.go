// Package confetti documents the whole system, which collects statistics and trains models from end users without
// anyone seeing a user's data. Used by readers, who begin with its example; docs/trust.md has the files of each claim.
//
// A device randomizes its own value, tears the report into unlinkable fragments and seals each one; shufflers in
// separate trust domains mix them with everybody else's; an analyzer counts what is left and learns:
//
//	plan -> encode -> randomize -> fragment -> seal -> mix -> open -> count -> estimate -> learn -> release
package confetti
