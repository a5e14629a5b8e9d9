package histogram

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/sketch"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
)

// Strings of a domain that nobody has declared are found by their beginnings, which
// grow from round to round of a study (sketch.Search). The candidates of a round are its
// public state. What survives is decided from released estimates, which costs nothing.
// The number of cells is the plan's in every round, so that what a device says costs the
// same whatever the candidates are.

// search returns that of the plan, with the procedure's parameters; nil: it has none.
func (h *Question) search() *sketch.Search {
	s := h.ask.Attributes[0].Search
	if s == nil {
		return nil
	}
	return &sketch.Search{Alphabet: []rune(s.Alphabet), Ahead: s.Ahead, Least: s.Least, Rate: s.Rate}
}

// WithState returns the question with the candidates of a round.
func (h *Question) WithState(state []byte) (question.Question, error) {
	if h.correlated != nil {
		return h.withTold(state)
	}
	if h.search() == nil {
		return nil, errors.New("histogram: a histogram takes no state unless it searches: leave it out of the plan")
	}
	var candidates []string
	if err := json.Unmarshal(state, &candidates); err != nil || !bytes.Equal(stateOf(candidates), state) {
		return nil, errors.New("histogram: the state is no list of candidates in its one form")
	}
	p := h.plan
	ask := h.ask
	ask.Attributes = []plan.Attribute{h.ask.Attributes[0]}
	if most := ask.Attributes[0].Size; len(candidates) == 0 || len(candidates) > most {
		return nil, fmt.Errorf("histogram: the state has %d candidates, and a round has 1 to %d", len(candidates), most)
	}
	ask.Attributes[0].Values = candidates
	p.Question.Histogram = &ask
	return New(p)
}

func stateOf(candidates []string) []byte {
	state, err := json.Marshal(candidates)
	if err != nil {
		panic("histogram: " + err.Error()) // strings always encode
	}
	return state
}

// Next returns the candidates of the next round, one list in JSON: what has survived, longer
// by some characters. Where those are more than a round may have, the ones that fewest
// hold are left out. The search is done when every survivor is a whole string, or none
// has survived (Found).
func (h *Question) Next(m question.Model) ([]byte, bool, error) {
	if h.correlated != nil {
		return h.next(m)
	}
	search := h.search()
	if search == nil {
		return nil, false, nil
	}
	most := h.ask.Attributes[0].Size
	if m == nil {
		candidates, err := search.First()
		if err == nil && len(candidates) > most {
			err = fmt.Errorf("histogram: a search begins with %d candidates, and a round may have %d: raise size, or go fewer characters ahead", len(candidates), most)
		}
		return stateOf(candidates), false, err
	}
	t, err := h.searched(m)
	if err != nil {
		return nil, false, err
	}
	kept := t.survivors(*search)
	candidates := t.Asked.Values
	if !slices.ContainsFunc(kept, func(cell int) bool { return !encode.Complete(candidates[cell]) }) {
		return nil, true, nil
	}
	slices.SortStableFunc(kept, func(a, b int) int { return cmp.Compare(t.Values[b].Mean, t.Values[a].Mean) })
	for {
		next, err := extend(*search, candidates, kept)
		if err != nil || len(next) <= most {
			return stateOf(next), false, err
		}
		if kept = kept[:min(len(kept)-1, len(kept)*most/len(next))]; len(kept) == 0 {
			return nil, false, fmt.Errorf("histogram: one beginning alone goes on as %d candidates, and a round may have %d: raise size, or go fewer characters ahead", len(next), most)
		}
	}
}

// extend returns what the kept candidates go on as, in the order that they had.
func extend(s sketch.Search, candidates []string, kept []int) (next []string, err error) {
	for _, cell := range slices.Sorted(slices.Values(kept)) {
		next = append(next, candidates[cell])
	}
	for range s.Ahead {
		if next, err = encode.Extend(next, s.Alphabet); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// searched returns the one table of a round.
func (h *Question) searched(m question.Model) (*Table, error) {
	model, ok := m.(*Model)
	if !ok || len(model.Tables) != 1 || len(model.Tables[0].Asked.Values) == 0 {
		return nil, errors.New("histogram: a round of a search is one attribute of kind prefixes, in one crowd that was released")
	}
	return model.Tables[0], nil
}

// Found returns the strings that a search has ended with; none where the plan has no search.
func (h *Question) Found(m question.Model) ([]Found, error) {
	search := h.search()
	if search == nil {
		return nil, nil
	}
	t, err := h.searched(m)
	if err != nil {
		return nil, err
	}
	var found []Found
	for _, cell := range t.survivors(*search) {
		found = append(found, Found{t.Name(cell), t.Values[cell]})
	}
	return found, nil
}

// Found is a string that a search has ended with.
type Found struct {
	Text        string
	Respondents estimate.Value // of the last round
}

// survivors returns the candidates that more than s.Least respondents hold, by the exact
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
