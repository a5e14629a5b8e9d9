package lift

import (
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/plan"
)

// Sums are those of all respondents' vectors, each of norm 1 in a metric, with the variance of the noise in each number.
type Sums struct {
	Of       []float64
	Variance float64
	Steps    []float64 // by look how much it added to each comparison (Steps)
}

// Add adds those of other people.
func (s Sums) Add(other Sums) Sums {
	all := Sums{Of: make([]float64, len(s.Of)), Variance: s.Variance + other.Variance}
	for i := range all.Of {
		all.Of[i] = s.Of[i] + other.Of[i]
	}
	return all
}

// Mean is what sums say of a metric in one arm.
type Mean struct {
	People   float64 // who told it, with noise
	Mean     float64 // of what is left of the metric
	Sampling float64 // variance of the mean, by who was drawn
	Noise    float64 // and by the noise
}

// Variance returns that of the mean.
func (m Mean) Variance() float64 { return m.Sampling + m.Noise }

// least is a variance of a number in [0, 1] below which none is taken to be: sums of few people may say less than nothing.
const least = 1e-6

// MeanOf reads a metric in an arm.
func MeanOf(e plan.Experiment, s Sums, arm, metric int) Mean {
	own, m := s.Of[At(e, arm, metric):][:Each], e.Metrics[metric]
	people := own[0] + own[1]
	n := math.Max(1, people)
	u := own[0] / n
	sampling := math.Max(least, u-u*u-math.Max(0, own[2]/(spread*n))) / n
	noise := s.Variance * ((1-u)*(1-u) + u*u) / (n * n)
	width := m.High - m.Low
	return Mean{People: people, Mean: m.Low + width*u, Sampling: width * width * sampling, Noise: width * width * noise}
}

// People returns how many are in an arm, by all metrics, with the deviation.
func People(e plan.Experiment, s Sums, arm int) (n, deviation float64) {
	for metric := range e.Metrics {
		n += MeanOf(e, s, arm, metric).People
	}
	k := float64(len(e.Metrics))
	return n / k, math.Sqrt(2 * s.Variance / k)
}

// Uneven returns by how many deviations the people of an arm are more or fewer than its share of all, that farthest away
// of all arms'.
func Uneven(e plan.Experiment, s Sums) float64 {
	all, worst, counts := 0.0, 0.0, make([]float64, len(e.Arms))
	noise := 0.0
	for arm := range counts {
		counts[arm], noise = People(e, s, arm)
		all += counts[arm]
	}
	for arm, n := range counts {
		p := ShareOf(e, arm)
		// Of n_a - p n the noise is (1-p) times its own, and p times those of the others.
		variance := p*(1-p)*math.Max(1, all) + noise*noise*((1-p)*(1-p)+p*p*float64(len(counts)-1))
		worst = math.Max(worst, math.Abs(n-p*all)/math.Sqrt(variance))
	}
	return worst
}

// TooUneven is a number of deviations above which respondents were not drawn into arms as planned.
const TooUneven = 3.29

// ShareOf returns the part of all that an arm has as planned.
func ShareOf(e plan.Experiment, arm int) float64 {
	if len(e.Shares) == 0 {
		return 1 / float64(len(e.Arms))
	}
	return e.Shares[arm]
}

// Lift is how much more an arm has of a metric than the first.
type Lift struct {
	Arm, Metric int
	Best        float64 // guess
	// Evidence is how many deviations it is above zero, before the cut is thought of.
	Evidence float64
	Drawn    [2]float64 // the interval by who was drawn,
	Noised   [2]float64 // by the noise too,
	Whole    [2]float64 // and by what was cut off
	// Relative are these as parts of the first arm's mean, with the error of that; not numbers where that is not clear of zero.
	Base     Mean
	Relative struct {
		Best                 float64
		Drawn, Noised, Whole [2]float64
	}
}

// clear is by how many errors the first arm's mean is above zero where parts of it are told: of fewer the interval of a
// quotient does not hold.
const clear = 8

// comparisons returns how many there are, which hold at once.
func comparisons(e plan.Experiment) int { return (len(e.Arms) - 1) * len(e.Metrics) }

// Z returns how many deviations an interval of this look has on either side: of all comparisons at once, and of all looks.
func Z(e plan.Experiment, s Sums) float64 { return Lines(e, s.Steps)[max(1, e.Look)-1] }

// Level returns the confidence of an interval of so many deviations on either side.
func Level(z float64) float64 { return 1 - 2*math.Exp(prob.LogNormalSurvival(z)) }

// Of compares an arm with the first, at the line of this look.
func Of(e plan.Experiment, s Sums, arm, metric int) Lift { return Beyond(e, s, arm, metric, Z(e, s)) }

// Beyond compares an arm with the first, with intervals of z deviations on either side.
func Beyond(e plan.Experiment, s Sums, arm, metric int, z float64) Lift {
	m := e.Metrics[metric]
	control, own := MeanOf(e, s, 0, metric), MeanOf(e, s, arm, metric)
	d := own.Mean - control.Mean
	sampling, all := math.Sqrt(control.Sampling+own.Sampling), math.Sqrt(control.Variance()+own.Variance())
	l := Lift{Arm: arm, Metric: metric, Evidence: d / all, Base: control}
	per := 1.0
	if m.Per != "" {
		per = m.PerMean
	}
	around := func(mid, half float64) [2]float64 { return [2]float64{mid - half, mid + half} }
	scaled := func(x [2]float64) [2]float64 { return [2]float64{x[0] / per, x[1] / per} }
	back := guess(m, 1) // of what is seen, to what there is
	l.Best = back * d / per
	l.Drawn, l.Noised = scaled(around(back*d, back*z*sampling)), scaled(around(back*d, back*z*all))
	l.Whole = scaled(uncut(m, d, all, z))

	// Relative to the first arm's mean: what is left, and what was subtracted. (own + taken)/(control + taken) - 1.
	l.Base.Mean += m.Taken
	base := l.Base.Mean
	rel := d / base
	part := func(one, first, taken float64) float64 {
		return math.Sqrt(one+(1+rel)*(1+rel)*first+rel*rel*taken) / math.Abs(base)
	}
	drawn := part(own.Sampling, control.Sampling, 0)
	whole := part(own.Variance(), control.Variance(), m.TakenError*m.TakenError)
	l.Relative.Best = back * rel
	l.Relative.Drawn, l.Relative.Noised = around(back*rel, back*z*drawn), around(back*rel, back*z*whole)
	l.Relative.Whole = uncut(m, rel, whole, z)
	if !(base >= clear*math.Hypot(math.Sqrt(control.Variance()), m.TakenError)) {
		none := [2]float64{math.NaN(), math.NaN()}
		l.Relative.Best, l.Relative.Drawn, l.Relative.Noised, l.Relative.Whole = none[0], none, none, none
	}
	return l
}

// uncut returns the effects that go with what is seen, d with a deviation, at the level of z deviations on either side. An
// effect that is alike for all loses at most one part of itself to the cut, and one in proportion at most another. An effect is
// refused where both kinds of it would show what is seen, or more, less often than the level leaves. The farther apart the
// kinds are, the more of that is on one side (Imbens and Manski, Econometrica 2004): here by the effect that is asked about, and
// not by the one that is seen, with which small ones would be refused too often.
func uncut(m plan.Measure, d, deviation, z float64) [2]float64 {
	if m.Capped || m.LostShare == 0 || !(deviation > 0) {
		return [2]float64{d - z*deviation, d + z*deviation}
	}
	// Of an effect x above zero what is seen is from (1-LostShare) x to (1-LostAlike) x in the mean, each with a deviation.
	upper := func(x float64) float64 { // the most that may be seen of it
		kept := 1 - m.LostAlike
		if x < 0 {
			kept = 1 - m.LostShare
		}
		return kept*x + deviation*oneSided(z, math.Abs(x)*(m.LostShare-m.LostAlike)/deviation)
	}
	solve := func(f func(x float64) float64) float64 { // f rises
		reach := (math.Abs(d) + z*deviation) / (1 - m.LostShare)
		low, high := -2*reach, 2*reach
		for range 80 {
			if mid := (low + high) / 2; f(mid) < 0 {
				low = mid
			} else {
				high = mid
			}
		}
		return (low + high) / 2
	}
	return [2]float64{
		solve(func(x float64) float64 { return upper(x) - d }),
		solve(func(x float64) float64 { return -upper(-x) - d }),
	}
}

// oneSided returns c for which a normal number is above c or below -c-apart as often as it is beyond z on either side.
func oneSided(z, apart float64) float64 {
	c, level := z, math.Erfc(z/math.Sqrt2)
	for range 12 { // by Newton's rule, which rises to it: what is beyond c falls, and is convex
		beyond := (math.Erfc(c/math.Sqrt2) + math.Erfc((c+apart)/math.Sqrt2)) / 2
		steep := (math.Exp(-c*c/2) + math.Exp(-(c+apart)*(c+apart)/2)) / math.Sqrt(2*math.Pi)
		c += (beyond - level) / steep
	}
	return c
}

// guess is between both.
func guess(m plan.Measure, d float64) float64 {
	if m.Capped {
		return d
	}
	return d / (1 - (m.LostAlike+m.LostShare)/2)
}
