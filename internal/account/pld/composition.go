package pld

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Composition is the sum of independent losses: rounds of one or several
// distributions on the same grid. The zero value is the empty composition, of
// loss zero. It keeps the distributions and convolves them tilted towards the
// answer (see tilt), so that a delta of 1e-100 has as many good digits as one of
// 1e-2. What it convolved answers later questions too, for which it has the digits:
// an answer depends on earlier questions by 1e-9 of itself, on the side of the composition.
type Composition struct {
	parts []part

	mu   sync.Mutex
	kept []*tilted // what was convolved last, oldest first
}

// mostKept bounds the memory of a composition: a law has up to some 100,000 points.
const mostKept = 8

type part struct {
	*Distribution
	rounds int
}

// Compose is rounds independent (or adaptively chosen) uses of one distribution.
func Compose(d *Distribution, rounds int) (*Composition, error) {
	c := new(Composition)
	return c, c.Add(d, rounds)
}

// Add adjoins rounds uses of d, which must have the step and the side of those
// already there.
func (c *Composition) Add(d *Distribution, rounds int) error {
	if rounds < 1 {
		return fmt.Errorf("pld: %d rounds", rounds)
	}
	if len(c.parts) > 0 {
		if first := c.parts[0]; first.step != d.step || first.lower != d.lower {
			return errors.New("pld: cannot compose distributions of different steps or sides")
		}
	}
	c.parts, c.kept = append(c.parts, part{d, rounds}), nil
	return nil
}

// infinite returns the probability that some round has infinite loss.
func (c *Composition) infinite() float64 {
	log := 0.0
	for _, p := range c.parts {
		log += float64(p.rounds) * math.Log1p(-p.Distribution.infinite)
	}
	return -math.Expm1(log)
}

// cumulants are K(theta) = ln sum p e^(theta l) and its first two derivatives,
// over the finite losses.
type cumulants struct{ log, mean, variance float64 }

func (d *Distribution) cumulants(theta float64) cumulants {
	// Relative to the largest term, so that nothing overflows.
	prob.Count(len(d.log))
	peak := math.Inf(-1)
	for i, log := range d.log {
		peak = max(peak, log+theta*d.loss(i))
	}
	var s0, s1, s2 float64
	for i, log := range d.log {
		l := d.loss(i)
		if x := log + theta*l - peak; x > -700 {
			w := math.Exp(x)
			s0, s1, s2 = s0+w, s1+w*l, s2+w*l*l
		}
	}
	mean := s1 / s0
	return cumulants{peak + math.Log(s0), mean, max(0, s2/s0-mean*mean)}
}

func (d *Distribution) loss(i int) float64 { return float64(d.low+i) * d.step }

func (c *Composition) cumulants(theta float64) cumulants {
	var sum cumulants
	for _, p := range c.parts {
		k, n := p.cumulants(theta), float64(p.rounds)
		sum.log += n * k.log
		sum.mean += n * k.mean
		sum.variance += n * k.variance
	}
	return sum
}

// highest returns the largest finite loss of the composition.
func (c *Composition) highest() float64 {
	sum := 0.0
	for _, p := range c.parts {
		sum += float64(p.rounds) * p.loss(len(p.mass)-1)
	}
	return sum
}

// empty reports that some round's loss is always infinite.
func (c *Composition) empty() bool {
	for _, p := range c.parts {
		if len(p.mass) == 0 {
			return true
		}
	}
	return false
}

// Delta returns the hockey stick at epsilon >= 0: rounded up for a pessimistic
// composition, down for an optimistic one.
func (c *Composition) Delta(epsilon float64) (float64, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return 0, fmt.Errorf("pld: epsilon %v: need a finite number from 0", epsilon)
	}
	deltas, err := c.Deltas([]float64{epsilon}, -1)
	if err != nil {
		return 0, err
	}
	return deltas[0], nil
}

// point is a tilt with the cumulants of the composition there.
type point struct {
	theta float64
	cumulants
}

func (c *Composition) point(theta float64) point { return point{theta, c.cumulants(theta)} }

// at returns the tilt that makes epsilon the mean: K'(theta) = epsilon. It starts from the last one that was
// convolved, if its mean is not above that.
func (c *Composition) at(epsilon float64) point {
	var from point
	if n := len(c.kept); n > 0 && c.kept[n-1].mean <= epsilon {
		from = c.kept[n-1].point
	} else {
		from = c.point(0)
	}
	return c.saddle(from, func(p point) (value, slope, tolerance float64) {
		return p.mean - epsilon, p.variance, 0.05 * math.Sqrt(p.variance)
	})
}

// Deltas returns Delta at each of the epsilons, which do not fall, up to the first that is
// at most neglect, where it ends. It convolves once for every stretch of epsilons over
// which one tilt keeps its digits.
func (c *Composition) Deltas(epsilons []float64, neglect float64) ([]float64, error) {
	inf := c.infinite()
	deltas := make([]float64, 0, len(epsilons))
	for len(deltas) < len(epsilons) {
		rest := epsilons[len(deltas):]
		if !(rest[0] >= 0) {
			return nil, fmt.Errorf("pld: epsilon %v: need a number from 0", rest[0])
		}
		if len(c.parts) == 0 || c.empty() || rest[0] >= c.highest() {
			if inf <= neglect {
				return deltas, nil
			}
			deltas = append(deltas, inf)
			continue
		}
		stretch, err := c.stretch(rest, len(deltas) == 0)
		if err != nil {
			return nil, err
		}
		for _, d := range stretch {
			if d = min(1, inf+d); d <= neglect {
				return deltas, nil
			}
			deltas = append(deltas, d)
		}
	}
	return deltas, nil
}

// stretch answers the first of the epsilons, and the next ones for which one tilt has the digits: one
// that was kept, or else a new one.
func (c *Composition) stretch(epsilons []float64, kept bool) ([]float64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept && len(c.kept) > 0 {
		deltas, enough, err := nearest(c.kept, epsilons[0]).deltas(epsilons, keptDigits, 0)
		if enough > 0 || err != nil {
			return deltas[:enough], err
		}
	}
	t, err := c.tilt(c.at(epsilons[0]))
	if err != nil {
		return nil, err
	}
	c.keep(t)
	deltas, enough, err := t.deltas(epsilons, digits, fewer)
	if err != nil {
		return nil, err
	}
	return deltas[:max(1, enough)], nil
}

func (c *Composition) keep(t *tilted) {
	if len(c.kept) == mostKept {
		c.kept = slices.Delete(c.kept, 0, 1)
	}
	c.kept = append(c.kept, t)
}

// Profile returns Delta at epsilon = 0, step, ..., at so many points, or up to the first that is at
// most neglect, where it ended.
func (c *Composition) Profile(points int, step, neglect float64) (deltas []float64, ended bool, err error) {
	const block = 1 << 13 // one walk looks at all epsilons that are asked for
	for len(deltas) < points && !ended {
		epsilons := make([]float64, min(block, points-len(deltas)))
		for i := range epsilons {
			epsilons[i] = float64(len(deltas)+i) * step
		}
		more, err := c.Deltas(epsilons, neglect)
		if err != nil {
			return nil, false, err
		}
		deltas, ended = append(deltas, more...), len(more) < len(epsilons)
	}
	return deltas, ended, nil
}

// Epsilon returns the least epsilon >= 0 whose Delta is at most delta: infinite if
// the infinite mass alone exceeds delta.
func (c *Composition) Epsilon(delta float64) (float64, error) {
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("pld: delta %v: need 0 < delta < 1", delta)
	}
	if len(c.parts) == 0 {
		return 0, nil
	}
	left := delta - c.infinite()
	if left <= 0 {
		return math.Inf(1), nil
	}
	if c.empty() {
		return 0, nil
	}
	// With x the loss beyond epsilon, 1-e^-x <= c e^(theta x) for c =
	// theta^theta/(1+theta)^(1+theta), so delta <= c e^(K - theta epsilon). The
	// epsilon this gives is least where theta K' - K + ln(1+theta) = ln 1/delta;
	// that tilt is right for the exact answer too, which lies a little below.
	target := -math.Log(left)
	at := c.saddle(c.point(0), func(p point) (value, slope, tolerance float64) {
		return p.theta*p.mean - p.log + math.Log1p(p.theta) - target, p.theta*p.variance + 1/(1+p.theta), 0.05 * math.Max(1, target)
	})
	for {
		t, err := c.tilt(at)
		if err != nil {
			return 0, err
		}
		epsilon, inside := t.epsilon(left)
		if inside || at.theta == 0 {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.keep(t)
			return epsilon, nil
		}
		// The answer lies below the window: tilt less.
		theta := at.theta / 2
		if theta < 1e-3 {
			theta = 0
		}
		at = c.point(theta)
	}
}

// saddle finds the tilt where an increasing function passes zero, to within
// tolerance; the first one, from, if it starts above it. It steps by the slope, and
// halves what is left where that leads out. Any tilt is valid, so a coarse answer
// costs digits, never soundness.
func (c *Composition) saddle(from point, f func(point) (value, slope, tolerance float64)) point {
	v, slope, _ := f(from)
	if v >= 0 || from.variance == 0 {
		return from
	}
	// A grid point weighs e^36 times its neighbour at this tilt: only the top
	// one is left.
	most := 36 / c.parts[0].step
	low, high := from, most
	theta := 1 / math.Sqrt(from.variance)
	if from.theta > 0 {
		theta = math.Min(4*from.theta, from.theta-v/slope)
	}
	theta = math.Min(most, theta)
	for range 60 {
		at := c.point(theta)
		v, slope, tolerance := f(at)
		switch {
		case math.Abs(v) <= tolerance || v < 0 && theta == most:
			return at
		case v < 0:
			low = at
		default:
			high = theta
		}
		farthest := high
		if high == most {
			farthest = math.Min(most, 4*theta)
		}
		next := theta - v/slope
		switch {
		case next > low.theta && next < farthest:
			theta = next
		case high == most && v < 0:
			theta = farthest
		default:
			theta = (low.theta + high) / 2
		}
	}
	return low
}
