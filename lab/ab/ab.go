// Package ab runs experiments on made-up people again and again, private ones beside tests that see everybody's numbers.
// Used by its own tests, which print the table of docs/experiments.md.
package ab

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/lift/power"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/table"
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

// Revenue draws nothing of most, and a long tail of the others.
func Revenue(r *rand.Rand) (before, of float64) {
	z := r.NormFloat64()
	buys := 1 / (1 + math.Exp(2-z))
	spent := func() float64 {
		if r.Float64() < buys {
			return math.Exp(1 + 0.7*r.NormFloat64() + 0.5*z)
		}
		return 0
	}
	return spent(), spent()
}

// Conversion draws zeros, and ones of a share of people.
func Conversion(share float64) People {
	return func(r *rand.Rand) (before, of float64) {
		if r.Float64() < share {
			return 0, 1
		}
		return 0, 0
	}
}

// Clicks draws views, and the clicks that some of them got; both go with how often somebody is there.
func Clicks(r *rand.Rand) (views, clicks float64) {
	there, often := 10*math.Exp(0.6*r.NormFloat64()), 0.08*math.Exp(0.4*r.NormFloat64()-0.08)
	left := 1.0
	for left *= r.Float64(); left > math.Exp(-there); left *= r.Float64() {
		views++
		if r.Float64() < often {
			clicks++
		}
	}
	return views, clicks
}

// Trial is an experiment, as often as its outcome is counted.
type Trial struct {
	People People
	Before bool
	Per    bool    // what is drawn before is what the metric is divided by
	Lift   float64 // of the second arm
	Alike  bool    // the same for everybody, in the place of in proportion
	Bits   bool    // the metric is zero or one
	Share  float64 // of the second arm
	N      int
	Plan   plan.Experiment
	Sigma  float64 // of each sum's noise, in people
	Mean   float64 // of the metric, without treatment
	Truth  float64 // of what is compared: the metric, or the capped one

	everybody [][2]float64
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
	theta, real := 0.0, t.Lift*t.Mean
	if t.Per { // what is left of the metric without its share of what it is divided by
		theta = (arms[0].y + arms[1].y) / (arms[0].x + arms[1].x)
	}
	d, s := plain(arms, theta)
	o.PlainCovers, o.PlainFound = o.PlainCovers+within(d-z*s, d+z*s, real), o.PlainFound+found(d/s)
	if t.Before {
		all := moments{arms[0].n + arms[1].n, arms[0].x + arms[1].x, arms[0].y + arms[1].y, arms[0].xx + arms[1].xx, arms[0].xy + arms[1].xy, 0}
		theta = (all.xy - all.x*all.y/all.n) / (all.xx - all.x*all.x/all.n)
	}
	d, s = plain(arms, theta)
	o.AdjustedCovers, o.AdjustedFound = o.AdjustedCovers+within(d-z*s, d+z*s, real), o.AdjustedFound+found(d/s)
}

func (t Trial) treated(r *rand.Rand, of float64) float64 {
	switch {
	case t.Alike:
		return of + t.Lift*t.Mean
	case t.Bits: // more of those who had none
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

// Draw draws a million people, by whom the truth is known.
func (t Trial) Draw(r *rand.Rand) Trial {
	t.everybody = make([][2]float64, 1_000_000)
	for i := range t.everybody {
		t.everybody[i][0], t.everybody[i][1] = t.People(r)
		t.Mean += t.everybody[i][1] / float64(len(t.everybody))
	}
	return t
}

// Fit makes the plan of a trial from so many other people, and finds what it is to cover: from their rows, or from a release of
// tables of them.
func (t Trial) Fit(r *rand.Rand, others int, earlier *Earlier) (Trial, error) {
	k := power.Known{}
	for range others {
		before, of := t.People(r)
		row := power.Row{Of: of, People: 1}
		if t.Before {
			row.Before = before
		}
		if t.Per {
			row.Per = before
		}
		k.Rows = append(k.Rows, row)
	}
	m := plan.Measure{Name: "metric"}
	if t.Before {
		m.Before = "before"
	}
	if t.Per {
		m.Per = "before"
	}
	if earlier != nil {
		var err error
		if k, err = earlier.release(r, k.Rows).Known(m); err != nil {
			return t, err
		}
	}
	m, _, err := k.Fit(m, t.N, t.Sigma)
	t.Plan = plan.Experiment{Arms: []string{"control", "new"}, Shares: []float64{1 - t.Share, t.Share}, Looks: 1, Look: 1, Metrics: []plan.Measure{m}}
	t.Truth = t.Lift * t.Mean
	if t.Per {
		t.Truth /= m.PerMean // what is seen is told for as many as the others had
	}
	if m.Capped {
		t.Truth = 0
		many := float64(len(t.everybody))
		for _, row := range t.everybody {
			was, is := []float64{row[1], row[0]}, []float64{t.treated(r, row[1]), row[0]}
			cut := func(x float64) float64 { return math.Max(m.Low, math.Min(m.High, x)) }
			t.Truth += (cut(lift.Left(m, is)) - cut(lift.Left(m, was))) / many
		}
		if t.Per {
			t.Truth /= m.PerMean
		}
	}
	return t, err
}

// Earlier describes a collection of tables of a metric and of what was before, by cuts that are half as large again each.
type Earlier struct {
	columns []plan.Column
	code    *crosscode.Code
	noise   float64 // deviation of each number
}

// NewEarlier designs one of so many people, at epsilon 1 and 8,192 bits, with cuts from least to most, or of zeros and ones.
func NewEarlier(people int, least, most float64) (*Earlier, error) {
	e := &Earlier{}
	c := plan.Column{Values: []string{"0", "1"}}
	if least < most {
		c = plan.Column{}
		for at := least; at <= most; at *= 1.5 {
			c.Cuts = append(c.Cuts, at)
		}
	}
	for _, name := range []string{"metric", "before"} {
		c.Name = name
		e.columns = append(e.columns, c)
	}
	p := example.Table()
	p.Crowd.Minimum, p.Budget.Epsilon, p.Budget.Delta = people, 1, 1e-6
	p.Question.Table.Columns, p.Question.Table.Answered = e.columns, 8192
	p, err := table.Design(p)
	if err != nil {
		return nil, err
	}
	q, err := table.New(p)
	if err != nil {
		return nil, err
	}
	e.code = q.Code()
	e.noise = q.Rows().Spec().Deviation(people, vector.Overlap(e.code.Alike(func(size int) float64 { return math.Max(0.15, 1/float64(size)) })))
	return e, nil
}

// release returns what a release of these people tells, with normal noise in the place of bits.
func (e *Earlier) release(r *rand.Rand, people []power.Row) results.Crosstabs {
	size := e.code.Sizes[0]
	both, of, before := make([]float64, size*size), make([]float64, size), make([]float64, size)
	at := func(x float64) int {
		if e.columns[0].Cuts == nil {
			return int(x)
		}
		i := sort.SearchFloat64s(e.columns[0].Cuts, x)
		return i
	}
	for _, p := range people {
		i, j := at(p.Of), at(p.Before+p.Per)
		both[i*size+j], of[i], before[j] = both[i*size+j]+1, of[i]+1, before[j]+1
	}
	s, err := tables.Again(e.code, len(people), e.noise, [][]float64{of, before}, [][]float64{both})
	if err != nil {
		panic("ab: " + err.Error())
	}
	for i := range s.Vector {
		s.Vector[i] += e.noise * r.NormFloat64()
	}
	values := make([]string, size)
	return results.Crosstabs{Sums: s, Columns: e.columns, Values: [][]string{values, values}}
}
