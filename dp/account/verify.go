package account

import "fmt"

// Verify recomputes what a plan claims of an event, as a device does before it
// answers, and returns an error unless the claim follows: the same adjacency,
// trust and rounds, no more users than the event has, and an epsilon not below
// the recomputed one. It runs in well under 100 ms of one core for randomized
// response of up to a million users and 10^4 rounds, by the same proved
// envelope that calibration aims at.
func Verify(e Event, claimed Guarantee) error {
	g, err := Epsilon(e, claimed.Delta)
	if err != nil {
		return fmt.Errorf("account: cannot verify the claim: %w", err)
	}
	switch {
	case claimed.Bound == Lower:
		return fmt.Errorf("account: the claim is a lower bound: it promises nothing")
	case claimed.Adjacency != g.Adjacency:
		return fmt.Errorf("account: the claim is for %s adjacency, the mechanism is accounted for %s", claimed.Adjacency, g.Adjacency)
	case claimed.Trust != g.Trust:
		return fmt.Errorf("account: the claim is against a %s observer, the mechanism is accounted against a %s one", claimed.Trust, g.Trust)
	case claimed.Rounds != g.Rounds:
		return fmt.Errorf("account: the claim is for %d rounds, the mechanism runs %d", claimed.Rounds, g.Rounds)
	case claimed.Users != g.Users:
		return fmt.Errorf("account: the claim relies on %d users, the mechanism on %d", claimed.Users, g.Users)
	case !(claimed.Epsilon >= g.Epsilon*(1-verifySlack)):
		return fmt.Errorf("account: the claim is epsilon %.6g, but the plan's numbers give %.6g at delta %.3g", claimed.Epsilon, g.Epsilon, claimed.Delta)
	}
	return nil
}

// verifySlack is for another machine's rounding: its fused multiplications and
// its exponential differ in the last places.
const verifySlack = 1e-9
