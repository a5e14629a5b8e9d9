package protocol

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/plan"
)

// Answers is the value of a histogram question: an answer to each attribute, in
// the plan's order, and the crowd that the respondent belongs to. The answers are
// private, the crowd is not. What an answer is depends on the kind of attribute:
//
//	categories  string, or int where cells go by number
//	buckets     float64
//	set         []string, or []int
//	grid        encode.Point
//	prefixes    string
//
// or nil for no answer, which is another one where the attribute has a cell for others.
// Not every answer has to fit (UnfitError). The crowd must be one of the plan's: who
// is in none takes no part, which tells what is public.
type Answers struct {
	Crowd  int
	Values []any
}

// histogram is the question of ESA: how many respondents hold each cell of each
// attribute. Its messages name a channel only; that one came is all that they say.
type histogram struct {
	plan       plan.Plan
	ask        plan.Histogram
	attributes []attribute
	tables     []table // by attribute
	first      []int   // by attribute: the first of its channels
	channels   int
}

// table is how the cells of one attribute are answered and counted, at both ends.
// Channels and cells are the attribute's own, from zero.
type table interface {
	channels() int
	// commit settles once for good what a device says of the cells that it holds,
	// by a backstop if there is one; valid tells whether it could have settled on
	// that. report sends one contribution of it.
	commit(r *rand.Rand, held []uint32) []uint32
	valid(committed []uint32) bool
	report(r *rand.Rand, committed []uint32, emit func(channel uint32))
	// read estimates every cell from the counts of all channels, where each of the
	// respondents was asked with probability share; errors says more of that.
	read(counts []uint64, respondents int, share float64) []estimate.Value
	errors(counts []uint64, respondents int, share float64) errorLaw
	// deviation is the standard error of a cell that so many of the respondents hold.
	deviation(holders, respondents int, share float64) float64
	// draw adds the counts of respondents, each with the cells that it holds, in
	// all their contributions.
	draw(r *rand.Rand, held [][]uint32, out []uint64)
	// event is the privacy event of shuffled reports, with the noise of so many; of
	// several that bound it, the one with the smaller epsilon at delta.
	event(users int, delta float64) account.Event
	// again is the one that composes with that of other collections, in which the
	// same backstop may come.
	again(users int) account.Event
	// local is the pure guarantee against who sees all that one device sends.
	local() account.Guarantee
}

func newHistogram(p plan.Plan) (*histogram, error) {
	h := &histogram{plan: p, ask: *p.Question.Histogram}
	for _, a := range h.ask.Attributes {
		attribute, err := newAttribute(a)
		if err != nil {
			return nil, err
		}
		if !h.ask.Randomizer.OneHot() {
			attribute.all = true // the reference is a report of one cell too
		}
		t, err := h.newTable(attribute)
		if err != nil {
			return nil, fmt.Errorf("protocol: attribute %q: %w", a.Name, err)
		}
		h.attributes, h.tables, h.first = append(h.attributes, attribute), append(h.tables, t), append(h.first, h.channels)
		h.channels += t.channels()
	}
	if h.channels > plan.MaxCells {
		return nil, fmt.Errorf("protocol: the histogram takes %d channels, of at most %d: ask for fewer cells", h.channels, plan.MaxCells)
	}
	return h, h.consistent()
}

func (h *histogram) newTable(a attribute) (table, error) {
	adjacency := account.Adjacency(h.plan.Budget.Adjacency)
	if h.ask.Randomizer.OneHot() {
		return newBits(h.ask, a, adjacency, h.plan.Contributions())
	}
	return newSymbols(h.ask.Randomizer, a, adjacency)
}

// consistent checks what the fields of a plan ask of each other.
func (h *histogram) consistent() error {
	r, parts := h.ask.Randomizer, h.plan.Contributions()
	switch {
	case h.ask.Sketch != nil && !r.OneHot():
		return fmt.Errorf("protocol: the rows of a sketch are answered by one-hot: %s cannot", r.Name)
	case h.ask.Sketch != nil && h.ask.Collect == plan.CollectSample:
		return fmt.Errorf("protocol: a sketch draws a row for each respondent already: with several attributes, split")
	case h.plan.Route.Mix.Spread == plan.SpreadAll && (r.Fragments < parts || r.Fragments%parts != 0):
		return fmt.Errorf("protocol: %d report fragments cannot be spread evenly over %d instances: ask for a multiple", r.Fragments, parts)
	case h.plan.Route.Mix.Spread == plan.SpreadAll && h.plan.Crowd.Deletion != nil:
		return fmt.Errorf("protocol: instances that delete by themselves would not hold the same respondents, which spreading report fragments rests on: leave out crowd.deletion or route.mix.spread")
	case !r.OneHot() && h.plan.Budget.Adjacency != string(account.Replacement):
		return fmt.Errorf("protocol: %s is accounted for replacement: set budget.adjacency to %q", r.Name, account.Replacement)
	}
	for _, a := range h.ask.Attributes {
		if a.Kind == "set" && !r.OneHot() {
			return fmt.Errorf("protocol: attribute %q: %s answers with one cell, and a set has several or none: use one-hot", a.Name, r.Name)
		}
	}
	return nil
}

// cellsHeld is the symbol of a histogram question.
type cellsHeld struct {
	crowd int
	held  [][]uint32 // by attribute; none of the reference
}

func (h *histogram) encode(v Value) (Symbol, error) {
	a, ok := v.(Answers)
	switch {
	case !ok:
		return nil, fmt.Errorf("protocol: a histogram question takes Answers, not %T", v)
	case a.Crowd < 0 || a.Crowd >= h.plan.Crowds():
		return nil, fmt.Errorf("protocol: the crowd is not one of the plan's %d", h.plan.Crowds())
	case len(a.Values) != len(h.attributes):
		return nil, fmt.Errorf("protocol: %d answers to %d attributes", len(a.Values), len(h.attributes))
	}
	s := cellsHeld{crowd: a.Crowd, held: make([][]uint32, len(h.attributes))}
	var unfit *UnfitError
	for i, attribute := range h.attributes {
		var err error
		s.held[i], err = attribute.encode(a.Values[i])
		if err == nil {
			continue
		}
		err = fmt.Errorf("attribute %q: %w", attribute.name, err)
		if _, wrong := errors.AsType[wrongType](err); wrong {
			return nil, fmt.Errorf("protocol: %w", err)
		}
		s.held[i] = h.standIn(attribute, a.Values[i])
		if unfit == nil {
			unfit = &UnfitError{1, err}
		}
	}
	if unfit != nil {
		return s, unfit
	}
	return s, nil
}

// share of the respondents that answer each attribute.
func (h *histogram) share() float64 {
	if h.ask.Collect == plan.CollectSample {
		return 1 / float64(len(h.attributes))
	}
	return 1
}

// answered draws which attributes a device answers.
func (h *histogram) answered(r *rand.Rand) []int {
	if h.ask.Collect == plan.CollectSample {
		return []int{r.IntN(len(h.attributes))}
	}
	all := make([]int, len(h.attributes))
	for i := range all {
		all[i] = i
	}
	return all
}

// answers is how many attributes a device answers.
func (h *histogram) answers() int { return answers(h.ask) }

func answers(ask plan.Histogram) int {
	if ask.Collect == plan.CollectSample {
		return 1
	}
	return len(ask.Attributes)
}

// commitment is what a device has settled on for one attribute: where report
// fragments are asked for, its backstop.
type commitment struct {
	attribute int
	to        []uint32 // see table
}

func (h *histogram) randomize(r *rand.Rand, symbol Symbol, memory Memory) (Report, error) {
	s := symbol.(cellsHeld)
	if h.ask.Randomizer.Fragments <= 1 {
		memory = nil // nothing is worth keeping: every report is drawn anew
	}
	key, committed, err := h.recall(s, memory)
	if err != nil {
		return Report{}, err
	}
	if committed == nil {
		for _, i := range h.answered(r) {
			committed = append(committed, commitment{i, h.tables[i].commit(r, s.held[i])})
		}
		if memory != nil {
			if err := memory.Keep(key, pack(committed)); err != nil {
				return Report{}, fmt.Errorf("protocol: nothing is sent, since the backstop could not be kept: %w", err)
			}
		}
	}
	report := Report{Crowd: s.crowd, Parts: make([][][]byte, h.plan.Contributions())}
	for p := range report.Parts {
		said := tally.NewMessages(0)
		for _, c := range committed {
			h.tables[c.attribute].report(r, c.to, func(channel uint32) { said.Say(uint32(h.first[c.attribute])+channel, 0) })
		}
		report.Parts[p] = said.Bodies
	}
	return report, nil
}

func (h *histogram) newTally() tally.Tally { return tally.NewCounts(h.channels, 1) }

// of is the part of a tally that belongs to an attribute.
func (h *histogram) of(counts []uint64, i int) []uint64 {
	return counts[h.first[i] : h.first[i]+h.tables[i].channels()]
}

func (h *histogram) asked() string {
	names := make([]string, len(h.attributes))
	for i, a := range h.attributes {
		names[i] = fmt.Sprintf("%s (%d cells)", a.name, a.cells.Size())
	}
	s := "How many respondents hold each value of " + strings.Join(names, ", ") + "?"
	switch h.ask.Collect {
	case plan.CollectSample:
		s += " Each answers one of them, drawn at random."
	case plan.CollectSplit:
		s += " Each answers all of them."
	}
	return s
}

func (h *histogram) nouns() (answer, crowd string) { return "answers", "crowd" }

func (h *histogram) crowdName(crowd int) string {
	if len(h.ask.Crowds) == 0 {
		return "everybody"
	}
	return fmt.Sprintf("crowd %q", h.ask.Crowds[crowd])
}

// cellNames are the names of an attribute's cells, in order.
func (a attribute) cellNames(which []int) []string {
	names := make([]string, len(which))
	for i, c := range which {
		names[i] = a.cells.Name(c)
	}
	return names
}
