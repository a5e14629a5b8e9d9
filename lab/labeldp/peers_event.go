package labeldp

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/prob"
)

// Peers is what a learner sees of the labels of a cluster whose Users flip their own with
// probability Flip, and of whom Answers, whom everybody may know, each pass on the flipped label of
// a user drawn at random, perhaps their own (LDC, Algorithm 2). Given the number J of ones
// after flipping, the ones that are passed on are Bin(Answers, J/Users) in number, at places that
// say nothing more. It does not hold against the peer who is asked for a label, nor the one who
// asks.
type Peers struct {
	Users   int     `json:"users"`
	Answers int     `json:"answers"`
	Flip    float64 `json:"flip"`
}

// mostPeers bounds Users times Answers.
const mostPeers = 1 << 22

func (e Peers) Terms() (account.Guarantee, error) {
	if e.Users < 2 || e.Answers < 1 || e.Users > mostPeers/e.Answers {
		return account.Guarantee{}, fmt.Errorf("account: %d peers with %d answers: need at least 2 and 1, and a product up to %d", e.Users, e.Answers, mostPeers)
	}
	if !(e.Flip >= 1e-9 && e.Flip <= 0.5) {
		return account.Guarantee{}, fmt.Errorf("account: labels flipped with %v: need 1e-9 to 1/2", e.Flip)
	}
	return account.Guarantee{
		Adjacency: account.Label, Trust: account.Peers, Users: e.Users, Rounds: 1, Bound: account.Exact,
		Method: "exact law of labels drawn among peers", Source: "LDC, Algorithm 2; the law is binomial given the number of ones",
	}, nil
}

// Neighbour returns what a peer who asks for a label sees: one flipped label by itself, as it would
// everybody together.
func (e Peers) Neighbour() (account.Guarantee, error) {
	g, err := e.Terms()
	g.Epsilon, g.Trust, g.Users, g.Method, g.Source = math.Log1p((1-2*e.Flip)/e.Flip), account.Local, 1, "randomized response", "Warner 1965"
	return g, err
}

// Certificate is of all labels that the others may have.
func (e Peers) Certificate(account.Options) string { return "every number of ones among the others" }

// Profile takes the largest of both directions over every number of ones among the others. Those
// of more than half of them are the others with zeros and ones exchanged.
func (e Peers) Profile(rounds int, _ account.Options) (profile.Curve, account.Bound, error) {
	if rounds != 1 {
		return nil, "", nil
	}
	draws := e.draws()
	var pairs [][2][]float64
	for ones := range (e.Users-1)/2 + 1 {
		zero, one := e.laws(draws, ones)
		pairs = append(pairs, [2][]float64{zero, one})
	}
	return profile.Falling(func(epsilon float64) float64 {
		worst, times := 0.0, math.Exp(epsilon)
		for _, p := range pairs {
			there, back := 0.0, 0.0
			for k := range p[0] {
				there += math.Max(0, p[0][k]-times*p[1][k])
				back += math.Max(0, p[1][k]-times*p[0][k])
			}
			worst = math.Max(worst, math.Max(there, back))
		}
		if worst == 0 {
			return 0
		}
		const rounding, neglected = 1e-9, 1e-20
		return worst*(1+rounding) + neglected
	}), account.Exact, nil
}

// draws returns the laws of what is passed on, for each number of ones after flipping.
func (e Peers) draws() [][]float64 {
	draws := make([][]float64, e.Users+1)
	for j := range draws {
		draws[j] = make([]float64, e.Answers+1)
		for k := range draws[j] {
			draws[j][k] = prob.BinomialPMF(k, e.Answers, float64(j)/float64(e.Users))
		}
	}
	return draws
}

// laws returns those of the number of ones that the learner sees, where so many of the others have a
// one, and the label in question is zero or one.
func (e Peers) laws(draws [][]float64, ones int) (zero, one []float64) {
	kept, flipped := make([]float64, ones+1), make([]float64, e.Users-ones)
	for k := range kept {
		kept[k] = prob.BinomialPMF(k, ones, 1-e.Flip)
	}
	for k := range flipped {
		flipped[k] = prob.BinomialPMF(k, e.Users-1-ones, e.Flip)
	}
	others := make([]float64, e.Users)
	for a, p := range kept {
		for b, q := range flipped {
			others[a+b] += p * q
		}
	}
	zero, one = make([]float64, e.Answers+1), make([]float64, e.Answers+1)
	for j, p := range others {
		if p < 1e-25 { // a thousand of them are far below what Profile neglects
			continue
		}
		for k := range zero {
			low, high := p*draws[j][k], p*draws[j+1][k]
			zero[k] += (1-e.Flip)*low + e.Flip*high
			one[k] += e.Flip*low + (1-e.Flip)*high
		}
	}
	return zero, one
}

// CalibratePeers returns the least flip with which a cluster keeps (epsilon, delta) from the learner.
func CalibratePeers(users, answers int, epsilon, delta float64) (Peers, error) {
	e := Peers{Users: users, Answers: answers, Flip: 0.5}
	if err := (calibrate.Target{Users: users, Rounds: 1, Epsilon: epsilon, Delta: delta}).Check(); err != nil {
		return e, err
	}
	if _, err := e.Terms(); err != nil {
		return e, err
	}
	const least, steps = 1e-4, 30
	low, high := math.Log(least), math.Log(e.Flip)
	for range steps {
		e.Flip = math.Exp((low + high) / 2)
		g, err := account.Delta(e, epsilon)
		if err != nil {
			return e, err
		}
		if g.Delta <= delta {
			high = (low + high) / 2
		} else {
			low = (low + high) / 2
		}
	}
	e.Flip = math.Min(0.5, math.Exp(high))
	return e, nil
}
