// Package ab runs experiments on made-up people again and again, private ones beside tests that see everybody's numbers.
// Used by its own tests, which print the table of docs/experiments.md.
package ab

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/plan"
)

// People draw what somebody has without a treatment, and had before.
type People func(r *rand.Rand) (before, of float64)

// Minutes of use have a long tail, and go with those of the week before.
func Minutes(r *rand.Rand) (before, of float64) {
	z := r.NormFloat64()
	return math.Exp(0.8 * z), math.Exp(0.8 * (0.8*z + 0.6*r.NormFloat64()))
}

// Heavy has a tail so long that its mean is hardly known.
func Heavy(r *rand.Rand) (before, of float64) {
	z := r.NormFloat64()
	return math.Exp(1.5 * z), math.Exp(1.5 * (0.7*z + math.Sqrt(0.51)*r.NormFloat64()))
}

// Conversion is one in twenty of people.
func Conversion(r *rand.Rand) (before, of float64) {
	if r.Float64() < 0.05 {
		return 0, 1
	}
	return 0, 0
}

// Trial is an experiment, as often as its outcome is counted.
type Trial struct {
	People People
	Before bool
	Lift   float64 // of the second arm
	Alike  bool    // the same for everybody, in the place of in proportion
	Share  float64 // of the second arm
	N      int
	Plan   plan.Experiment
	Sigma  float64 // of each sum's noise, in people
	Mean   float64 // of the metric, without treatment
	Truth  float64 // of what is compared: the metric, or the capped one
}

// Outcome counts trials.
type Outcome struct{ Covers, Found, PlainCovers, PlainFound, AdjustedCovers, AdjustedFound, Runs float64 }

// moments are of one arm's numbers.
type moments struct{ n, x, y, xx, xy, yy float64 }

func (m *moments) add(x, y float64) {
	m.n, m.x, m.y, m.xx, m.xy, m.yy = m.n+1, m.x+x, m.y+y, m.xx+x*x, m.xy+x*y, m.yy+y*y
}

// Run draws people once, and tells the private test and both others what these have. Sums are of the vectors that devices split,
// with the noise of both aggregators, or of a normal law where the noise is that of bits.
func (t Trial) Run(r *rand.Rand, aggregators bool, o *Outcome) {
	e := t.Plan
	sums, vector := make([]float64, lift.Numbers(e)), make([]uint64, lift.Numbers(e))
	var arms [2]moments
	for range t.N {
		before, of := t.People(r)
		arm := 0
		if r.Float64() < t.Share {
			arm = 1
			of = t.treated(r, of)
		}
		arms[arm].add(before, of)
		clear(vector)
		held := []float64{of, before}
		lift.Whole(e, arm, held[:lift.Held(e.Metrics[0])], vector)
		for i, x := range vector {
			sums[i] += float64(x) / lift.Scale
		}
	}
	law := noise.DiscreteGaussian{Sigma: t.Sigma / math.Sqrt2 * lift.Scale}
	for i := range sums {
		if aggregators {
			sums[i] += float64(law.Sample(r)+law.Sample(r)) / lift.Scale
		} else {
			sums[i] += t.Sigma * r.NormFloat64()
		}
	}
	l := lift.Of(e, lift.Sums{Of: sums, Variance: t.Sigma * t.Sigma}, 1, 0)
	within := func(low, high, truth float64) float64 {
		if low <= truth && truth <= high {
			return 1
		}
		return 0
	}
	z := -prob.NormalQuantile(0.025)
	found := func(x float64) float64 {
		if x > z {
			return 1
		}
		return 0
	}
	o.Runs++
	o.Covers += within(l.Whole[0], l.Whole[1], t.Truth)
	o.Found += found(l.Evidence)
	d, s := plain(arms, 0)
	o.PlainCovers, o.PlainFound = o.PlainCovers+within(d-z*s, d+z*s, t.Lift*t.Mean), o.PlainFound+found(d/s)
	theta := 0.0
	if t.Before {
		all := moments{arms[0].n + arms[1].n, arms[0].x + arms[1].x, arms[0].y + arms[1].y, arms[0].xx + arms[1].xx, arms[0].xy + arms[1].xy, 0}
		theta = (all.xy - all.x*all.y/all.n) / (all.xx - all.x*all.x/all.n)
	}
	d, s = plain(arms, theta)
	o.AdjustedCovers, o.AdjustedFound = o.AdjustedCovers+within(d-z*s, d+z*s, t.Lift*t.Mean), o.AdjustedFound+found(d/s)
}

func (t Trial) treated(r *rand.Rand, of float64) float64 {
	switch {
	case t.Alike:
		return of + t.Lift*t.Mean
	case t.Plan.Metrics[0].High == 1 && t.Plan.Metrics[0].Low == 0: // more of those who had none
		if of == 0 && r.Float64() < t.Lift*t.Mean/(1-t.Mean) {
			return 1
		}
		return of
	}
	return of * (1 + t.Lift)
}

// plain is the difference of two means, less theta times that of what was before, with its error: without privacy.
func plain(arms [2]moments, theta float64) (d, s float64) {
	for i, m := range arms {
		mean := m.y/m.n - theta*m.x/m.n
		square := (m.yy - 2*theta*m.xy + theta*theta*m.xx) / m.n
		s += (square - mean*mean) / m.n
		if i == 0 {
			mean = -mean
		}
		d += mean
	}
	return d, math.Sqrt(s)
}

// Fit makes the plan of a trial from so many other people, and finds what it is to cover.
func (t Trial) Fit(r *rand.Rand, others int) (Trial, error) {
	k := lift.Known{}
	for range others {
		before, of := t.People(r)
		row := lift.Row{Of: of, People: 1}
		if t.Before {
			row.Before = before
		}
		k.Rows = append(k.Rows, row)
	}
	m := plan.Measure{Name: "metric"}
	if t.Before {
		m.Before = "before"
	}
	m, _, err := k.Fit(m, t.N, t.Sigma)
	t.Plan = plan.Experiment{Arms: []string{"control", "new"}, Shares: []float64{1 - t.Share, t.Share}, Looks: 1, Look: 1, Metrics: []plan.Measure{m}}
	// The truth by a million people.
	const many = 1_000_000
	t.Mean = 0
	rows := make([][2]float64, many)
	for i := range rows {
		rows[i][0], rows[i][1] = t.People(r)
		t.Mean += rows[i][1] / many
	}
	t.Truth = t.Lift * t.Mean
	if m.Capped {
		t.Truth = 0
		for _, row := range rows {
			was, is := []float64{row[1], row[0]}, []float64{t.treated(r, row[1]), row[0]}
			cut := func(x float64) float64 { return math.Max(m.Low, math.Min(m.High, x)) }
			t.Truth += (cut(lift.Left(m, is)) - cut(lift.Left(m, was))) / many
		}
	}
	return t, err
}
