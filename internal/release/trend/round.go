package trend

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// Round is one of a study.
type Round struct {
	Number  int
	Times   plan.Times
	Missing string // why there are no numbers of it; "" of one that was released

	season, own int // which of several (Join), and its number in it
	tables      []table
}

// table is a metric in a crowd, in one round.
type table struct {
	metric, crowd string
	asks          string // the attribute as the plan has it
	respondents   float64
	whole         bool // every respondent holds one value
	at            map[string]int
	cells         []cell
	group         func(cells []int, level float64) (count, share estimate.Value, low, high float64, ok bool)
	atOnce        func(level float64) [][2]float64 // in respondents
	experiment    *experiment                      // nil: it is none
}

// cell is the share of a value among the respondents, with an interval that holds for all values at once.
type cell struct {
	value           string
	mean, low, high float64
}

// Followed reports whether rounds of a plan have trends: of shares of values that it names, or of lifts.
func Followed(p plan.Plan) bool {
	return p.Correlated() == nil && (len(results.Offered(p.Question)) > 0 || results.Compared(p.Question) != nil)
}

// Detailed reports whether a trend needs the sections of a plan's releases (release.Head): of one that has respondents by
// crowd there, or sums of arms.
func Detailed(p plan.Plan) bool { return len(p.Crowd.Names) > 1 || results.Compared(p.Question) != nil }

// Read takes the numbers of a round from its plan, its release and the counts beside it. A round without tables of
// respondents is no error: Metrics does not name what it lacks.
func Read(p plan.Plan, r release.Release, counts []sheets.ValueCount) (Round, error) {
	one := Round{Number: 1, Times: p.Times}
	if p.Round != nil {
		one.Number = p.Round.Number
	}
	if ask := results.Compared(p.Question); ask != nil {
		var err error
		one.tables, err = measured(*ask, r)
		return one, err
	}
	if !Followed(p) || len(counts) == 0 {
		return one, nil
	}
	all, err := results.Tables(p, r, counts)
	if err != nil {
		return one, err
	}
	for _, crowds := range all {
		for _, of := range crowds {
			if of == nil || of.Respondents == 0 {
				continue
			}
			n := float64(of.Respondents)
			t := table{metric: of.Attribute, crowd: of.Crowd, asks: of.Asks, respondents: n, whole: of.Whole, at: map[string]int{}, group: of.Group, atOnce: of.AtOnce}
			for _, c := range counts {
				if c.Attribute == of.Attribute && c.Crowd == of.Crowd {
					t.at[c.Value] = len(t.cells)
					t.cells = append(t.cells, cell{c.Value, c.Estimate / n, c.LowAll / n, c.HighAll / n})
				}
			}
			t.experiment = pairs(of.Arms, of.Outcomes, len(t.cells), of.Weigh)
			one.tables = append(one.tables, t)
		}
	}
	return one, nil
}

// Numbers returns how many numbers a round keeps in memory.
func (r Round) Numbers() (n int) {
	for _, t := range r.tables {
		n += len(t.cells)
	}
	return n
}

// table finds that of a metric in a crowd, nil if the round has none.
func (r Round) table(metric, crowd string) *table {
	for i, t := range r.tables {
		if t.metric == metric && t.crowd == crowd {
			return &r.tables[i]
		}
	}
	return nil
}

// Told is a round of the studies of a title, by the plan that it was released for.
type Told struct {
	Title string
	Plan  string
	Round Round
}

// Far returns the interval of a value among those who answered a round, so far out that those of all values and of all
// rounds in a year hold at once with a probability. ok is false where the round has no such number.
func (r Round) Far(metric, crowd, value string, level float64) (low, high float64, ok bool) {
	of := r.table(metric, crowd)
	if of == nil || of.atOnce == nil || r.Missing != "" {
		return 0, 0, false
	}
	k, there := of.at[value]
	ends := of.atOnce(estimate.Joint(level, r.aYear()))
	if !there || k >= len(ends) {
		return 0, 0, false
	}
	return ends[k][0] / of.respondents, ends[k][1] / of.respondents, true
}

// aYear returns how many rounds of this length a year has: of one whose length is not known as many as days.
func (r Round) aYear() int {
	const days = 366
	length := r.Times.Closes.Sub(r.Times.Opens)
	if r.Times.Opens.IsZero() || length <= 0 {
		return days
	}
	return max(1, int(math.Ceil(float64(days*24*time.Hour)/float64(length))))
}

// Filled returns rounds in their order, and says of numbers between them that are in no release that they are not here. It
// refuses a number that no study has.
func Filled(rounds []Round) (all []Round, err error) {
	rounds = slices.Clone(rounds)
	slices.SortFunc(rounds, func(a, b Round) int { return cmp.Compare(a.Number, b.Number) })
	for _, r := range rounds {
		if r.Number < 1 || r.Number > plan.MaxRounds {
			return nil, fmt.Errorf("round %d: a study has the rounds 1 to %d", r.Number, plan.MaxRounds)
		}
		for n := len(all); n > 0 && all[n-1].Number+1 < r.Number; n++ {
			all = append(all, Round{Number: all[n-1].Number + 1, Missing: "no release of it is here"})
		}
		all = append(all, r)
	}
	return all, nil
}
