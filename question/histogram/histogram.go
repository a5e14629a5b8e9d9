// Package histogram asks how many respondents hold each cell of each attribute (ESA). Used by question/all,
// protocol/design, internal/question/label and internal/release/results, and by apps that answer histograms alone.
package histogram

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
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
//
// or nil for no answer, which is another one where the attribute has a cell for others.
// Not every answer has to fit (question.OutOfDomainError). The crowd must be one of the plan's: who
// is in none takes no part, which tells what is public.
type Answers struct {
	Crowd  int
	Values []any
}

// Question is a histogram made runnable. Its messages name a channel only; that one
// came is all that they say.
type Question struct {
	plan        plan.Plan
	ask         plan.Histogram
	attributes  []attribute
	randomizers []randomizer       // by attribute
	worst       randomizer         // where one of them is drawn: it stands for all (settle)
	first       []int              // by attribute: the first of its channels
	scattered   sumprivacy.Devices // the noise of each device, where devices add it to cells as they are
	channels    int
	correlated  *correlated // nil: a round by itself
}

// randomizer is how the cells of one attribute are answered and counted, at both ends.
// Channels and cells are the attribute's own, from zero.
type randomizer interface {
	Law
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
	// event is the privacy event of shuffled reports, with the noise of so many; of
	// several that bound it, the one with the smaller epsilon at delta.
	event(users int, delta float64) account.Event
	// again is the one that composes with that of other collections, in which the
	// same backstop may come.
	again(users int) account.Event
	// covering is a table of which no event, for any number of users, is smaller than that
	// of one of these, itself among them, all of the plan's randomizer; not ok where this
	// table knows of none.
	covering(all []randomizer) (t randomizer, ok bool)
	// local is the pure guarantee against who sees all that one device sends.
	local() account.Guarantee
}

// Law is that of the counts of one attribute, given who holds what.
type Law interface {
	// Rows is how many there are, and of how many cells: one, or those of a sketch. A
	// row has as many channels as any other.
	Rows() (rows, cells int)
	// Place adds where the cells of so many respondents lie, all of whom hold the same:
	// drawn, where that is. The cells hold until add returns.
	Place(r *rand.Rand, held []uint32, respondents int, add func(row int, cells []uint32, respondents int))
	// DrawCounts draws the counts of a row's channels, in all contributions of so many
	// respondents, given how many of them hold each cell of the row.
	DrawCounts(r *rand.Rand, holders []int, respondents int, out []uint64)
}

// New makes the question of a valid plan runnable.
func New(p plan.Plan) (*Question, error) {
	h := &Question{plan: p, ask: *p.Question.Histogram}
	if h.noised() && shares(p) {
		h.scattered = scattered(p)
	}
	for _, a := range h.ask.Attributes {
		attribute, err := newAttribute(a)
		if err != nil {
			return nil, err
		}
		if !h.ask.Randomizer.OneHot() && !h.noised() {
			attribute.all = true // the reference is a report of one cell too
		}
		if ofWindows(p) {
			attribute.cells = lastRounds(ofStudy(p).Rounds)
		}
		t, err := h.newRandomizer(attribute)
		if err != nil {
			return nil, fmt.Errorf("histogram: attribute %q: %w", a.Name, err)
		}
		if attribute.cells.Size() < 2 && !holders(a) && !(h.noised() && a.Kind == "set") {
			return nil, fmt.Errorf("histogram: attribute %q: a domain of 1 cells: give at least 2, or ask for a set by sums", a.Name)
		}
		h.attributes, h.randomizers, h.first = append(h.attributes, attribute), append(h.randomizers, t), append(h.first, h.channels)
		h.channels += t.channels()
	}
	if h.channels > plan.MaxCells {
		return nil, fmt.Errorf("histogram: the histogram takes %d channels, of at most %d: ask for fewer cells", h.channels, plan.MaxCells)
	}
	var err error
	if h.correlated, err = newCorrelated(p, h.channels); err != nil {
		return nil, err
	}
	if h.correlated != nil {
		h.randomizers[0] = h.randomizers[0].(noised).after(h.correlated, p)
	}
	return h, h.settle()
}

func (h *Question) newRandomizer(a attribute) (randomizer, error) {
	adjacency := account.Adjacency(h.plan.Budget.Adjacency)
	if h.noised() {
		return newNoised(h.plan, h.ask, a)
	}
	if h.ask.Randomizer.OneHot() {
		return newBits(h.ask, a, adjacency, h.plan.Contributions())
	}
	return newSymbols(h.ask.Randomizer, a, adjacency)
}

// cellsHeld is the symbol.
type cellsHeld struct {
	crowd int
	held  [][]uint32 // by attribute; none of the reference
}

// Encode finds the cells that the answers hold.
func (h *Question) Encode(v question.Value) (question.Symbol, error) {
	a, ok := v.(Answers)
	switch {
	case !ok:
		return nil, fmt.Errorf("histogram: a histogram question takes Answers, not %T", v)
	case a.Crowd < 0 || a.Crowd >= h.plan.Crowds():
		return nil, fmt.Errorf("histogram: the crowd is not one of the plan's %d", h.plan.Crowds())
	case len(a.Values) != len(h.attributes):
		return nil, fmt.Errorf("histogram: %d answers to %d attributes", len(a.Values), len(h.attributes))
	}
	s := cellsHeld{crowd: a.Crowd, held: make([][]uint32, len(h.attributes))}
	var unfit *question.OutOfDomainError
	for i, attribute := range h.attributes {
		var err error
		s.held[i], err = attribute.encode(a.Values[i])
		if err == nil {
			continue
		}
		err = fmt.Errorf("attribute %q: %w", attribute.name, err)
		if _, wrong := errors.AsType[wrongType](err); wrong {
			return nil, fmt.Errorf("histogram: %w", err)
		}
		s.held[i] = h.standIn(attribute, a.Values[i])
		if unfit == nil {
			unfit = &question.OutOfDomainError{Values: 1, Cause: err}
		}
	}
	if unfit != nil {
		return s, unfit
	}
	return s, nil
}

// share of the respondents that answer each attribute.
func (h *Question) share() float64 {
	if h.ask.Collect == plan.CollectSample {
		return 1 / float64(len(h.attributes))
	}
	return 1
}

// Answered draws which attributes a device answers.
func (h *Question) Answered(r *rand.Rand) []int {
	if h.ask.Collect == plan.CollectSample {
		return []int{r.IntN(len(h.attributes))}
	}
	all := make([]int, len(h.attributes))
	for i := range all {
		all[i] = i
	}
	return all
}

// answers returns how many attributes a device answers.
func (h *Question) answers() int { return answers(h.ask) }

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
	to        []uint32 // see randomizer
}

// Randomize answers each attribute, or one drawn at random, by its backstop if there
// are report fragments (ESA, Algorithm 2).
func (h *Question) Randomize(r *rand.Rand, symbol question.Symbol, memory question.Memory) (question.Report, error) {
	if h.noised() {
		return question.Report{}, errSplit
	}
	return h.report(r, symbol.(cellsHeld), memory)
}

// report makes the report, which is private where a randomizer makes it so.
func (h *Question) report(r *rand.Rand, s cellsHeld, memory question.Memory) (question.Report, error) {
	if h.ask.Randomizer.Fragments <= 1 {
		memory = nil // nothing is worth keeping: every report is drawn anew
	}
	key, committed, err := h.recall(s, memory)
	if err != nil {
		return question.Report{}, err
	}
	if committed == nil {
		for _, i := range h.Answered(r) {
			committed = append(committed, commitment{i, h.randomizers[i].commit(r, s.held[i])})
		}
		if memory != nil {
			if err := memory.Keep(key, pack(committed)); err != nil {
				return question.Report{}, fmt.Errorf("histogram: nothing is sent, since the backstop could not be kept: %w", err)
			}
		}
	}
	report := question.Report{Crowd: s.crowd, Parts: make([][][]byte, h.plan.Contributions())}
	for p := range report.Parts {
		said := tally.NewMessages(0)
		for _, c := range committed {
			h.randomizers[c.attribute].report(r, c.to, func(channel uint32) { said.Say(uint32(h.first[c.attribute])+channel, 0) })
		}
		report.Parts[p] = said.Bodies
	}
	return report, nil
}

// NewTally counts the channels of all attributes.
func (h *Question) NewTally() tally.Tally {
	if h.noised() {
		return tally.NewSums(h.channels)
	}
	return tally.NewCounts(h.channels, 1)
}

// Of returns the part of a tally's counts that belongs to an attribute.
func (h *Question) Of(counts []uint64, i int) []uint64 {
	return counts[h.first[i] : h.first[i]+h.randomizers[i].channels()]
}

// Attributes returns how many things are asked, and Law that of one.
func (h *Question) Attributes() int { return len(h.attributes) }

// Law returns that of the counts of an attribute.
func (h *Question) Law(attribute int) Law { return h.randomizers[attribute] }

// Held returns the cells in a symbol by attribute, and the crowd.
func Held(s question.Symbol) (crowd int, held [][]uint32) {
	c := s.(cellsHeld)
	return c.crowd, c.held
}
