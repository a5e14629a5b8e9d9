package shuffle

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Others computes the law of W, the number of ones reported by m users of whom
// k hold a one, which is reported as a one with probability a = keep, and a zero with
// probability b = flip < a: Bin(k, a) + Bin(m-k, b).
// It reuses its buffer from call to call.
type Others struct{ w []float64 }

// law returns the probabilities of low, low+1, ..., leaving at most tail
// outside on either side. The values sum to one; each is right to a relative
// error of about the window's length in roundoffs.
//
// The generating function G = (1-a+az)^k (1-b+bz)^(m-k) satisfies
// (1-a+az)(1-b+bz) G' = (k a (1-b+bz) + (m-k) b (1-a+az)) G. Its coefficients w_t then obey
//
//	(1-a)(1-b) (t+1) w_(t+1) = (c - d t) w_t + ab (m-t+1) w_(t-1),
//	c = k a(1-b) + (m-k) b(1-a),  d = a(1-b) + b(1-a),
//
// so the whole law costs one pass. The recurrence has a second solution, of
// alternating sign (the product of the two local ratios is negative). Below t = c/d
// ours is the one that grows faster upwards, above it the one that grows faster
// downwards: run in these directions, every error dies out, including that of
// starting from 0, 1 at an arbitrary place (start says how far out). The
// two runs are joined at c/d.
func (o *Others) law(m, k int, b bit, tail float64) (low int, w []float64) {
	r := recurrence{m: float64(m), k: float64(k), fall: b.flip * b.drop, rise: b.keep * b.stay, none: b.drop * b.stay, both: b.keep * b.flip}
	mean := float64(k)*b.keep + float64(m-k)*b.flip
	variance := float64(k)*b.keep*b.drop + float64(m-k)*b.flip*b.stay
	// Bernstein: P(|W - mean| >= x) <= e^-l on each side for
	// x = l/3 + sqrt(l^2/9 + 2 l variance).
	l := -math.Log(tail)
	x := l/3 + math.Sqrt(l*l/9+2*l*variance)
	low = max(0, int(math.Floor(mean-x)))
	high := min(m, int(math.Ceil(mean+x)))
	join := min(high, max(low, int((r.k*r.rise+(r.m-r.k)*r.fall)/(r.fall+r.rise))))

	from, to := low, high
	if low < join {
		from = r.start(low, -1)
	}
	if high > join {
		to = r.start(high, +1)
	}
	if cap(o.w) < to-from+1 {
		o.w = make([]float64, 2*(to-from+1))
	}
	w = o.w[:to-from+1]
	prob.Count(len(w))
	// The run that does not hold the mode falls away from where they meet, so that it, scaled to the other's value
	// there, stays below it.
	split, under, over := join-from, 1., 1. // what is below join and what is not are scaled by these
	switch {
	case low == high:
		w[0] = 1
	case join == high:
		r.up(w, from, high)
	case join == low:
		r.down(w, from, low)
	default:
		r.up(w, from, join)
		below := w[split]
		r.down(w, from, join)
		if above := w[split]; mean < float64(join) {
			over = below / above
		} else {
			under = above / below
		}
	}
	w, split = w[low-from:high-from+1], join-low
	lower, upper := 0.0, 0.0
	for _, x := range w[:split] {
		lower += x
	}
	for _, x := range w[split:] {
		upper += x
	}
	sum := lower*under + upper*over
	if !(sum > 0 && sum <= math.MaxFloat64) {
		panic(fmt.Sprintf("account: the law of %d others of whom %d hold a one, reported with %v and %v, lost its mass", m, k, b.keep, b.flip))
	}
	scale(w[:split], under/sum)
	scale(w[split:], over/sum)
	return low, w
}

// Flipped returns the law of bits that are flipped with one probability, as law does.
func (o *Others) Flipped(m, k int, flip, tail float64) (low int, w []float64) {
	return o.law(m, k, RandomizedResponse{Flip: flip}.bit(), tail)
}

func scale(w []float64, by float64) {
	for i := range w {
		w[i] *= by
	}
}

// recurrence has the factors a(1-b), b(1-a), (1-a)(1-b) and ab.
type recurrence struct{ m, k, rise, fall, none, both float64 }

// slope is c - d t, from integers so that it cancels without loss where b and
// 1-a are small: near c/d both its terms are small.
func (r recurrence) slope(t float64) float64 { return r.rise*(r.k-t) + r.fall*(r.m-r.k-t) }

// start walks outwards from t until errors decay by e^-40 on the way back, or
// to the edge, where the recurrence starts exactly. Per step the unwanted
// solution loses a factor e^(2 asinh(|c-dt| / (2 sqrt(ab(1-a)(1-b) t(m-t))))) on ours.
func (r recurrence) start(t, direction int) int {
	const enough = 40
	decay, stride := 0.0, 1
	for t > 0 && t < int(r.m) && decay < enough {
		x := float64(t)
		ratio := min(1e9, math.Abs(r.slope(x))/(2*math.Sqrt(r.none*r.both*x*(r.m-x))))
		step := 2 * ratio / math.Sqrt(1+ratio*ratio) // at most 2 asinh(ratio)
		decay += step * float64(stride)
		t += direction * stride
		// Strides grow with what is left, so that the walk takes some ten evaluations;
		// at most twofold, since the first step, near c/d, may hardly decay at all.
		stride = max(1, min(2*stride, int((enough-decay)/(8*step))))
	}
	return min(int(r.m), max(0, t))
}

// huge is where a run is scaled back, well before it overflows.
const huge = 1e200

// up fills w, whose first element is at from, up to index to, from 0, 1.
func (r recurrence) up(w []float64, from, to int) {
	before, now := 0.0, 1.0
	w[0] = now
	for t := from; t < to; t++ {
		x := float64(t)
		// The division does not wait for the step before.
		inverse := 1 / (r.none * (x + 1))
		next := r.slope(x)*inverse*now + r.both*(r.m-x+1)*inverse*before
		before, now = now, next
		w[t+1-from] = now
		if now > huge {
			before, now = before/huge, now/huge
			for i := range w[:t+2-from] {
				w[i] /= huge
			}
		}
	}
}

// down fills w, whose last element is the start, down to index to.
func (r recurrence) down(w []float64, from, to int) {
	top := from + len(w) - 1
	above, now := 0.0, 1.0
	w[top-from] = now
	for t := top; t > to; t-- {
		x := float64(t)
		inverse := 1 / (r.both * (r.m - x + 1))
		next := r.none*(x+1)*inverse*above - r.slope(x)*inverse*now
		above, now = now, next
		w[t-1-from] = now
		if now > huge {
			above, now = above/huge, now/huge
			for i := t - 1 - from; i < len(w); i++ {
				w[i] /= huge
			}
		}
	}
}
