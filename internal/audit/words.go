package audit

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
)

// Written is a finding in JSON.
type Written struct {
	Observer   string            `json:"observer,omitempty"`
	Lower      float64           `json:"epsilon_lower"`
	Sure       float64           `json:"epsilon_surely"` // but for one chance in a million
	Claimed    float64           `json:"epsilon_claimed"`
	Delta      float64           `json:"delta"`
	Adjacency  account.Adjacency `json:"adjacency"`
	Trust      account.Trust     `json:"trust"`
	Confidence float64           `json:"confidence"`
	Attack     string            `json:"attack"`
	Assumes    Assumption        `json:"assumes"`
	Runs       int               `json:"runs"`
	Guesses    int               `json:"guesses"`
	Verdict    string            `json:"verdict"`
}

// Written is the finding in JSON.
func (f Finding) Written() Written {
	g := f.Claimed
	return Written{f.Observer, f.Lower, f.Sure, g.Epsilon, g.Delta, g.Adjacency, g.Trust, Confidence, f.Attack, f.Assumes, f.Runs, f.Guesses, f.Verdict()}
}

// String says what was found by whom, and what it rests on.
func (f Finding) String() string {
	in := fmt.Sprintf("%d collections", f.Runs)
	if f.Runs == 1 {
		in = "one collection"
	}
	return fmt.Sprintf("epsilon above %.4g of %.4g, %s: %s (%d guesses in %s)", f.Lower, f.Claimed.Epsilon, f.Assumes, f.Attack, f.Guesses, in)
}
