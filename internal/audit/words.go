package audit

import (
	"fmt"
)

// Written is the finding in JSON.
func (f Finding) Written() Written {
	g := f.Claimed
	return Written{
		Observer: f.Observer, Lower: f.Lower, Sure: f.Sure, Claimed: g.Epsilon, Delta: g.Delta, Adjacency: g.Adjacency, Trust: g.Trust,
		Confidence: Confidence, Attack: f.Attack, Assumes: f.Assumes, Runs: f.Runs, Guesses: f.Guesses, Verdict: f.Verdict(),
	}
}

// String says what was found by whom, and what it rests on.
func (f Finding) String() string {
	in := fmt.Sprintf("%d collections", f.Runs)
	if f.Runs == 1 {
		in = "one collection"
	}
	return fmt.Sprintf("epsilon above %.4g of %.4g, %s: %s (%d guesses in %s)", f.Lower, f.Claimed.Epsilon, f.Assumes, f.Attack, f.Guesses, in)
}
