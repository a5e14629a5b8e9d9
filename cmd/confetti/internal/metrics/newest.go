package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/client/metrics"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/release/trend"
)

// result is the newest number of a metric in a crowd.
type result struct {
	Crowd  string
	Says   string  // the largest values, with their intervals
	Closed string  // the day on which its round ended
	Sure   float64 // of a hundred people: what the first value has at least, and what it may have
	May    float64

	at time.Time
}

// mostTold is how many values of a metric are told on the page.
const mostTold = 3

// told returns the newest numbers of each metric, from folders of confetti study fetch. It refuses rounds of a study that
// the registry does not have.
func told(r metrics.Registry, folders []string) (map[string][]result, error) {
	signed := map[string]bool{}
	for _, s := range r.Series {
		for season := s.From; season <= s.Until; season++ {
			of := s.Of(season)
			signed[of.Name()] = true
		}
	}
	all := map[string][]result{}
	for _, folder := range folders {
		of, rounds, err := releases.Seasons([]string{folder})
		if err != nil {
			return nil, err
		}
		if !signed[of.Name] {
			return nil, fmt.Errorf("%s has rounds of a study that this registry did not sign: name the folders of its own seasons", folder)
		}
		_, crowds := trend.Metrics(rounds)
		for _, m := range r.Metrics {
			for _, crowd := range crowds[m.Name] {
				if t, ok := trend.Follow(rounds, m.Name, crowd, nil); ok {
					add(all, m.Name, newestOf(t))
				}
			}
		}
	}
	return all, nil
}

// add takes a result in, or in the place of an older one of the same crowd.
func add(all map[string][]result, metric string, one result) {
	i := slices.IndexFunc(all[metric], func(r result) bool { return r.Crowd == one.Crowd })
	switch {
	case i < 0:
		all[metric] = append(all[metric], one)
	case one.at.After(all[metric][i].at):
		all[metric][i] = one
	}
}

// newestOf says the largest values of the newest round with numbers.
func newestOf(t trend.Trend) (r result) {
	r.Crowd = t.Crowd
	for _, round := range t.Rounds {
		if round.Round == t.Newest {
			r.at, r.Closed = round.Closes, round.Closes.UTC().Format("2 January 2006")
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
	return r
}

// Wide returns how far a range goes beyond what is sure.
func (r result) Wide() float64 { return max(0.5, r.May-r.Sure) }
