package histogram

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Windows are the distinct respondents of any rounds that follow each other, as the rounds so far told.
type Windows struct {
	Of   int // rounds of the study
	Last int // the newest that was told

	until  [][]float64 // by round, 0 the first: what was said up to it, by cell, of all cells up to that one
	both   float64     // the deviation of a number of a row
	errors func(first int) []float64
	gaps   func() []float64
}

// Windows returns those of a model of a study that asks for them; nil of any other, and where the round was withheld.
func (m *Model) Windows() *Windows {
	c := m.question.correlated
	if c == nil || c.rows.Windows == nil || len(m.Tables) == 0 {
		return nil
	}
	w := &Windows{Of: c.rows.Rounds, Last: c.day + 1, both: sumprivacy.Both(*m.question.plan.Route.Sum)}
	none, newest := make([]float64, len(m.Tables[0].Values)), make([]float64, len(m.Tables[0].Values))
	for cell, v := range m.Tables[0].Values {
		newest[cell] = v.Mean
	}
	w.until = append(w.until, none)
	for _, d := range append(c.told[:len(c.told):len(c.told)], toldDay{Round: w.Last, Totals: newest}) {
		for len(w.until) < d.Round { // who told nothing
			w.until = append(w.until, w.until[len(w.until)-1])
		}
		w.until = append(w.until, d.Totals)
	}
	var missing []int
	for _, day := range c.missing() {
		missing = append(missing, day+1)
	}
	w.errors, w.gaps = c.rows.Windows.Errors(w.Last, missing), func() []float64 { return c.rows.Windows.Gaps(w.Last, missing) }
	return w
}

// Number returns how many windows the study has.
func (w *Windows) Number() int { return w.Of * (w.Of + 1) / 2 }

// From returns the distinct respondents of the rounds from the first one to each from there on, up to the newest.
func (w *Windows) From(first int) []estimate.Value {
	var all []estimate.Value
	for i, e := range w.errors(first) {
		all = append(all, estimate.Value{Mean: w.until[first+i][first-1] - w.until[first-1][first-1], StdErr: w.both * e})
	}
	return all
}

// Gaps returns how often somebody came back after exactly so many rounds, from 1 on.
func (w *Windows) Gaps() []estimate.Value {
	all := make([]estimate.Value, w.Last-1)
	for i, e := range w.gaps() {
		all[i].StdErr = w.both * e
	}
	own := func(round, cell int) float64 { return w.until[round][cell] - w.until[round-1][cell] }
	for round := 2; round <= w.Last; round++ {
		for last := 1; last < round; last++ {
			all[round-last-1].Mean += own(round, last) - own(round, last-1)
		}
	}
	return all
}

// distinct fills in the rounds so far, of windows: how many distinct respondents until each that was told, and in it.
func (c *Course) distinct(told []toldDay) {
	w := c.Windows
	whole := w.From(1)
	for _, d := range append(told[:len(told):len(told)], toldDay{Round: w.Last}) {
		c.Rounds = append(c.Rounds, d.Round)
		c.Totals, c.Since = append(c.Totals, whole[d.Round-1:d.Round]), append(c.Since, w.From(d.Round)[:1])
	}
}

// saysWindows says what any window of a designed plan errs by, and what it would if each round told its own answers alone.
func (h *Question) saysWindows() (string, error) {
	rows, route := h.correlated.rows, *h.plan.Route.Sum
	worst, first, last := rows.Windows.Worst()
	apart, err := rows.Apart(h.plan)
	if err != nil {
		return "", err
	}
	middle := (rows.Rounds + 1) / 2
	other := sumprivacy.Both(apart) * math.Sqrt(float64(middle*(rows.Rounds-middle+1)))
	few := ""
	if worst *= sumprivacy.Both(route); other < worst {
		few = ", less, as there are few rounds, and no plan asks so"
	}
	return fmt.Sprintf("at one epsilon for all %d windows of %d rounds, with the noise of both aggregators, none errs by more than %.4g, which rounds %d to %d do, of at most %s a person; where each round tells its own answers alone, one errs by %.4g%s",
		rows.Rounds*(rows.Rounds+1)/2, rows.Rounds, worst, first, last, terms.Numbered(rows.Events, "event"), other, few), nil
}

// ofWindows says that a plan's study asks for windows.
func ofWindows(p plan.Plan) bool {
	of := ofStudy(p)
	return of != nil && of.Windows
}
