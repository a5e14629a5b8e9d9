package lift

import (
	"math"
	"sync"

	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/plan"
)

// MostLooks bounds how many are planned.
const MostLooks = 10

// errorRate bounds how often something is found where nothing is, of all looks and comparisons together.
const errorRate = 0.05

var boundaries sync.Map // of [2]int, and lines of made

// Line returns how many deviations of all looks' people a first line is from nothing, for what a plan compares.
func Line(e plan.Experiment) float64 { return boundary(e.Looks, comparisons(e)) }

// boundary returns the c of O'Brien and Fleming for so many looks at as many people each: of a walk of normal steps none of
// the sums S_k exceeds c sqrt(looks) in size, but with probability errorRate by the number of comparisons.
func boundary(looks, comparisons int) float64 {
	key := [2]int{looks, comparisons}
	if c, ok := boundaries.Load(key); ok {
		return c.(float64)
	}
	alpha := errorRate / float64(comparisons)
	low, high := -prob.NormalLogQuantile(math.Log(alpha/2)), 9.0
	if looks > 1 {
		for high-low > 1e-6 {
			c := (low + high) / 2
			if w := equal(c, looks); w.left > alpha {
				low = c
			} else {
				high = c
			}
		}
		low = high
	}
	boundaries.Store(key, low)
	return low
}

// equal returns a walk of as many equal steps, that stops where it is beyond c sqrt(looks).
func equal(c float64, looks int) walk {
	w := walk{}
	for range looks {
		w = w.stepped(1)
		w.stop(c*math.Sqrt(float64(looks)), 1)
	}
	return w
}

// walk is a sum of normal steps that has not left the lines so far: its density on points that are as far apart, from one
// end to the other.
type walk struct {
	density []float64 // none: it stands at zero
	end     float64
	step    float64 // variance of the step that is to be taken
	left    float64 // probability that it left
}

// smallest is how small a step may be, as a part of the way between lines, for its density to be seen at the points.
const smallest = 1.0 / 400

// stepped returns the walk before a step of that variance.
func (w walk) stepped(variance float64) walk {
	w.step = variance
	return w
}

// tiny reports whether the step is too small to be added up.
func (w walk) tiny() bool { return math.Sqrt(w.step) < smallest*2*w.end }

// points returns how many a step needs, an odd number.
func points(end, deviation float64) int {
	return 2*min(1000, max(80, int(math.Ceil(3*end/deviation)))) + 1
}

// weight returns that of a point by Simpson's rule.
func weight(i, of int, h float64) float64 {
	switch {
	case i == 0 || i == of-1:
		return h / 3
	case i%2 == 1:
		return 4 * h / 3
	}
	return 2 * h / 3
}

// beyond returns the probability that the walk leaves [-end, end] by its step.
func (w walk) beyond(end float64) (p float64) {
	d := math.Sqrt(w.step)
	if w.density == nil {
		return math.Erfc(end / d / math.Sqrt2)
	}
	h := 2 * w.end / float64(len(w.density)-1)
	for i, x := range w.density {
		at := -w.end + float64(i)*h
		p += weight(i, len(w.density), h) * x * (math.Erfc((end-at)/d/math.Sqrt2) + math.Erfc((end+at)/d/math.Sqrt2)) / 2
	}
	return p
}

// stop takes the step, and leaves out what is then beyond [-end, end], on points that a next step of that variance sees.
func (w *walk) stop(end, then float64) {
	w.left += w.beyond(end)
	d := math.Sqrt(w.step)
	next := make([]float64, points(end, math.Min(d, math.Sqrt(then))))
	h := 2 * end / float64(len(next)-1)
	normal := func(x float64) float64 { return math.Exp(-x*x/w.step/2) / d / math.Sqrt(2*math.Pi) }
	before := 2 * w.end / float64(len(w.density)-1)
	for j := range next {
		y := -end + float64(j)*h
		if w.density == nil {
			next[j] = normal(y)
		}
		for i, p := range w.density {
			next[j] += weight(i, len(w.density), before) * p * normal(y+w.end-float64(i)*before)
		}
	}
	w.density, w.end = next, end
}

// Lines returns by how many deviations a lift is from zero where a look stops, for each look that is planned. What chance may
// find until a look is what O'Brien and Fleming's test spends until then where looks are alike. Lines follow from how much
// each look really added to a comparison (Steps), and that must not follow from what earlier looks found. Comparisons have
// lines of their own, as noise is worth more people to one than to another: Lines returns the highest, which holds for each.
// A look that was withheld has the line before it, spends nothing, and leaves its part to the next. Looks that are not made
// yet are taken to be as large as the mean of those that were.
func Lines(e plan.Experiment, steps []float64) []float64 {
	if e.Looks <= 1 {
		steps = nil
	}
	n := comparisons(e)
	key := made{looks: max(1, e.Looks), comparisons: n, looked: len(steps) / n}
	highest := make([]float64, key.looks)
	for c := range n {
		for k := range key.looked {
			key.steps[k] = steps[k*n+c]
		}
		known, ok := boundaries.Load(key)
		if !ok {
			known = key.lines()
			boundaries.Store(key, known)
		}
		for k, line := range known.([]float64) {
			highest[k] = math.Max(highest[k], line)
		}
		if key.looked == 0 { // all are alike
			break
		}
	}
	return highest
}

// made holds what lines follow from.
type made struct {
	looks, comparisons, looked int
	steps                      [MostLooks]float64
}

// lines finds them.
func (m made) lines() []float64 {
	c, lines := boundary(m.looks, m.comparisons), make([]float64, m.looks)
	uneven, looked, mean := false, 0.0, 0.0
	for _, s := range m.steps[:m.looked] {
		uneven = uneven || s != m.steps[0]
		if s > 0 {
			looked, mean = looked+1, mean+s
		}
	}
	for k := range lines {
		lines[k] = c * math.Sqrt(float64(m.looks)/float64(k+1))
	}
	if !uneven {
		return lines
	}
	for k := m.looked; k < m.looks; k++ {
		m.steps[k] = mean / looked
	}
	next := func(k int) float64 { // step behind a look
		for _, s := range m.steps[k+1 : m.looks] {
			if s > 0 {
				return s
			}
		}
		return mean
	}
	var alike, real walk
	far, spent := 0.0, 0.0 // variance of the walk; what tiny looks may have spent
	for k, step := range m.steps[:m.looks] {
		alike = alike.stepped(1)
		alike.stop(c*math.Sqrt(float64(m.looks)), 1)
		if !(step > 0) { // what was not beyond the line before is not beyond this one
			if k > 0 {
				lines[k] = lines[k-1]
			}
			continue
		}
		far += step
		real = real.stepped(real.step + step)
		may := alike.left - real.left - spent
		if real.density != nil && real.tiny() { // it counts by itself, and the walk goes on from before
			lines[k] = -prob.NormalLogQuantile(math.Log(may / 2))
			spent += may
			continue
		}
		low, high := 0.0, 40*math.Sqrt(far)
		for range 60 {
			if mid := (low + high) / 2; real.beyond(mid) > may {
				low = mid
			} else {
				high = mid
			}
		}
		real.stop(high, next(k))
		real.step = 0
		lines[k] = high / math.Sqrt(far)
	}
	return lines
}

// Steps returns how much a look of so many respondents adds to the way between lines, by arm and metric: them, and as many as
// its noise is worth in that comparison, by what the sums of all looks say.
func Steps(e plan.Experiment, s Sums, respondents int, noise float64) []float64 {
	steps := make([]float64, 0, comparisons(e))
	for arm := 1; arm < len(e.Arms); arm++ {
		own, first := ShareOf(e, arm), ShareOf(e, 0)
		each := (1/(first*first) + 1/(own*own)) / (1/first + 1/own)
		for metric := range e.Metrics {
			if respondents == 0 {
				steps = append(steps, 0)
				continue
			}
			steps = append(steps, float64(respondents)+each*noise*worth(e, s, metric))
		}
	}
	return steps
}

// worth returns how many people one unit of the noise's variance is worth in a metric, of one person in each arm.
func worth(e plan.Experiment, s Sums, metric int) float64 {
	var drawn, heavy float64
	width := e.Metrics[metric].High - e.Metrics[metric].Low
	for arm := range e.Arms {
		m := MeanOf(e, s, arm, metric)
		n := math.Max(1, m.People)
		drawn += n * n * m.Sampling // of a person, weighed by people
		u := (m.Mean - e.Metrics[metric].Low) / width
		heavy += n * ((1-u)*(1-u) + u*u)
	}
	return width * width * heavy / drawn
}
