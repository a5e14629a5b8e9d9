package histogram

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// correlated is a round of a study whose rounds are correlated: it counts what happened since the last
// one, and tells of all days so far (package counter). What earlier rounds told is the round's public state.
type correlated struct {
	rows   *sumprivacy.Rows
	day    int // of this round, from 0
	told   []toldDay
	missed []toldDay // rounds that told nothing, as far as it is known why
}

// toldDay is what a round of a correlated study told: how often each cell was said until then, or why nothing.
type toldDay struct {
	Round  int       `json:"round"`
	Totals []float64 `json:"totals,omitempty"`
	Missed string    `json:"missed,omitempty"` // question.TooFew and the like; "": it told something
}

// enoughBits lose nothing by rounding; six would lose 0.3 %. Windows take fewer where noise would be too wide to draw.
const enoughBits = 10

// fine is how many parts of one estimates of windows are rounded to: all of them stand in a state, and their noise is much
// wider.
const fine = 10

// mostTotal bounds a total of a state: beyond what any rows sum to, and so small that nothing which follows is infinite.
const mostTotal = 1e30

// ofStudy returns what a plan says of how its rounds are correlated; nil: they are not.
func ofStudy(p plan.Plan) *plan.Correlated {
	if p.Route.Sum == nil {
		return nil
	}
	return p.Route.Sum.Correlated
}

func newCorrelated(p plan.Plan, cells int) (*correlated, error) {
	of := ofStudy(p)
	if of == nil {
		return nil, nil
	}
	rows, err := sumprivacy.NewRows(*of, cells)
	if err != nil {
		return nil, err
	}
	t := &correlated{rows: rows}
	if r := p.Round; r != nil {
		if r.Number > of.Rounds {
			return nil, fmt.Errorf("histogram: round %d of %d correlated ones", r.Number, of.Rounds)
		}
		t.day = r.Number - 1
	}
	return t, nil
}

// deviations returns that of the noise in this round's running total, of each cell.
func (t *correlated) deviations(route plan.Sum, cells int) []float64 {
	all := slices.Repeat([]float64{t.rows.Deviation(route, -1, t.day, t.missing())}, cells)
	if w := t.rows.Windows; w != nil {
		for cell := range all {
			all[cell] *= w.Before(cell)
		}
	}
	return all
}

// missing returns the earlier days that were not told.
func (t *correlated) missing() (days []int) {
	at := 0
	for day := range t.day {
		if at < len(t.told) && t.told[at].Round-1 == day {
			at++
			continue
		}
		days = append(days, day)
	}
	return days
}

// totals returns how often each cell was said until this day, from the day's rows.
func (t *correlated) totals(rows []uint64) []float64 {
	days, counts := make([]int, len(t.told)), make([]float64, len(t.told))
	totals := make([]float64, len(rows))
	for cell, row := range t.row(rows) {
		before := 0.0
		for i, d := range t.told {
			days[i], counts[i] = d.Round-1, d.Totals[cell]-before
			before = d.Totals[cell]
		}
		totals[cell] = before + t.rows.Count(t.day, row, days, counts)
		if t.rows.Windows != nil {
			totals[cell] = math.Round(fine*totals[cell]) / fine
		}
	}
	return totals
}

// row returns what a day's row tells of each cell; of windows, of all up to it.
func (t *correlated) row(numbers []uint64) []float64 {
	whole, row := make([]int64, len(numbers)), make([]float64, len(numbers))
	for i, x := range numbers {
		whole[i], row[i] = int64(x), float64(int64(x))
	}
	if w := t.rows.Windows; w != nil {
		return w.Across(whole)
	}
	return row
}

// WithState returns the round after those that the state tells of.
func (h *Question) WithState(state []byte) (question.Question, error) {
	if h.correlated == nil {
		return nil, errors.New("histogram: a histogram takes no state unless its rounds are correlated: leave it out of the plan")
	}
	var all, told, missed []toldDay
	if err := json.Unmarshal(state, &all); err != nil || !bytes.Equal(marshalDays(all), state) {
		return nil, errors.New("histogram: the state is no list of rounds with their totals in its one form")
	}
	last := 0
	for _, d := range all {
		known := d.Missed == question.TooFew || d.Missed == question.TooLate || d.Missed == question.RowFailed
		if d.Round <= last || d.Round > h.correlated.day || d.Missed == "" && len(d.Totals) != h.channels || d.Missed != "" && (!known || len(d.Totals) > 0) {
			return nil, fmt.Errorf("histogram: the state tells of round %d with %d totals: rounds before this one are told in their order, with %d each or a reason why not", d.Round, len(d.Totals), h.channels)
		}
		if slices.ContainsFunc(d.Totals, func(x float64) bool { return !(math.Abs(x) <= mostTotal) }) {
			return nil, fmt.Errorf("histogram: the state tells of more in round %d than any sum can be: it is none that rounds made", d.Round)
		}
		if last = d.Round; d.Missed != "" {
			missed = append(missed, d)
		} else {
			told = append(told, d)
		}
	}
	q := *h
	q.correlated = &correlated{h.correlated.rows, h.correlated.day, told, missed}
	q.randomizers = []randomizer{h.randomizers[0].(noised).after(q.correlated, h.plan)}
	return &q, nil
}

// state returns that which tells of one more round.
func (t *correlated) state(of toldDay) []byte {
	all := append(slices.Concat(t.told, t.missed), of)
	slices.SortFunc(all, func(a, b toldDay) int { return cmp.Compare(a.Round, b.Round) })
	return marshalDays(all)
}

func marshalDays(all []toldDay) []byte {
	state, err := json.Marshal(all)
	if err != nil {
		panic("histogram: " + err.Error()) // finite numbers always encode
	}
	return state
}

// Next returns the state that tells of this round too; nil after the last, since no round asks with it. It is never done:
// the study says when its rounds are over. Rounds that are not correlated have none.
func (h *Question) Next(m question.Model) ([]byte, bool, error) {
	if h.correlated == nil || m == nil {
		return nil, false, nil
	}
	model, ok := m.(*Model)
	if !ok || len(model.Tables) != 1 {
		return nil, false, errors.New("histogram: a correlated round is one attribute in one crowd that was released")
	}
	c := h.correlated
	day := toldDay{Round: c.day + 1}
	for _, v := range model.Tables[0].Values {
		day.Totals = append(day.Totals, v.Mean)
	}
	if day.Round == c.rows.Rounds {
		return nil, false, nil
	}
	return c.state(day), false, nil
}

// Missed returns the state that says why this round told nothing; nil where rounds are not correlated.
func (h *Question) Missed(why string) ([]byte, error) {
	if h.correlated == nil {
		return nil, nil
	}
	return h.correlated.state(toldDay{Round: h.correlated.day + 1, Missed: why}), nil
}

// note says of what a statement is, and which case it leaves out: one aggregator that lies, beside another that was put
// back to an older copy, is known to nobody else.
func (t *correlated) note(p plan.Plan, s account.Statement) string {
	note := fmt.Sprintf("Of all %d rounds together, and at most %s.", t.rows.Rounds, terms.Numbered(t.rows.Events, "event"))
	if t.rows.Windows != nil {
		note = fmt.Sprintf("Of all windows of all %d rounds together, and at most %s.", t.rows.Rounds, terms.Numbered(t.rows.Events, "event"))
	}
	if s.Observer != account.OneAggregator {
		return note
	}
	parted, err := account.Epsilon(t.rows.Parted().Event(*p.Route.Sum, 1), p.Budget.Delta)
	if err != nil || parted.Epsilon <= s.Guarantee.Epsilon*(1+1e-9) {
		return note + " It holds as long as the other aggregator's database is not put back to an older copy: a row that it then draws again is told twice."
	}
	return note + fmt.Sprintf(" It holds as long as the other aggregator's database is not put back to an older copy: the one that lies may then get rows without earlier days, which is epsilon %s, and a row that is drawn again is told twice.", account.AtMost(parted.Epsilon, 4))
}

// Events returns how many events a vector says, and how many a respondent may in all rounds of the
// study; ok is false where they are not counted.
func (h *Question) Events(vector []uint64) (said, most int, ok bool) {
	of := ofStudy(h.plan)
	if of == nil {
		return 0, 0, false
	}
	for _, x := range vector {
		said += int(x)
	}
	return said, of.Events, true
}

// Follow makes a vector follow what the device said before: so many events, the last in the given round, 0 for none. Where
// values take turns it says nothing of one whose turn it is not. Where the plan asks in which round something happened last
// it says that. A round that does not follow that one says nothing: each round is after the one that it names.
func (h *Question) Follow(vector []uint64, said, round int) {
	if of := ofStudy(h.plan); of != nil && of.Turns {
		vector[1-said%2] = 0
	}
	if !ofWindows(h.plan) || vector[0] == 0 {
		return
	}
	vector[0] = 0
	if round <= h.correlated.day {
		vector[round] = 1
	}
}

// lastRounds are the cells of a plan of windows: what counts is who says something in whose last round before.
type lastRounds int

func (n lastRounds) Size() int { return int(n) + 1 }

// Name returns that of the numbers that are released, which are of all cells up to one.
func (n lastRounds) Name(cell int) string { return fmt.Sprintf("last before round %d", cell+1) }

// after returns the table of a round.
func (t noised) after(c *correlated, p plan.Plan) noised {
	t.correlated, t.route = c, p.Route.Sum
	return t
}

// running returns the errors of a running total: the noise of all its rows, which is normal but for 1e-27, and
// no sample. More may have been said in all than there are respondents of one round.
func (t noised) running() errorLaw {
	if t.correlated.rows.Windows != nil { // each cell has errors of its own, all of them normal
		return errorLaw{}
	}
	sd := t.correlated.deviations(*t.route, 1)[0]
	return errorLaw{
		independent: true, exact: true,
		null: func(mean float64) float64 { return prob.LogNormalSurvival(mean / sd) },
		ends: func(mean, alpha float64) [2]float64 {
			w := -prob.NormalQuantile(alpha/2) * sd
			return [2]float64{max(0, mean-w), max(0, mean+w)}
		},
	}
}
