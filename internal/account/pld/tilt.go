package pld

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/confetti-dp/confetti/internal/prob"
)

// tilted is the composed law after multiplying every mass by e^(theta l) and
// dividing by the total e^K: the loss (low+i)*step has probability
// q[i] e^(K - theta (low+i) step).
type tilted struct {
	point // K is its log; mean and variance are those of the tilted law
	step  float64
	low   int
	q     []float64
	// slack bounds, in tilted probability, what rounding changed in any sum of
	// the q, and what lies outside the window or was folded into it.
	slack float64
	lower bool
}

const (
	// outside is the tilted probability that may fall beyond each end of the window.
	outside = 1e-16
	// maxWindow is the longest transform: 64 MB of numbers.
	maxWindow = 1 << 23
	roundoff  = 0x1p-53
)

// tilt convolves the parts, each tilted by theta, in a window that holds all
// but 2*outside of the tilted mass.
func (c *Composition) tilt(at point) (*tilted, error) {
	step := c.parts[0].step
	low, high := c.window(at)
	width := high - low + 1
	if width > maxWindow {
		return nil, fmt.Errorf("pld: the composed loss spans %d steps, more than %d: choose a larger step", width, maxWindow)
	}
	t := &tilted{point: at, step: step, low: low, lower: c.parts[0].lower}
	if len(c.parts) == 1 && c.parts[0].rounds == 1 {
		d := c.parts[0]
		t.low = d.low
		t.q = d.tilt(at.theta)
		t.slack = 8 * roundoff
		return t, nil
	}
	laws := make([][]float64, len(c.parts))
	for i, p := range c.parts {
		laws[i] = p.tilt(at.theta)
	}
	n := smooth(max(width, 16))
	q, e, ok := c.narrow(laws, low, n)
	if !ok {
		q, e = c.wide(laws, low, n)
	}
	// A transform of length n of a law (two-norm at most 1) has coefficients
	// right to about roundoff*log2(n); 4 is for the constant of the algorithm.
	// Carried through the powers this is an error of two-norm e in frequency,
	// which bounds the one-norm in time: sqrt(n) * (e/sqrt(n)).
	t.slack = 4*roundoff*float64(bits.Len(uint(n)))*math.Sqrt(e) + 2*outside
	t.q = q[:width]
	return t, nil
}

// wide returns n points of the composition of the laws from low on, by a transform of all, and the sum of squares
// that its error comes from.
func (c *Composition) wide(laws [][]float64, low, n int) (q []float64, e float64) {
	prob.Count(n * bits.Len(uint(n)) * (len(c.parts) + 1))
	room := roomOf(n)
	defer room.free()
	factor, product, errorFactor := room.factor, room.product, room.errorFactor
	for i, p := range c.parts {
		wrap(room.wrapped, laws[i], p.low)
		room.fft.Coefficients(factor, room.wrapped)
		// Denormals are slow, too.
		floor := math.Exp(negligible / float64(p.rounds))
		for j, z := range factor {
			if product[j] == 0 {
				continue
			}
			abs := math.Sqrt(real(z)*real(z) + imag(z)*imag(z))
			if abs < floor {
				product[j] = 0
				continue
			}
			product[j] *= power(z, p.rounds)
			errorFactor[j] += float64(p.rounds) / abs
		}
	}
	for j, z := range product {
		if z != 0 {
			e += squared(z, errorFactor[j])
		}
	}
	sum := room.fft.Sequence(room.wrapped, product)
	q = make([]float64, n)
	j := mod(low, n)
	for i := range q {
		q[i] = max(0, sum[j]/float64(n))
		if j++; j == n {
			j = 0
		}
	}
	return q, e
}

// tilt returns the tilted law of one round.
func (d *Distribution) tilt(theta float64) []float64 {
	q := make([]float64, len(d.mass))
	peak := math.Inf(-1)
	for i, log := range d.log {
		q[i] = log + theta*d.loss(i)
		peak = max(peak, q[i])
	}
	sum := 0.0
	for i, x := range q {
		if x -= peak; x > -700 {
			q[i] = math.Exp(x)
			sum += q[i]
		} else {
			q[i] = 0
		}
	}
	for i := range q {
		q[i] /= sum
	}
	return q
}

// window finds, by Chernoff's bound on both sides, indices outside which the
// tilted sum falls with probability at most outside each. Every trial t gives a
// valid bound; the best lies near the Gaussian one.
func (c *Composition) window(at point) (low, high int) {
	step := c.parts[0].step
	least, most := 0.0, 0.0 // the support itself, which may be narrower
	for _, p := range c.parts {
		least += float64(p.rounds) * float64(p.low)
		most += float64(p.rounds) * float64(p.low+len(p.mass)-1)
	}
	if at.variance > 0 {
		const need = 36.8414 // -ln outside
		gaussian := math.Sqrt(2 * need / at.variance)
		bound := func(side float64) float64 {
			return lowest(func(scale float64) float64 {
				t := scale * gaussian
				return (c.cumulants(at.theta+side*t).log - at.log + need) / t / step
			})
		}
		most = math.Min(most, math.Ceil(bound(1)))
		least = math.Max(least, math.Floor(-bound(-1)))
	}
	return int(least), int(most)
}

// scales are the trials of a window, in multiples of the Gaussian one.
var scales = [...]float64{0.125, 0.25, 0.5, 0.7, 0.85, 1, 1.3}

// lowest returns the least value of f at the scales. f falls and then rises, as a convex function that starts above
// 0 does once it is divided by its argument: a walk from the Gaussian one ends at the first rise.
func lowest(f func(float64) float64) float64 {
	const gaussian = 5
	first := f(scales[gaussian])
	least := first
	for _, way := range [...]int{-1, 1} {
		for i := gaussian + way; i >= 0 && i < len(scales); i += way {
			v := f(scales[i])
			if !(v < least) {
				break
			}
			least = v
		}
		if least < first {
			break
		}
	}
	return least
}

// mod returns i modulo n, from 0.
func mod(i, n int) int {
	if i %= n; i < 0 {
		i += n
	}
	return i
}

// power is z^k by squaring: relative error about k roundoffs, like that of z itself.
func power(z complex128, k int) complex128 {
	result := complex(1, 0)
	for ; k > 0; k >>= 1 {
		if k&1 == 1 {
			result *= z
		}
		z *= z
	}
	return result
}

// signed returns the slack with the sign that keeps the result on its side.
func (t *tilted) signed() float64 {
	if t.lower {
		return -t.slack
	}
	return t.slack
}

// The share of an answer that the slack may make up before another tilt is worth its convolution:
// of a new one's neighbours, and of what was convolved for another question. Where a new one's own answer
// has not so many digits, as with losses of 1e-5, its neighbours' may have half a digit fewer.
const (
	digits     = 1e-8
	keptDigits = 1e-9
	fewer      = 3
)

// deltas returns delta at each of the epsilons, which do not fall, and for how many of the
// first ones this tilt has digits, or as many as for the first of all, but for a factor, if it was made for that one. Delta is the sum over l > epsilon of (1 - e^(epsilon-l)) p(l),
// over finite losses. For theta >= 0 no tilted unit weighs more than e^(K - theta epsilon), so the
// slack does not either. One walk down collects, over the losses l above epsilon, the sums of
// q e^(-theta (l - epsilon)) and of the same times e^(epsilon - l).
func (t *tilted) deltas(epsilons []float64, digits, fewer float64) (deltas []float64, enough int, err error) {
	deltas = make([]float64, len(epsilons))
	lacks := make([]float64, len(epsilons)) // the share that slack and rounding make up
	up, down, before, falls := 0.0, 0.0, math.Inf(1), 0
	i := len(t.q) - 1
	for j := len(epsilons) - 1; j >= 0; j-- {
		epsilon := epsilons[j]
		if !(epsilon >= 0 && epsilon <= math.Min(before, math.MaxFloat64)) {
			return nil, 0, fmt.Errorf("pld: epsilons %v and %v: need finite numbers from 0 that do not fall", epsilon, before)
		}
		if fall := before - epsilon; up > 0 {
			up *= math.Exp(-t.theta * fall)
			down *= math.Exp(-(t.theta + 1) * fall)
			falls++
		}
		before = epsilon
		for ; i >= 0; i-- {
			above := float64(t.low+i)*t.step - epsilon
			if above <= 0 {
				break
			}
			p := math.Exp(-t.theta*above) * t.q[i]
			up += p
			down += p * math.Exp(-above)
		}
		// What the sums rounded, of up to as many terms and as many falls.
		rounding := roundoff * float64(len(t.q)+2*falls) * up
		if t.lower {
			rounding = -rounding
		}
		sum := up - down
		lacks[j] = (t.slack + math.Abs(rounding)) / math.Max(sum, math.SmallestNonzeroFloat64)
		deltas[j] = max(0, sum+rounding+t.signed()) * math.Exp(t.log-t.theta*epsilon)
	}
	for enough < len(lacks) && lacks[enough] <= math.Max(digits, fewer*lacks[0]) {
		enough++
	}
	return deltas, enough, nil
}

// nearest returns the tilt whose mean lies next to epsilon.
func nearest(all []*tilted, epsilon float64) *tilted {
	return slices.MinFunc(all, func(a, b *tilted) int {
		return cmp.Compare(math.Abs(a.mean-epsilon), math.Abs(b.mean-epsilon))
	})
}

// epsilon solves delta(epsilon) = target; inside says whether it lies in the
// window, or else is known to lie below what is returned. On a cell of the grid
// delta is up - e^epsilon down, with up and down the sums of p and of p e^-l over
// the losses above, so the cell's own solution is a logarithm. The slack is
// charged at the solution without it, where it weighs more than at the final
// one (for the pessimistic side; the optimistic one charges it twice over).
func (t *tilted) epsilon(target float64) (epsilon float64, inside bool) {
	first, inside := t.cross(target)
	charge := t.slack * math.Exp(t.log-t.theta*first)
	switch {
	case !inside:
		return first, false
	case t.lower:
		return t.cross(target + 2*charge)
	case charge < target/2:
		return t.cross(target - charge)
	}
	// Rounding weighs as much as the answer: go on to where it is half of it.
	half, inside := t.cross(target / 2)
	return math.Max(half, (t.log+math.Log(2*t.slack/target))/math.Max(t.theta, math.SmallestNonzeroFloat64)), inside
}

// exactly counts the factors after which a power is computed anew, so that their rounding does not add up.
const exactly = 32

func (t *tilted) cross(target float64) (epsilon float64, inside bool) {
	// Relative to the Chernoff point, so that nothing overflows.
	reference := 0.0
	if t.theta > 0 {
		reference = (t.log - math.Log(target)) / t.theta
	}
	scaled := target * math.Exp(t.theta*reference-t.log)
	up, down := 0.0, 0.0
	tilted, lost, rise, gain := 0.0, 0.0, math.Exp(t.theta*t.step), math.Exp(t.step)
	for i := len(t.q) - 1; i >= 0; i-- {
		l := float64(t.low+i)*t.step - reference
		if i%exactly == 0 || i == len(t.q)-1 {
			tilted, lost = math.Exp(-t.theta*l), math.Exp(-l)
		} else {
			tilted, lost = tilted*rise, lost*gain
		}
		p := t.q[i] * tilted
		up += p
		down += p * lost
		if up > scaled {
			epsilon := math.Log((up - scaled) / down)
			if epsilon >= l-t.step {
				return math.Max(0, epsilon+reference), true
			}
		}
		if l+reference < 0 {
			return 0, true // delta(0) is already below the target
		}
	}
	bottom := math.Max(0, float64(t.low)*t.step)
	if t.lower && t.theta > 0 {
		return 0, false
	}
	return bottom, bottom == 0
}
