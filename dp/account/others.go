package account

import (
	"fmt"
	"math"
)

// others computes the law of W, the number of ones reported by m users of whom
// k hold a one, each flipping its bit with probability p: Bin(k, 1-p) + Bin(m-k, p).
// It reuses its buffer from call to call.
type others struct{ w []float64 }

// law returns the probabilities of low, low+1, ..., leaving at most tail
// outside on either side. The values sum to one; each is right to a relative
// error of about the window's length in roundoffs.
//
// The generating function G = (p+qz)^k (q+pz)^(m-k), q = 1-p, satisfies
// (p+qz)(q+pz) G' = (k q (q+pz) + (m-k) p (p+qz)) G. Its coefficients w_t then obey
//
//	pq (t+1) w_(t+1) = (a - b t) w_t + pq (m-t+1) w_(t-1),
//	a = k q^2 + (m-k) p^2,  b = p^2 + q^2,
//
// so the whole law costs one pass. The recurrence has a second solution, of
// alternating sign (the product of the two local ratios is -(m-t)/t). Below t = a/b
// ours is the one that grows faster upwards, above it the one that grows faster
// downwards: run in these directions, every error dies out, including that of
// starting from 0, 1 at an arbitrary place (start says how far out). The
// two runs are joined at a/b.
func (o *others) law(m, k int, p, tail float64) (low int, w []float64) {
	q := 1 - p
	r := recurrence{m: float64(m), k: float64(k), p2: p * p, q2: q * q, pq: p * q}
	mean, variance := float64(k)*q+float64(m-k)*p, float64(m)*p*q
	// Bernstein: P(|W - mean| >= x) <= e^-l on each side for
	// x = l/3 + sqrt(l^2/9 + 2 l variance).
	l := -math.Log(tail)
	x := l/3 + math.Sqrt(l*l/9+2*l*variance)
	low = max(0, int(math.Floor(mean-x)))
	high := min(m, int(math.Ceil(mean+x)))
	join := min(high, max(low, int((r.k*r.q2+(r.m-r.k)*r.p2)/(r.p2+r.q2))))

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
	switch {
	case low == high:
		w[0] = 1
	case join == high:
		r.up(w, from, high)
	case join == low:
		r.down(w, from, low)
	default:
		// The run that does not hold the mode falls away from where they meet, so
		// that it, scaled to the other's value there, stays below it.
		r.up(w, from, join)
		below := w[join-from]
		r.down(w, from, join)
		if above := w[join-from]; mean < float64(join) {
			scale(w[join-from:], below/above)
		} else {
			scale(w[:join-from], above/below)
		}
	}
	w = w[low-from : high-from+1]
	sum := 0.0
	for _, x := range w {
		sum += x
	}
	if !(sum > 0 && sum <= math.MaxFloat64) {
		panic(fmt.Sprintf("account: the law of %d others of whom %d hold a one, flipped with %v, lost its mass", m, k, p))
	}
	scale(w, 1/sum)
	return low, w
}

func scale(w []float64, by float64) {
	for i := range w {
		w[i] *= by
	}
}

type recurrence struct{ m, k, p2, q2, pq float64 }

// slope is a - b t, from integers so that it cancels without loss where p is
// small: near a/b both its terms are below pq m.
func (r recurrence) slope(t float64) float64 { return r.q2*(r.k-t) + r.p2*(r.m-r.k-t) }

// start walks outwards from t until errors decay by e^-40 on the way back, or
// to the edge, where the recurrence starts exactly. Per step the unwanted
// solution loses a factor e^(2 asinh(|a-bt| / (2pq sqrt(t(m-t))))) on ours.
func (r recurrence) start(t, direction int) int {
	const enough = 40
	decay, stride := 0.0, 1
	for t > 0 && t < int(r.m) && decay < enough {
		x := float64(t)
		step := 2 * math.Asinh(math.Abs(r.slope(x))/(2*r.pq*math.Sqrt(x*(r.m-x))))
		decay += step * float64(stride)
		t += direction * stride
		// Strides grow with what is left, so that the walk takes some ten evaluations.
		stride = max(1, int((enough-decay)/(8*step)))
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
		inverse := 1 / (r.pq * (x + 1))
		next := r.slope(x)*inverse*now + r.pq*(r.m-x+1)*inverse*before
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
		inverse := 1 / (r.pq * (r.m - x + 1))
		next := r.pq*(x+1)*inverse*above - r.slope(x)*inverse*now
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
