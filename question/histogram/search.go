package histogram

import (
	"errors"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/sketch"
	"github.com/confetti-dp/confetti/plan"
)

// Strings of a domain that nobody has declared are found by their beginnings, which
// grow from round to round (sketch.Search). Each round is a collection with a plan
// of its own, to be put to respondents of its own: drawn without a look at their
// strings, and into one round each, every one of them spends the budget once. What
// survives is decided from released estimates, which costs nothing.

// FirstRound is the plan of the first round: p, whose one attribute is of kind
// prefixes, with the search's first candidates, designed.
func FirstRound(p plan.Plan, s sketch.Search) (plan.Plan, error) {
	candidates, err := s.First()
	if err != nil {
		return p, err
	}
	return round(p, candidates)
}

// NextRound is the plan of the round after the one with plan p, whose release taught
// m. The search is done when every survivor is a whole string, or none has survived:
// then found are the strings, each with how many of the last round's respondents hold
// it. Give the next plan times of its own.
func NextRound(p plan.Plan, m *Model, s sketch.Search) (next plan.Plan, found []Found, done bool, err error) {
	if err := s.Validate(); err != nil {
		return p, nil, false, err
	}
	if len(m.Tables) != 1 || m.Tables[0].Asked.Kind != "prefixes" {
		return p, nil, false, errors.New("histogram: a round of a search is one attribute of kind prefixes, in one crowd that was released")
	}
	t := m.Tables[0]
	candidates := t.Asked.Values
	var kept []string
	whole := true
	for _, cell := range t.survivors(s) {
		kept = append(kept, candidates[cell])
		whole = whole && encode.Complete(candidates[cell])
		found = append(found, Found{t.Name(cell), t.Values[cell]})
	}
	if whole {
		return p, found, true, nil
	}
	for range s.Ahead {
		if kept, err = encode.Extend(kept, s.Alphabet); err != nil {
			return p, nil, false, err
		}
	}
	next, err = round(p, kept)
	return next, nil, false, err
}

// Found is a string that a search has ended with.
type Found struct {
	Text        string
	Respondents estimate.Value // of the last round
}

// survivors are the candidates that more than s.Least respondents hold, by the exact
// law of their counts where that is known, else as the search does it.
func (t *Table) survivors(s sketch.Search) []int {
	values := t.Values[:len(t.Asked.Values)] // not the cell for others
	c := t.errors.cell
	if c == nil || s.Least > float64(t.Respondents) {
		return s.Survivors(values)
	}
	if !t.errors.independent {
		s.Rate = estimate.AnyDependence(s.Rate, len(values))
	}
	counts := make([]uint64, len(values))
	for i, v := range values {
		counts[i] = ones(*c, v.Mean)
	}
	survivors := estimate.HeavyHitters(counts, c.Null(int(s.Least)), s.Rate)
	slices.Sort(survivors)
	return survivors
}

// round is the plan p with other candidates.
func round(p plan.Plan, candidates []string) (plan.Plan, error) {
	h := p.Question.Histogram
	if h == nil || len(h.Attributes) != 1 || h.Attributes[0].Kind != "prefixes" || len(h.Crowds) > 1 {
		return p, errors.New("histogram: a search asks one attribute of kind prefixes, of one crowd")
	}
	ask := *h
	ask.Attributes = []plan.Attribute{h.Attributes[0]}
	ask.Attributes[0].Values, ask.Attributes[0].Others = candidates, true
	p.Question.Histogram = &ask
	p, err := Design(p)
	if err != nil {
		return p, fmt.Errorf("histogram: a round of %d candidates: %w", len(candidates), err)
	}
	return p, nil
}
