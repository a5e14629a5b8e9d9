package fetched

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/release/trend"
)

// Newest is the newest number of a metric in a crowd.
type Newest struct {
	Crowd  string
	Says   string  // the largest values, with their intervals
	Closed string  // the day on which its round ended
	Sure   float64 // of a hundred people: what the first value has at least, and what it may have
	May    float64
	// Of an experiment: what is sure of its lifts, in a sentence; each of them; and why its newest round tells none.
	Lifted   string
	Lifts    []Lift
	Unlifted string

	at time.Time
}

// Lift states how much more often an outcome was seen in an arm than in the first, in points.
type Lift struct {
	Says       string
	From, Wide float64 // where its interval lies on a bar from 0 to 100, in whose middle both are alike
}

// mostTold is how many values of a metric are told on the page.
const mostTold = 3

// Numbers adds to what is known of metrics, by their names, the newest numbers that a folder has of its study. It refuses
// a study whose name is not known.
func Numbers(folder string, known map[string]bool, all map[string][]Newest) error {
	of, rounds, err := Seasons([]string{folder})
	if err != nil {
		return err
	}
	if !known[of.Name] {
		return fmt.Errorf("%s has rounds of a study that this registry did not sign: name the folders of its own seasons", folder)
	}
	names, crowds := trend.Metrics(rounds)
	for _, name := range names {
		for _, crowd := range crowds[name] {
			if t, ok := trend.Follow(rounds, name, crowd, nil); ok {
				add(all, name, newestOf(t))
			}
		}
	}
	return nil
}

// add takes a result in, or in the place of an older one of the same crowd.
func add(all map[string][]Newest, metric string, one Newest) {
	i := slices.IndexFunc(all[metric], func(r Newest) bool { return r.Crowd == one.Crowd })
	switch {
	case i < 0:
		all[metric] = append(all[metric], one)
	case one.at.After(all[metric][i].at):
		all[metric][i] = one
	}
}

// newestOf says the largest values of the newest round with numbers.
func newestOf(t trend.Trend) (r Newest) {
	r.Crowd = t.Crowd
	for _, round := range t.Rounds {
		if round.Round == t.Newest {
			r.at, r.Closed, r.Unlifted = round.Closes, round.Closes.UTC().Format("2 January 2006"), round.Unlifted
		}
	}
	lines := slices.DeleteFunc(slices.Clone(t.Lines), func(l trend.Line) bool { return l.Rest || l.Last().Round != t.Newest })
	slices.SortStableFunc(lines, func(a, b trend.Line) int { return cmp.Compare(b.Last().Share, a.Last().Share) })
	for i, l := range lines[:min(mostTold, len(lines))] {
		p := l.Last()
		if i == 0 {
			r.Sure, r.May = math.Floor(1000*p.Low)/10, math.Ceil(1000*p.High)/10
		} else {
			r.Says += "; "
		}
		r.Says += fmt.Sprintf("%s: %s to %s", l.Value, numerals.FormatDecimals(math.Floor(100*p.Low), 0), numerals.FormatDecimals(math.Ceil(100*p.High), 0))
	}
	if t.Compares() {
		r.Lifted, r.Lifts = t.Says, lifts(t)
	}
	return r
}

// lifts returns those of the newest round with numbers, on bars of one scale.
func lifts(t trend.Trend) (all []Lift) {
	newest := slices.DeleteFunc(slices.Clone(t.Lifts), func(l trend.Line) bool { return l.Last().Round != t.Newest })
	most := 0.01
	for _, l := range newest {
		most = max(most, -l.Last().Low, l.Last().High)
	}
	for _, l := range newest {
		p := l.Last()
		says := fmt.Sprintf("%s: %s %s (best guess %s)", l.Name(), p.SignedRange(), t.Unit(), p.Signed())
		all = append(all, Lift{says, 50 + 50*p.Low/most, max(0.5, 50*(p.High-p.Low)/most)})
	}
	return all
}

// Wide returns how far a range goes beyond what is sure.
func (r Newest) Wide() float64 { return max(0.5, r.May-r.Sure) }
