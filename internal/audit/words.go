package audit

// Written returns the finding in JSON.
func (f Finding) Written() Written {
	g := f.Claimed
	return Written{
		Observer: f.Observer, Lower: f.Lower, Sure: f.Sure, Claimed: g.Epsilon, Delta: g.Delta, Adjacency: g.Adjacency, Trust: g.Trust,
		Confidence: Confidence, Attack: f.Attack, Assumes: f.Assumes, Runs: f.Runs, Guesses: f.Guesses, Verdict: f.Verdict(),
	}
}

// String says what was found by whom, and what it rests on.
func (f Finding) String() string { return f.Written().String() }
