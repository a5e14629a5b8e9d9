package trend

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	compared "github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// experiment is what a round tells of an experiment: by how much more of an outcome people of each arm had than those of
// the first.
type experiment struct {
	first    string
	relative bool   // lifts are parts of what the first arm has, and otherwise differences of shares
	among    int    // comparisons of the plan, which hold at once
	none     string // why no lift is told; "" where it is
	lifts    []lift
}

// lift is one comparison. Its interval is of everybody who might have answered: it counts who did, and the noise.
type lift struct {
	arm, of string
	at      func(level float64) (best, low, high float64, ok bool)
}

// armed are the people of an arm: the cells of one outcome and of the others.
type armed struct {
	weigh  func(weights []float64) estimate.Value
	part   []float64 // weights of the outcome's cell, and of all of the arm
	all    []float64
	p, r   estimate.Value
	shared float64
}

// arm reads an arm of an experiment, whose outcomes lie beside each other from a cell on.
func arm(weigh func([]float64) estimate.Value, cells, from, outcomes, outcome int) (a armed) {
	a = armed{weigh: weigh, part: make([]float64, cells), all: make([]float64, cells)}
	rest := make([]float64, cells)
	for k := range outcomes {
		a.all[from+k], rest[from+k] = 1, 1
	}
	a.part[from+outcome], rest[from+outcome] = 1, 0
	a.p, a.r = weigh(a.part), weigh(rest)
	whole := weigh(a.all)
	a.shared = (square(whole) - square(a.p) - square(a.r)) / 2
	return a
}

func square(v estimate.Value) float64 { return v.StdErr * v.StdErr }

// people returns how many are in the arm, at least one.
func (a armed) people() float64 { return max(1, a.p.Mean+a.r.Mean) }

// share returns what part of everybody in the arm the outcome happened to, after Fieller: who was drawn adds N r (1-r) to the
// variance of (1-r) part - r rest, which is what a covariance that is lower by N/2 adds.
func (a armed) share(level float64) (best, low, high float64) {
	v, low, high := estimate.Share(a.p, a.r, a.shared-a.people()/2, level)
	return v.Mean, low, high
}

// slack returns the weights of (1-r) part - r rest.
func (a armed) slack(r float64) []float64 {
	all := slices.Clone(a.all)
	for i := range all {
		all[i] = a.part[i] - r*a.all[i]
	}
	return all
}

// over compares the arm with another, whose errors are correlated with its own as far as the noise has them do.
func (a armed) over(b armed, level float64) (best, low, high float64) {
	own, ownLow, ownHigh := a.share(level)
	other, otherLow, otherHigh := b.share(level)
	x, y := a.slack(own), b.slack(other)
	apart := slices.Clone(x)
	for i := range apart {
		apart[i] -= y[i]
	}
	vx, vy := square(a.weigh(x)), square(b.weigh(y))
	common := (vx + vy - square(a.weigh(apart))) / 2
	tied := 0.0
	if all := math.Sqrt((vx + a.people()*own*(1-own)) * (vy + b.people()*other*(1-other))); all > 0 {
		tied = min(max(-1, common/all), 1)
	}
	return estimate.MinusTied(own, ownLow, ownHigh, other, otherLow, otherHigh, tied)
}

// pairs returns what a table tells of an experiment, whose first cells have each outcome of each arm. It returns nil of a table
// without arms, and where the error of a sum of its cells is not known.
func pairs(arms, outcomes []string, cells int, weigh func([]float64) (estimate.Value, bool)) *experiment {
	if len(arms) < 2 || len(arms)*len(outcomes) > cells {
		return nil
	}
	if _, ok := weigh(make([]float64, cells)); !ok {
		return nil
	}
	sum := func(weights []float64) estimate.Value {
		v, _ := weigh(weights)
		return v
	}
	e := &experiment{first: arms[0], among: (len(arms) - 1) * (len(outcomes) - 1)}
	if uneven(sum, cells, len(arms), len(outcomes)) > compared.TooUneven {
		e.none = "people did not fall into the arms evenly, as devices draw them, so no lift is told"
		return e
	}
	for a := 1; a < len(arms); a++ {
		for o := 1; o < len(outcomes); o++ {
			own := arm(sum, cells, a*len(outcomes), len(outcomes), o)
			first := arm(sum, cells, 0, len(outcomes), o)
			e.lifts = append(e.lifts, lift{arms[a], outcomes[o], func(level float64) (best, low, high float64, ok bool) {
				best, low, high = own.over(first, level)
				return best, low, high, true
			}})
		}
	}
	return e
}

// uneven returns by how many deviations people of an arm are more or fewer than an even part, of the arm that is farthest.
func uneven(weigh func([]float64) estimate.Value, cells, arms, outcomes int) (worst float64) {
	all, even := make([]float64, cells), 1/float64(arms)
	for i := range arms * outcomes {
		all[i] = 1
	}
	people := max(1, weigh(all).Mean)
	for a := range arms {
		more := make([]float64, cells)
		for i := range arms * outcomes {
			if more[i] = -even; i/outcomes == a {
				more[i]++
			}
		}
		v := weigh(more)
		worst = max(worst, math.Abs(v.Mean)/math.Sqrt(square(v)+people*even*(1-even)))
	}
	return worst
}

// measured returns a table for each number that a plan of kind experiment compares, without cells: what its release says of
// each arm, with intervals at other levels.
func measured(ask plan.Experiment, r release.Release) (all []table, err error) {
	s, people, why, err := results.Looked(ask, r)
	if err != nil || people == 0 {
		return nil, err
	}
	own := 0.0 // deviations that the release has on either side, of its looks
	if why == "" {
		own = compared.Z(ask, s)
	}
	for i, m := range ask.Metrics {
		asks, err := json.Marshal([]any{ask.Arms, m})
		if err != nil {
			return nil, err
		}
		e := &experiment{first: ask.Arms[0], relative: true, among: (len(ask.Arms) - 1) * len(ask.Metrics), none: why}
		for a := 1; a < len(ask.Arms) && why == ""; a++ {
			e.lifts = append(e.lifts, lift{ask.Arms[a], m.Name, func(level float64) (best, low, high float64, ok bool) {
				l := compared.Beyond(ask, s, a, i, max(own, estimate.Quantile(level))).Relative
				return l.Best, l.Whole[0], l.Whole[1], !math.IsNaN(l.Best)
			}})
		}
		all = append(all, table{metric: m.Name, respondents: float64(people), asks: string(asks), experiment: e})
	}
	return all, nil
}

// compare fills in the lifts of a trend from its tables, each in the round of a number. All ranges hold at once: those of every
// comparison and of every round of a year, however many are shown yet. So looking at each does no harm.
func (t *Trend) compare(tables []*table, numbers []int, aYear int) {
	newest := tables[len(tables)-1].experiment
	if newest == nil {
		return
	}
	t.First, t.Relative, t.Compared, t.Together = newest.first, newest.relative, newest.among, max(aYear, len(t.Rounds))
	each := estimate.Joint(level, t.Compared*t.Together)
	for i, of := range tables {
		at := slices.IndexFunc(t.Rounds, func(r told) bool { return r.Round == numbers[i] })
		if of.experiment == nil {
			t.Rounds[at].Unlifted = "its plan does not say which values are arms, so no lift is told"
			continue
		}
		none := of.experiment.none
		for _, one := range of.experiment.lifts {
			best, low, high, ok := one.at(each)
			if !ok {
				none = "what people of “" + t.First + "” have is not clear of zero, so no lift is told"
				continue
			}
			k := slices.IndexFunc(t.Lifts, func(l Line) bool { return l.Arm == one.arm && l.Value == one.of })
			if k < 0 {
				k = len(t.Lifts)
				t.Lifts = append(t.Lifts, Line{Arm: one.arm, Value: one.of})
			}
			t.Lifts[k].Points = append(t.Lifts[k].Points, Point{Round: numbers[i], Share: best, Low: low, High: high, respondents: of.respondents})
		}
		t.Rounds[at].Unlifted = none
	}
}

// Compares reports whether the trend is of an experiment.
func (t Trend) Compares() bool { return t.First != "" }

// Unit names what lifts are counted in.
func (t Trend) Unit() string {
	if t.Relative {
		return "%"
	}
	return "points"
}

// Name names a line: a value, or an arm with what it is compared in.
func (l Line) Name() string {
	if l.Arm == "" {
		return l.Value
	}
	return l.Arm + ": " + l.Value
}

// Signed prints the best guess of a lift, and SignedRange its interval, rounded apart.
func (p Point) Signed() string { return signed(math.Round(1000*p.Share) / 10) }
func (p Point) SignedRange() string {
	return signed(math.Floor(1000*p.Low)/10) + " to " + signed(math.Ceil(1000*p.High)/10)
}

// Sure says where a lift surely lies: "more", "fewer", or neither.
func (p Point) Sure() string {
	switch {
	case p.Low > 0:
		return "more"
	case p.High < 0:
		return "less"
	}
	return ""
}

// saysLifts returns in a sentence what is sure of lifts.
func (t Trend) saysLifts() string {
	var sure []string
	most, now := 0.0, false
	for _, l := range t.Lifts {
		if p := l.at(t.Newest); p != nil {
			most, now = max(most, -p.Low, p.High), true
		}
		for _, is := range []string{"more", "less"} {
			n := 0
			var newest Point
			for _, p := range l.Points {
				if p.Sure() == is {
					n, newest = n+1, p
				}
			}
			if n == 0 {
				continue
			}
			low, high := newest.Low, newest.High
			if is == "less" {
				low, high = -high, -low
			}
			says := fmt.Sprintf("“%s” surely had %s “%s” than “%s”: by %s %s in %s", l.Arm, is, l.Value, t.First, between(low, high), t.Unit(), t.name(newest.Round))
			if k := len(l.Points); k > 1 {
				says += fmt.Sprintf(", and in %d of %d rounds at all", n, k)
			}
			sure = append(sure, says+".")
		}
	}
	switch {
	case len(sure) > 0:
		return strings.Join(sure, " ")
	case now:
		return fmt.Sprintf("No round shows surely that “%s” and the other arms differ; in %s by no more than %s %s.", t.First, t.name(t.Newest), numerals.FormatDecimals(math.Ceil(1000*most)/10, 1), t.Unit())
	case len(t.Lifts) > 0:
		return fmt.Sprintf("No round shows surely that “%s” and the other arms differ, and %s tells no lift.", t.First, t.name(t.Newest))
	}
	return "No round tells a lift."
}
