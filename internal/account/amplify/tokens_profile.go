package amplify

import (
	"math"
	"sort"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/prob"
)

// slice is the hockey stick of a tokens pair at l = e^epsilon. Given a+b = m and
// W, in units of T/n, the set where P > l Q is a >= s, with threshold(m, W) < s;
// over it
//
//	sum of ((x-ly) a + (y-lx)(m-a) + W(1-l)) C(m,a)/2^m
//	  = (x-y)(1+l) s b(s)/2 - (l-1) S(s) (m(x+y)/2 + W),
//
// b the law of Binomial(m, 1/2) and S its upper tail from s on, as sum a b =
// m S/2 + s b(s)/2.
type slice struct {
	x, y     float64
	l, minus float64 // e^epsilon and e^epsilon - 1
}

func (t tokens) at(epsilon float64) slice {
	return slice{t.x, t.y, math.Exp(epsilon), math.Expm1(epsilon)}
}

// first returns the least s of the set; it may exceed m.
func (s slice) first(m int, w float64) int {
	f := float64(m)
	lx := s.x - s.y + s.minus*s.x // l x - y
	edge := (f*lx + w*s.minus) / ((s.x - s.y) * (1 + s.l))
	return int(math.Min(math.Floor(edge), f)) + 1
}

// until returns the least W from which on the set begins above s.
func (s slice) until(m, first int) float64 {
	lx := s.x - s.y + s.minus*s.x
	return (float64(first)*(s.x-s.y)*(1+s.l) - float64(m)*lx) / s.minus
}

// sum adds up a level, given b and S at any s.
func (s slice) sum(v *level, at func(first int) (b, above float64)) float64 {
	sum, half := 0.0, float64(v.m)*(s.x+s.y)/2
	for i := 0; i < len(v.w); {
		first, next := s.first(v.m, v.w[i]), len(v.w)
		if first > v.m {
			break
		}
		if next-i > 1 && s.first(v.m, v.w[next-1]) != first {
			edge := s.until(v.m, first)
			next = i + 1 + sort.Search(next-i-1, func(j int) bool { return v.w[i+1+j] >= edge })
		}
		b, above := at(first)
		mass, moment := v.mass[next]-v.mass[i], v.moment[next]-v.moment[i]
		sum += math.Max(0, mass*((s.x-s.y)*(1+s.l)*float64(first)*b/2-s.minus*above*half)-moment*s.minus*above)
		i = next
	}
	return sum
}

// delta returns the hockey stick at epsilon without what the windows neglect.
func (l *tokensLaw) delta(epsilon float64) float64 {
	s := l.at(epsilon)
	partial := make([]float64, len(l.levels))
	each(len(l.levels), func(i int) {
		v := &l.levels[i]
		// The values of s come in increasing order.
		last, b := 0, 0.0
		partial[i] = s.sum(v, func(first int) (float64, float64) {
			if b == 0 || first > last+8 {
				b = math.Exp(prob.LogBinomialPMF(first, v.m, 0.5))
			} else {
				for a := last; a < first; a++ {
					b *= float64(v.m-a) / float64(a+1)
				}
			}
			last = first
			return b, b * tailRatio(v.m, first)
		})
	})
	var sum prob.Sum
	for _, p := range partial {
		sum.Add(p)
	}
	return sum.Value()
}

// tailRatio returns P(X >= s)/P(X = s) for X of Binomial(m, 1/2): the sum of the
// products of (m-s)/(s+1), (m-s-1)/(s+2), ...
func tailRatio(m, s int) float64 {
	sum, term := 1.0, 1.0
	a := s
	defer func() { prob.Count(a - s) }()
	for ; a < m; a++ {
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
	law      *tokensLaw
	epsilon0 float64
	lower    bool
}

func (t tokens) single(epsilon0 float64, o account.Options) (*shuffledPair, error) {
	law, err := t.law(o.Neglect)
	return &shuffledPair{law, epsilon0, o.Lower}, err
}

func (s *shuffledPair) Delta(epsilon float64) (float64, error) {
	if epsilon >= s.epsilon0 {
		return 0, nil
	}
	d := s.law.delta(epsilon)
	if s.lower {
		return d * (1 - profile.LawError), nil
	}
	return math.Min(1, d*(1+profile.LawError)+s.law.neglected), nil
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

// Grid points of a profile on which the others lie by the chord, and how many of
// these are computed before it is asked whether anything is left.
const (
	gridStride = 2
	gridBlock  = 64
)

// grid returns the profile at epsilon = 0, step, ..., until nothing is left, rounded up.
// As a function of e^epsilon it is convex, and below its chords.
func (t tokens) grid(epsilon0 float64, o account.Options) ([]float64, error) {
	law, err := t.law(o.Neglect)
	if err != nil {
		return nil, err
	}
	corners := int(math.Ceil(epsilon0/(gridStride*o.Step))) + 1
	var at []float64
	for len(at) < corners && (len(at) == 0 || at[len(at)-1] > math.Max(law.neglected, profile.MinTail)) {
		block := make([]slice, min(gridBlock, corners-len(at)))
		for i := range block {
			block[i] = t.at(float64((len(at)+i)*gridStride) * o.Step)
		}
		at = append(at, law.block(block)...)
	}
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = math.Min(1, at[i]*(1+profile.LawError)+law.neglected)
		if i+1 < len(at) {
			at[i] = math.Max(at[i], at[i+1])
		}
	}
	h := make([]float64, 0, gridStride*len(at))
	for i, v := range at[:len(at)-1] {
		for j := range gridStride {
			share := math.Expm1(float64(j)*o.Step) / math.Expm1(gridStride*o.Step)
			h = append(h, v+(at[i+1]-v)*share)
		}
	}
	return append(h, at[len(at)-1]), nil
}

// block returns the profile at some epsilons, in increasing order.
func (l *tokensLaw) block(slices []slice) []float64 {
	// A fixed number of parts, so that sums do not depend on the machine.
	const parts = 16
	var partial [parts][]float64
	each(parts, func(part int) {
		h := make([]float64, len(slices))
		for i := part; i < len(l.levels); i += parts {
			l.levels[i].add(h, slices)
		}
		partial[part] = h
	})
	h := make([]float64, len(slices))
	for i := range h {
		for _, p := range partial {
			h[i] += p[i]
		}
	}
	return h
}

// add adjoins a level to a profile.
func (v *level) add(h []float64, slices []slice) {
	low := slices[0].first(v.m, v.w[0])
	high := min(v.m, slices[len(slices)-1].first(v.m, v.w[len(v.w)-1]))
	if low > high {
		return
	}
	// b at every threshold, by ratios, and its tails, from the top.
	b, above := make([]float64, high-low+1), make([]float64, high-low+1)
	prob.Count(high - low + 1)
	b[0] = math.Exp(prob.LogBinomialPMF(low, v.m, 0.5))
	for a := low; a < high; a++ {
		b[a-low+1] = b[a-low] * float64(v.m-a) / float64(a+1)
	}
	last := len(b) - 1
	above[last] = b[last] * tailRatio(v.m, high)
	for i := last - 1; i >= 0; i-- {
		above[i] = above[i+1] + b[i]
	}
	for i, s := range slices {
		h[i] += s.sum(v, func(first int) (float64, float64) { return b[first-low], above[first-low] })
	}
}

func (t tokens) distribution(epsilon0 float64, o account.Options) (*pld.Distribution, error) {
	if o.Lower {
		return t.lower(o)
	}
	h, err := t.grid(epsilon0, o)
	if err != nil {
		return nil, err
	}
	return pld.FromCurves(h, h, o.Step)
}

// lower merges outcomes of nearly equal loss, which only hides some of it. It is
// for pairs whose tokens but A and B are all plain blanks.
func (t tokens) lower(o account.Options) (*pld.Distribution, error) {
	w, err := prob.BinomialWindow(t.n, 2*t.rate, math.Max(o.Neglect/(2*math.Max(t.x, 1)), profile.MinTail))
	if err != nil {
		return nil, err
	}
	type cell struct{ p, q float64 }
	cells, fine := map[int]cell{}, o.Step/4
	for i, p := range w.P {
		m := w.Lo + i
		half, err := prob.BinomialWindow(m, 0.5, math.Max(o.Neglect, profile.MinTail))
		if err != nil {
			return nil, err
		}
		for j, v := range half.P {
			a := float64(half.Lo + j)
			b, rest := float64(m)-a, t.weight*float64(t.n-m)
			mass := p * v / float64(t.n)
			here := cell{mass * (t.x*a + t.y*b + rest), mass * (t.y*a + t.x*b + rest)}
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
