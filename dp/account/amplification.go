package account

import (
	"math"

	"github.com/confetti-dp/confetti/dp/account/pld"
	"github.com/confetti-dp/confetti/internal/prob"
)

// tokens is the pair of worlds to which amplification by shuffling reduces.
// Each of n respondents sends a token A or B, with probability rate each, or
// nothing that matters; the target sends A with probability rate x, B with
// rate y, nothing with the rest, and in the other world A and B trade places.
// The observer counts a and b. With c = n-a-b and T the trinomial law of n
// tokens at the others' rates,
//
//	P(a, b) = T(a, b) (x a + y b + w c)/n,   w = (1 - rate(x+y))/(1 - 2 rate),
//
// since the target is any of the n tokens with equal right. Swapping a and b
// swaps the worlds, so one profile serves both directions.
type tokens struct {
	n          int
	rate, x, y float64
}

// clones2021 is the pair for any epsilon0-DP randomizer R (Feldman, McMillan,
// Talwar 2021, Theorem 3.1 and its numeric form). For neighbours x0 and x1 there
// are laws Q0, Q1 with R(x0) = q Q0 + (1-q) Q1 and R(x1) the reverse, q =
// e^e0/(1+e^e0); and every R(x) >= e^-e0 (R(x0)+R(x1))/2 = e^-e0 (Q0+Q1)/2. So
// each other respondent sends a clone with probability e^-e0, half and half.
func clones2021(n int, epsilon0 float64) tokens {
	return clones(n, epsilon0, math.Exp(-epsilon0))
}

// clones2023 is the pair with probability 2/(e^e0+1) of a clone instead of
// e^-e0 (Feldman, McMillan, Talwar 2023). The published theorem was for every
// epsilon0-DP randomizer; its errata restrict it. What the decomposition above
// needs is
//
//	(e^e0 + 1) R(x)(z) >= R(x0)(z) + R(x1)(z)   for all x, x0, x1, z,
//
// which k-ary randomized response meets: R(x)(z) is e^e0 or 1 times the same
// number, and only one of x0, x1 can have the larger one.
func clones2023(n int, epsilon0 float64) tokens {
	return clones(n, epsilon0, 2/(1+math.Exp(epsilon0)))
}

// clones never counts more clones than there are: fewer hide less.
func clones(n int, epsilon0, probability float64) tokens {
	rate := math.Min(probability, 1-1e-9) / 2
	q := 1 / (1 + math.Exp(-epsilon0))
	return tokens{n, rate, q / rate, 1 / (1 + math.Exp(epsilon0)) / rate}
}

// symbols is what shows of k-ary randomized response, k >= 3, when everyone
// else holds a third symbol: the counts of the target's two possible symbols.
// All that is hidden is which of the other symbols came, so it is a lower bound
// on any accounting, exact for that data set when k = 3.
func symbols(n, k int, epsilon0 float64) tokens {
	e := math.Exp(epsilon0)
	return tokens{n, 1 / (e + float64(k-1)), e, 1}
}

func (t tokens) nothing() float64 {
	return math.Max(0, (1-t.rate*(t.x+t.y))/(1-2*t.rate))
}

// spread is the deviation of (x-y)(a-b)/n, the loss to first order.
func (t tokens) spread() float64 { return (t.x - t.y) * math.Sqrt(2*t.rate/float64(t.n)) }

// window is the law of a+b under T, and what it leaves out of either world: P
// and Q are at most max(x, w) T.
func (t tokens) window(tail float64) (w prob.Window, neglected float64, err error) {
	w, err = prob.BinomialWindow(t.n, 2*t.rate, tail)
	return w, (w.Below + w.Above) * math.Max(t.x, t.nothing()), err
}

// slice is the hockey stick at l = e^epsilon given a+b = m, in units of T(m)/n.
// The set where P > l Q is a >= s, with threshold(m) < s; over it
//
//	sum of ((x-ly) a + (y-lx)(m-a) + w(1-l)(n-m)) C(m,a)/2^m
//	  = (x-y)(1+l) s b(s)/2 - (l-1) S(s) (m(x+y)/2 + w(n-m)),
//
// b the law of Binomial(m, 1/2) and S its upper tail from s on, as sum a b =
// m S/2 + s b(s)/2.
type slice struct {
	t        tokens
	l, minus float64 // e^epsilon and e^epsilon - 1
	w        float64
}

func (t tokens) at(epsilon float64) slice {
	return slice{t, math.Exp(epsilon), math.Expm1(epsilon), t.nothing()}
}

// first is the least s of the set; it may exceed m.
func (s slice) first(m int) int {
	f := float64(m)
	lx := s.t.x - s.t.y + s.minus*s.t.x // l x - y
	edge := (f*lx + s.w*(float64(s.t.n)-f)*s.minus) / ((s.t.x - s.t.y) * (1 + s.l))
	return int(math.Min(math.Floor(edge), f)) + 1
}

func (s slice) value(m, first int, b, above float64) float64 {
	f := float64(m)
	return (s.t.x-s.t.y)*(1+s.l)*float64(first)*b/2 - s.minus*above*(f*(s.t.x+s.t.y)/2+s.w*(float64(s.t.n)-f))
}

// delta is the hockey stick at epsilon without what the window neglects.
func (t tokens) delta(w prob.Window, epsilon float64) float64 {
	s := t.at(epsilon)
	var sum prob.Sum
	for i, p := range w.P {
		m := w.Lo + i
		first := s.first(m)
		if m == 0 || first > m || p == 0 {
			continue
		}
		b := math.Exp(prob.LogBinomialPMF(first, m, 0.5))
		sum.Add(p * math.Max(0, s.value(m, first, b, b*tailRatio(m, first))))
	}
	return sum.Value() / float64(t.n)
}

// tailRatio is P(X >= s)/P(X = s) for X of Binomial(m, 1/2): the sum of the
// products of (m-s)/(s+1), (m-s-1)/(s+2), ...
func tailRatio(m, s int) float64 {
	sum, term := 1.0, 1.0
	for a := s; a < m; a++ {
		term *= float64(m-a) / float64(a+1)
		sum += term
		if term < sum*1e-17 {
			break
		}
	}
	return sum
}

// shuffledPair is the profile of one release of a tokens pair, capped by the
// randomizer's own epsilon0.
type shuffledPair struct {
	tokens
	epsilon0 float64
	window   prob.Window
	neglect  float64 // added to delta, or nothing for a lower bound
	lower    bool
}

func (t tokens) single(epsilon0 float64, o options) (*shuffledPair, error) {
	w, neglected, err := t.window(math.Max(o.Neglect/(2*math.Max(t.x, 1)), minTail))
	if err != nil {
		return nil, err
	}
	if o.Lower {
		neglected = 0
	}
	return &shuffledPair{t, epsilon0, w, neglected, o.Lower}, nil
}

func (s *shuffledPair) Delta(epsilon float64) (float64, error) {
	if epsilon >= s.epsilon0 {
		return 0, nil
	}
	d := s.delta(s.window, epsilon)
	if s.lower {
		return d * (1 - lawError), nil
	}
	return math.Min(1, d*(1+lawError)+s.neglect), nil
}

// Epsilon is right to 1e-11 of itself, and ends on its bound's side.
func (s *shuffledPair) Epsilon(delta float64) (float64, error) {
	excess := func(epsilon float64) float64 {
		d, _ := s.Delta(epsilon) // has no error
		return math.Log(d) - math.Log(delta)
	}
	low, high := 0.0, s.epsilon0
	above, below := excess(low), excess(high)
	if above <= 0 {
		return 0, nil
	}
	// False position in ln delta, halving the weight of an end that stays, and
	// never nearer to an end than the precision, so that both ends close in.
	side := 0
	for high-low > 1e-11*high {
		x := low + (high-low)/2
		if !math.IsInf(below, -1) {
			x = (low*below - high*above) / (below - above)
		}
		margin := math.Min(4e-12*high, (high-low)/4)
		x = math.Min(high-margin, math.Max(low+margin, x))
		if f := excess(x); f > 0 {
			low, above = x, f
			if side > 0 {
				below /= 2
			}
			side = 1
		} else {
			high, below = x, f
			if side < 0 {
				above /= 2
			}
			side = -1
		}
	}
	if s.lower {
		return low, nil
	}
	return high, nil
}

// grid is the profile at epsilon = 0, step, ..., until nothing is left, rounded up.
func (t tokens) grid(epsilon0 float64, o options) ([]float64, error) {
	w, neglected, err := t.window(math.Max(o.Neglect/(2*math.Max(t.x, 1)), minTail))
	if err != nil {
		return nil, err
	}
	points := int(math.Min(math.Ceil(epsilon0/o.Step)+1, math.Ceil(60*t.spread()/o.Step)+64))
	slices := make([]slice, points)
	for i := range slices {
		slices[i] = t.at(float64(i) * o.Step)
	}
	h := make([]float64, points)
	for i, p := range w.P {
		if m := w.Lo + i; m > 0 && p > 0 {
			t.add(h, slices, m, p/float64(t.n))
		}
	}
	for i := points - 1; i >= 0; i-- {
		h[i] = math.Min(1, h[i]*(1+lawError)+neglected)
		if i+1 < points {
			h[i] = math.Max(h[i], h[i+1])
		}
	}
	return h, nil
}

// add adjoins the slice a+b = m of weight p to a profile on a grid.
func (t tokens) add(h []float64, slices []slice, m int, p float64) {
	low := slices[0].first(m)
	if low > m {
		return
	}
	// b at every count above the first threshold, by ratios, and its tails.
	b := make([]float64, 0, 64)
	v := math.Exp(prob.LogBinomialPMF(low, m, 0.5))
	for a := low; a <= m && v > 0; a++ {
		b = append(b, v)
		v *= float64(m-a) / float64(a+1)
	}
	above := make([]float64, len(b)+1)
	for i := len(b) - 1; i >= 0; i-- {
		above[i] = above[i+1] + b[i]
	}
	for i, s := range slices {
		first := s.first(m)
		if first-low >= len(b) {
			return
		}
		h[i] += p * math.Max(0, s.value(m, first, b[first-low], above[first-low]))
	}
}

func (t tokens) distribution(epsilon0 float64, o options) (*pld.Distribution, error) {
	if o.Lower {
		return t.lower(o)
	}
	h, err := t.grid(epsilon0, o)
	if err != nil {
		return nil, err
	}
	return pld.FromCurves(h, h, o.Step)
}

// lower merges outcomes of nearly equal loss, which only hides some of it.
func (t tokens) lower(o options) (*pld.Distribution, error) {
	w, _, err := t.window(math.Max(o.Neglect/(2*math.Max(t.x, 1)), minTail))
	if err != nil {
		return nil, err
	}
	type cell struct{ p, q float64 }
	cells, none, fine := map[int]cell{}, t.nothing(), o.Step/4
	for i, p := range w.P {
		m := w.Lo + i
		half, err := prob.BinomialWindow(m, 0.5, math.Max(o.Neglect, minTail))
		if err != nil {
			return nil, err
		}
		for j, v := range half.P {
			a := float64(half.Lo + j)
			b, c := float64(m)-a, float64(t.n-m)
			mass := p * v / float64(t.n)
			here := cell{mass * (t.x*a + t.y*b + none*c), mass * (t.y*a + t.x*b + none*c)}
			if here.p == 0 || here.q == 0 {
				continue
			}
			k := int(math.Floor(math.Log(here.p/here.q) / fine))
			sum := cells[k]
			cells[k] = cell{sum.p + here.p, sum.q + here.q}
		}
	}
	atoms := make([]pld.Atom, 0, len(cells))
	for _, s := range cells {
		atoms = append(atoms, pld.Atom{Loss: math.Log(s.p / s.q), Mass: s.p})
	}
	return pld.LowerFromAtoms(atoms, 0, o.Step)
}
