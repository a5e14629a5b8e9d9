package vectors

import (
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/rdp"
	"github.com/confetti-dp/confetti/internal/account/recent"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/prob"
)

// moments bound E u^j, u = (w(t-1) - w(t))/P(t) with P the law of the count of
// a coordinate, over every data set of the others: docs/vector-rr.md, Theorem 2.
// They are of deviation times u, so that they stay near those of a unit normal.
type moments struct {
	deviation float64
	at        []float64 // at[j] for j = 2 to the largest order
}

// orders returns how many orders are worth computing: the best for a Gaussian at
// delta = 1e-12 is 1 + sqrt(ln(1/delta)/rho).
func (e VectorResponse) orders() int {
	rho := e.squares() / (2 * e.deviation() * e.deviation())
	return int(math.Min(256, math.Max(8, 2+math.Sqrt(28/rho))))
}

// momentCover returns the worlds that moments are computed of.
func (e VectorResponse) momentCover() shuffle.Worlds {
	return e.cover(momentTerms/float64(e.orders()), profile.MinTail)
}

func (e VectorResponse) moments() moments {
	c := e.momentCover()
	m := moments{math.Sqrt(float64(c.Others()+1) * e.Flip * (1 - e.Flip)), make([]float64, e.orders()+1)}
	sums := make([]float64, len(m.at))
	var law shuffle.Others
	for i := range c.Count() {
		w, ok := e.count(&law, c.Others(), c.Ones(i), profile.MinTail)
		clear(sums)
		m.add(sums, w, e.Flip)
		for j, s := range sums {
			if !ok {
				s = math.Inf(1)
			}
			m.at[j] = math.Max(m.at[j], s)
		}
	}
	return m
}

// add fills sums with the moments of one law, rounded up: the laws' errors enter
// the j-th power j times, and u itself near the mode, where neighbours differ by
// little, loses the digits that they share.
func (m moments) add(sums, w []float64, flip float64) {
	last := len(sums) - 1
	prob.Count(len(w) * last)
	edge := m.deviation / flip // |u| is at most 1/flip
	// A term is negligible if it is at the largest order or, where |u| < 1, at
	// the smallest; negligible ones are counted as if each were that large.
	const small, power = 1e-25, -84 // small lies above this power of two, and below the next
	negligible := func(p, u float64) bool {
		if !(p < small) || u <= 1 {
			return p < small
		}
		// Powers of two above and below them tell of most, without a logarithm.
		_, ofP := math.Frexp(p)
		_, ofU := math.Frexp(u)
		if ofP+last*ofU < power {
			return true
		} else if ofP-1+last*(ofU-1) > power {
			return false
		}
		return math.Log(p)+float64(last)*math.Log(u) < math.Log(small)
	}
	skipped := 0.0
	atEdge := 2.0       // what the window leaves out on either side, in units of minTail
	var up, down points // those above zero, and the others by what they are below it
	for t := 0; t <= len(w); t++ {
		before, here := 0.0, 0.0
		if t > 0 {
			before = w[t-1]
		}
		if t < len(w) {
			here = w[t]
		}
		p := flip*before + (1-flip)*here
		if p < profile.MinTail { // beyond the digits of its ratio
			atEdge++
			continue
		}
		u := m.deviation * (before - here) / p
		if negligible(p, math.Abs(u)) {
			skipped++
			continue
		}
		if u > 0 {
			up = append(up, point{p, u})
		} else {
			down = append(down, point{p, -u})
		}
	}
	above, below := up.moments(last), down.moments(last)
	for j := 2; j <= last; j++ {
		slack := float64(j) * 10 * profile.LawError
		if j%2 == 0 {
			sums[j] += (above[j] + below[j]) * (1 + slack)
		} else {
			sums[j] += above[j]*(1+slack) - below[j]*(1-slack)
		}
		sums[j] += skipped*small + atEdge*profile.MinTail*math.Pow(edge, float64(j))
	}
}

// point gives a value u its probability p.
type point struct{ p, u float64 }

type points []point

// moments returns the sums of p u^j for j from 2 to last. Four points are raised at once, since none waits for another.
func (all points) moments(last int) []float64 {
	sums := make([]float64, last+1)
	for len(all) > 0 {
		var at [4]point // of fewer, the rest are zero
		all = all[copy(at[:], all):]
		a, b, c, d := at[0].p*at[0].u, at[1].p*at[1].u, at[2].p*at[2].u, at[3].p*at[3].u
		for j := 2; j <= last; j++ {
			a, b, c, d = a*at[0].u, b*at[1].u, c*at[2].u, d*at[3].u
			sums[j] += a + b + (c + d)
		}
	}
	return sums
}

// kappa bounds the Renyi divergence of order a, an integer from 2, by kappa g^2
// for every gap g up to widest:
//
//	E(1+g u)^a <= H(g) = 1 + sum over j >= 2 of C(a, j) M_j g^j,
//
// all of whose coefficients are positive. (H(g)-1)/g^2 = r(g) grows, and ln(1 +
// r x)/x falls in x = g^2, so on a cell [g1, g2] ln H(g)/g^2 is at most
// ln(1 + r(g2) g1^2)/g1^2, or r(g2) where g1 = 0.
func (m moments) kappa(a int, widest float64) float64 {
	const cells = 256
	prob.Count(cells * a)
	terms := make([]float64, a+1) // of r at the widest gap; those of smaller ones are these by powers of a ratio
	for j := 2; j <= a; j++ {
		if !(m.at[j] <= 0) { // a NaN stays one
			terms[j] = math.Exp(logChoose(a, j) + math.Log(m.at[j]) - float64(j)*math.Log(m.deviation) + float64(j-2)*math.Log(widest))
		}
	}
	worst := 0.0
	for i := range cells {
		low, ratio := widest*float64(i)/cells, float64(i+1)/cells
		r := 0.0
		for j := a; j >= 2; j-- {
			r = r*ratio + terms[j]
		}
		r += 0x1p-1000 // what underflows of the terms
		r *= 1 + profile.LawError
		if math.IsNaN(r) {
			return math.Inf(1)
		}
		if i == 0 {
			worst = r
			continue
		}
		worst = math.Max(worst, math.Log1p(r*low*low)/(low*low))
	}
	return worst / float64(a-1)
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

var recentKappas recent.Results[VectorResponse, []float64]

// kappas returns kappa of every order, from 2.
func (e VectorResponse) kappas() []float64 {
	m := e.moments()
	all := make([]float64, len(m.at))
	for a := 2; a < len(all); a++ {
		all[a] = m.kappa(a, e.widest())
	}
	return all
}

// renyiCurve returns the Renyi divergence for a sum of squared gaps. Between integer
// orders (a-1) times it is convex in a, zero at a = 1: the chord is above it.
func (e VectorResponse) renyiCurve(squares float64) rdp.Curve {
	kappas := recentKappas.Find(e, e.kappas)
	last := len(kappas) - 1
	scaled := make([]float64, last+1) // (a-1) times the divergence
	for a := 2; a <= last; a++ {
		scaled[a] = float64(a-1) * kappas[a] * squares
	}
	return func(order float64) float64 {
		below := math.Floor(order)
		if !(order > 1) || below >= float64(last) {
			return math.Inf(1)
		}
		a := int(below)
		rest := order - below
		return ((1-rest)*scaled[a] + rest*scaled[a+1]) / (order - 1)
	}
}
