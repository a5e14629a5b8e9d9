// Package audit attacks what ships, and computes how much privacy the attack proves to be lost. Used by
// cmd/confetti/internal/account, cmd/confetti/internal/plan, cmd/internal/server/roles and other commands, and by
// the lab.
//
// An attack puts one of two neighbouring records to a mechanism, looks at what the mechanism's observer sees, and
// guesses which it was. No mechanism that is (epsilon, delta)-DP lets anybody guess better than a certain rate, so
// that a rate of right guesses bounds epsilon from below: with a stated confidence, for the adjacency and at the
// delta of the claim.
//
// Views are drawn by the randomizers, samplers, pipelines, hops and counters that devices and services run. Laws
// only score them: a wrong score makes an attack weaker, and never its bound wrong.
//
// A bound below the claim proves nothing of the mechanism but that this attack found no more. A bound above the
// claim proves that the claim is false.
package audit

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
)

// sure is the probability that a bound is too large by which a claim is called false.
const sure = 1e-6

const (
	nothing    Assumption = "no assumption"
	fromOneRun Assumption = "no assumption, one run"
	gaussian   Assumption = "assuming a Gaussian aggregate, one run"
)

// Finding is what one attack proves.
type Finding struct {
	Observer string            // of a plan's statement; empty: the one of the mechanism's guarantee
	Attack   string            // in a phrase: who looks at what
	Assumes  Assumption        // what the bound rests on
	Claimed  account.Guarantee // against the same observer
	Lower    float64           // epsilon at the claim's delta is above it, with Confidence
	Sure     float64           // and above this, but for one chance in a million
	Runs     int               // collections that were drawn
	Guesses  int               // that the bound is computed from: the views of all runs, or the canaries of one
}

// False says whether the claim cannot be true, given what the finding assumes.
func (f Finding) False() bool { return f.Sure > f.Claimed.Epsilon }

// Doubtful says whether the bound lies above the claim, which happens to true claims too
// where they are tight, one time in twenty.
func (f Finding) Doubtful() bool { return f.Lower > f.Claimed.Epsilon }

// Verdict says what the finding means, in a sentence.
func (f Finding) Verdict() string {
	switch {
	case f.False():
		return fmt.Sprintf("the claim is false: the attack proves an epsilon above %.3g, but for one chance in a million (%s)", f.Sure, f.Assumes)
	case f.Doubtful():
		return "above the claim, which one audit in twenty is by chance where a claim is tight: run it again with another seed and more runs"
	}
	return "within the claim"
}

// Best returns the finding with the largest bound; findings has at least one.
func Best(findings []Finding) Finding {
	best := findings[0]
	for _, f := range findings[1:] {
		if f.Lower > best.Lower {
			best = f
		}
	}
	return best
}
