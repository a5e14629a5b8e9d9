package histogram

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// Course is what the rounds so far told of a study whose rounds are correlated.
type Course struct {
	Of     int                // rounds of the study
	Rounds []int              // that were told, rising; the last is the model's own
	Totals [][]estimate.Value // by round told and cell: how often it was said until then
	Since  [][]estimate.Value // and since the round told before
	Why    map[int]string     // by round that told nothing: question.TooFew and the like, where that is known
	// Windows are those of a study that asks for them; nil of others. Then there is one cell: Totals are the distinct
	// respondents so far, and Since those of the round.
	Windows *Windows
	// On tells, by round told, of how many respondents something has begun and not ended; nil where values do not take turns.
	On []estimate.Value
}

// Course returns that of a model of correlated rounds; nil of any other, and where the round was withheld.
func (m *Model) Course() *Course {
	c := m.question.correlated
	if c == nil || len(m.Tables) == 0 {
		return nil
	}
	all := append(c.told[:len(c.told):len(c.told)], toldDay{Round: c.day + 1})
	for _, v := range m.Tables[0].Values {
		all[len(all)-1].Totals = append(all[len(all)-1].Totals, v.Mean)
	}
	out, missing := &Course{Of: c.rows.Rounds, Why: map[int]string{}}, c.missing()
	for _, d := range c.missed {
		out.Why[d.Round] = d.Missed
	}
	if out.Windows = m.Windows(); out.Windows != nil {
		out.distinct(c.told)
		return out
	}
	since, before := -1, make([]float64, len(m.Tables[0].Values))
	for _, d := range all {
		total, own := c.rows.Deviation(*m.question.plan.Route.Sum, -1, d.Round-1, missing), c.rows.Deviation(*m.question.plan.Route.Sum, since, d.Round-1, missing)
		totals, change := make([]estimate.Value, len(d.Totals)), make([]estimate.Value, len(d.Totals))
		for cell, mean := range d.Totals {
			totals[cell] = estimate.Value{Mean: mean, StdErr: total}
			change[cell] = estimate.Value{Mean: mean - before[cell], StdErr: own}
		}
		if c.rows.Turns {
			out.On = append(out.On, estimate.Value{Mean: d.Totals[0] - d.Totals[1], StdErr: math.Sqrt2 * total})
		}
		out.Rounds, out.Totals, out.Since = append(out.Rounds, d.Round), append(out.Totals, totals), append(out.Since, change)
		since, before = d.Round-1, d.Totals
	}
	return out
}

// Missing returns the rounds before the last that were told which told nothing.
func (c *Course) Missing() (rounds []int) {
	at := 0
	for n := 1; n <= c.Rounds[len(c.Rounds)-1]; n++ {
		if c.Rounds[at] == n {
			at++
			continue
		}
		rounds = append(rounds, n)
	}
	return rounds
}
