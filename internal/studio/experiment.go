package studio

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/lift/power"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// experimentAsked asks by how much more an arm has of some columns than the first, as confetti plan new experiment does: the
// rows are who is known beforehand, as those of --like.
type experimentAsked struct {
	Metric int     `json:"metric"`
	Before int     `json:"before"` // -1: nothing is known before
	Per    int     `json:"per"`    // -1: the metric is no ratio
	Others []int   `json:"others"` // further metrics, which do not decide
	Arm    int     `json:"arm"`    // column with each row's; -1: chance puts people into arms, and all but the first have the lift
	Arms   string  `json:"arms"`   // names, with commas; the first is what others are compared with
	Shares string  `json:"shares"` // of people, with commas; empty: equal ones
	Lift   float64 `json:"lift"`   // in percent
	Power  float64 `json:"power"`
	Looks  int     `json:"looks"`

	arms    []string
	shares  []float64
	records []lift.Person
	by      [][]int // rows of each arm, where these have one
	binary  bool    // the metric is zeros and ones
}

// mostBits bounds what is drawn of answers that are mixed, one by one.
const mostBits = 2e8

func (a *experimentAsked) ask(s *Sheet, c Choice) (out drafted, err error) {
	out.title = "What does the new one change?"
	if err := a.read(); err != nil {
		return out, err
	}
	e := plan.Experiment{Arms: a.arms, Shares: a.shares, Looks: a.Looks, Look: 1}
	name := func(column int) string {
		if column < 0 || column >= len(s.Columns) {
			return ""
		}
		return s.Columns[column].Name
	}
	columns := []int{a.Metric}
	e.Metrics = []plan.Measure{{Name: name(a.Metric), Before: name(a.Before), Per: name(a.Per)}}
	for _, at := range []int{a.Before, a.Per} {
		if at >= 0 {
			columns = append(columns, at)
		}
	}
	for _, at := range a.Others {
		if !slices.Contains(columns, at) {
			columns, e.Metrics = append(columns, at), append(e.Metrics, plan.Measure{Name: name(at)})
		}
	}
	numbers := len(columns)
	if a.Arm >= 0 {
		columns = append(columns, a.Arm)
	}
	rows, left, err := s.records(c, columns...)
	if err != nil {
		return out, err
	}
	out.rows, out.left = len(rows), left
	known, err := a.know(s, e, rows, columns[:numbers])
	if err != nil {
		return out, err
	}
	var route plan.Route
	budget := plan.Budget{Epsilon: c.Epsilon, Delta: delta, DishonestShare: dishonestShare, Adjacency: "replacement"}
	if c.Route == plan.RouteSum {
		route = plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Noise: cmp.Or(c.Noise, plan.NoiseAggregators)}}
	} else {
		e.Seed, e.Bits = s.publicSeed(), &plan.BitsSent{Answered: lift.UsualBits}
		if float64(c.People)*lift.UsualBits > mostBits {
			return out, fmt.Errorf("bits of more than %.0f people are not drawn here: choose fewer people, or the route sum", math.Floor(mostBits/lift.UsualBits))
		}
	}
	aim := power.Aim{Lift: a.Lift / 100, Power: a.Power}
	if err := aim.Check(); err != nil {
		return out, err
	}
	wanted, err := power.Ask(e, known, aim, route, budget, c.People)
	if err != nil {
		return out, err
	}
	out.says, out.needed = wanted.Says, wanted.Needed
	if a.Looks > 1 {
		out.says = append(out.says, fmt.Sprintf("The first of %d looks is drawn, at as many people as the slider says.", a.Looks))
	}
	out.question = plan.Question{Kind: "experiment", Experiment: &wanted.Plan}
	return out, nil
}

// read reads names and shares, and refuses what is wrong by itself.
func (a *experimentAsked) read() error {
	for name := range strings.SplitSeq(a.Arms, ",") {
		a.arms = append(a.arms, strings.TrimSpace(name))
	}
	if a.Shares != "" {
		for text := range strings.SplitSeq(a.Shares, ",") {
			x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				return errors.New("shares of the arms are numbers with commas between, such as 0.9, 0.1, together 1")
			}
			a.shares = append(a.shares, x)
		}
	}
	switch {
	case len(a.arms) < 2:
		return errors.New("the arms are two names or more with commas between, such as control, new")
	case len(a.shares) > 0 && len(a.shares) != len(a.arms):
		return fmt.Errorf("%d shares of %d arms: give one for each, or none", len(a.shares), len(a.arms))
	case a.Looks < 1 || a.Looks > lift.MostLooks:
		return fmt.Errorf("%d looks: give 1 to %d", a.Looks, lift.MostLooks)
	}
	return nil
}

// know reads what rows say of each metric, and whom they are.
func (a *experimentAsked) know(s *Sheet, e plan.Experiment, rows [][]string, columns []int) ([]power.Known, error) {
	known := make([]power.Known, len(e.Metrics))
	a.by, a.binary = make([][]int, len(a.arms)), true
	for i, row := range rows {
		p := lift.Person{}
		for k := range columns {
			x, err := strconv.ParseFloat(row[k], 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("column %q holds something that is no number: choose another", s.Columns[columns[k]].Name)
			}
			p.Numbers = append(p.Numbers, x)
		}
		a.binary = a.binary && (p.Numbers[0] == 0 || p.Numbers[0] == 1)
		held := p.Numbers
		for m, measure := range e.Metrics {
			one := power.Row{Of: held[0], People: 1}
			if measure.Before != "" {
				one.Before = held[1]
			}
			if measure.Per != "" {
				one.Per = held[lift.Held(measure)-1]
			}
			known[m].Rows, held = append(known[m].Rows, one), held[lift.Held(measure):]
		}
		if a.Arm >= 0 {
			if p.Arm = slices.Index(a.arms, row[len(row)-1]); p.Arm < 0 {
				return nil, fmt.Errorf("column %q holds something that is none of the arms: name them all, as they stand there", s.Columns[a.Arm].Name)
			}
			a.by[p.Arm] = append(a.by[p.Arm], i)
		}
		a.records = append(a.records, p)
	}
	if a.Arm >= 0 && slices.ContainsFunc(a.by, func(rows []int) bool { return len(rows) == 0 }) {
		return nil, fmt.Errorf("column %q has nobody in one of the arms: leave it out", s.Columns[a.Arm].Name)
	}
	return known, nil
}

// came draws people from the rows, of the arm that chance puts them into. Where rows have no arm, all but the first have
// more of the metric by the lift.
func (a *experimentAsked) came(n int, r *rand.Rand) distribution.Population {
	mean := 0.0
	for _, p := range a.records {
		mean += p.Numbers[0] / float64(len(a.records))
	}
	more := a.Lift / 100
	turned := min(1, more*mean/max(1e-9, 1-mean)) // zeros, that a lift makes ones
	people := make(distribution.Values, n)
	for i := range people {
		p, at := lift.Person{}, r.Float64()
		for p.Arm = 0; p.Arm < len(a.arms)-1; p.Arm++ {
			share := 1 / float64(len(a.arms))
			if len(a.shares) > 0 {
				share = a.shares[p.Arm]
			}
			if at -= share; at < 0 {
				break
			}
		}
		if a.Arm >= 0 {
			p.Numbers = a.records[a.by[p.Arm][r.IntN(len(a.by[p.Arm]))]].Numbers
		} else if p.Numbers = a.records[r.IntN(len(a.records))].Numbers; p.Arm > 0 {
			p.Numbers = slices.Clone(p.Numbers)
			switch {
			case !a.binary:
				p.Numbers[0] *= 1 + more
			case p.Numbers[0] == 0 && r.Float64() < turned:
				p.Numbers[0] = 1
			}
		}
		people[i] = p
	}
	return people
}

// truth returns the means of rows, by arm: of rows without one with the lift.
func (a *experimentAsked) truth(p *protocol.Protocol) (*results.Truth, error) {
	all := make(distribution.Values, len(a.records))
	for i, one := range a.records {
		all[i] = one
	}
	t, err := distribution.Reveal(p, all)
	if err != nil || a.Arm >= 0 {
		return t, err
	}
	for arm := range t.Arms {
		t.Arms[arm] = slices.Clone(t.Arms[0])
		if arm > 0 {
			t.Arms[arm][0] *= 1 + a.Lift/100
		}
	}
	return t, nil
}
