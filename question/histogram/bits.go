package histogram

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/sketch"
	"github.com/confetti-dp/confetti/plan"
)

// bits is the table of a one-hot answer, of which each bit that is set travels by
// itself (ESA, Algorithm 1), behind a backstop if there are report fragments
// (Algorithm 2), and in one row of a sketch if there is one.
type bits struct {
	mechanism randomize.Fragmented // a single fragment has a backstop that changes nothing
	sender    *randomize.FragmentedSender
	rows      int // report fragments in a contribution
	size      int // cells of the attribute
	items     int
	adjacency account.Adjacency
	sketch    folding // nil: the cells themselves
}

// folding is a sketch (internal/dp/sketch): it folds cells into those of each row.
type folding interface {
	Rows() int
	Cells() int
	Cell(row int, value uint32) uint32
	Channel(row int, cell uint32) uint32
	DrawRows(source *rand.Rand, devices int, add func(row, devices int))
	Estimate(counts []uint64, n int, a sketch.Answer, candidates []uint32) []estimate.Value
	Variance(holders, n int, pairs float64, a sketch.Answer) float64
}

func newBits(ask plan.Histogram, a attribute, adjacency account.Adjacency, contributions int) (*bits, error) {
	t := &bits{size: a.cells.Size(), items: a.items, adjacency: adjacency}
	k := t.size
	if s := ask.Sketch; s != nil {
		seed, err := encode.ParseSeed(s.Seed)
		if err != nil {
			return nil, fmt.Errorf("the sketch: %w", err)
		}
		if s.Name == "count" {
			t.sketch, err = asFolding(sketch.NewCount(s.Hashes, s.Width, seed))
		} else {
			t.sketch, err = asFolding(sketch.NewCountMean(s.Hashes, s.Width, seed))
		}
		if err != nil {
			return nil, err
		}
		k = t.sketch.Cells()
	}
	t.mechanism = OneHot(ask.Randomizer, k)
	if err := t.mechanism.Validate(); err != nil {
		return nil, err
	}
	t.sender, t.rows = t.mechanism.Sender(), max(1, t.mechanism.Tau/contributions)
	return t, nil
}

// asFolding keeps a nil sketch from becoming a folding that is not nil.
func asFolding[S folding](s S, err error) (folding, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// OneHot returns the plan's mechanism over k cells. A single fragment has a backstop that changes
// nothing.
func OneHot(r plan.Randomizer, k int) randomize.Fragmented {
	m := randomize.Fragmented{
		Backstop: randomize.OneHot{K: k, Keep: 1},
		Fragment: randomize.OneHot{K: k, Keep: r.Keep, Flip: r.Flip},
		Tau:      1,
	}
	if r.Fragments > 1 {
		m.Backstop.Keep, m.Backstop.Flip, m.Tau = r.BackstopKeep, r.BackstopFlip, r.Fragments
	}
	return m
}

func (t *bits) channels() int { return t.folds() * t.mechanism.Backstop.K }

// folds returns the number of rows of the sketch, one without.
func (t *bits) folds() int {
	if t.sketch == nil {
		return 1
	}
	return t.sketch.Rows()
}

// commit draws the backstop, preceded by the row where there is a sketch.
func (t *bits) commit(r *rand.Rand, held []uint32) []uint32 {
	if t.sketch == nil {
		return t.sender.Backstop(r, held)
	}
	row := r.IntN(t.sketch.Rows())
	return append([]uint32{uint32(row)}, t.sender.Backstop(r, t.fold(r, row, held))...)
}

// fold returns where a device's one cell lies in a row. Who holds none takes a cell of the
// row at random: what an estimate expects of whoever holds another value than its own.
func (t *bits) fold(r *rand.Rand, row int, held []uint32) []uint32 {
	if len(held) == 0 {
		return []uint32{uint32(r.IntN(t.sketch.Cells()))}
	}
	return []uint32{t.sketch.Cell(row, held[0])}
}

func (t *bits) valid(committed []uint32) bool {
	if t.sketch != nil {
		if len(committed) == 0 || int(committed[0]) >= t.sketch.Rows() {
			return false
		}
		committed = committed[1:]
	}
	for i, cell := range committed {
		if int(cell) >= t.mechanism.Backstop.K || i > 0 && cell <= committed[i-1] {
			return false
		}
	}
	return true
}

func (t *bits) report(r *rand.Rand, committed []uint32, emit func(channel uint32)) {
	if t.sketch != nil {
		row, send := int(committed[0]), emit
		committed, emit = committed[1:], func(cell uint32) { send(t.sketch.Channel(row, cell)) }
	}
	for range t.rows {
		t.sender.Fragment(r, committed, emit)
	}
}

// tau returns the number of report fragments that are counted.
func (t *bits) tau() int { return t.mechanism.Tau }

func (t *bits) read(counts []uint64, respondents int, share float64) []estimate.Value {
	if t.sketch != nil {
		return t.sketch.Estimate(counts, respondents, sketch.Fragments(t.mechanism, t.tau()), t.candidates())
	}
	law := t.perDevice(share)
	values := make([]estimate.Value, len(counts))
	for i, c := range counts {
		values[i] = law.estimate(float64(c), float64(respondents))
	}
	return values
}

// candidates returns all cells of the attribute, which a sketch estimates.
func (t *bits) candidates() []uint32 {
	all := make([]uint32, t.size)
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

// deviation of a sketch leaves out pairs of respondents with one value, which
// collide together.
func (t *bits) deviation(holders, respondents int, share float64) float64 {
	if t.sketch != nil {
		return math.Sqrt(t.sketch.Variance(holders, respondents, 0, sketch.Fragments(t.mechanism, t.tau())))
	}
	return t.perDevice(share).deviation(float64(holders), float64(respondents))
}

// errors returns no law of a sketch: nothing is proved of its far tails, where a few collisions
// with a frequent value decide.
func (t *bits) errors(_ []uint64, respondents int, share float64) errorLaw {
	if t.sketch != nil {
		return errorLaw{}
	}
	mean := estimate.Cell{N: respondents, Keep: share * t.mechanism.Prob(true), Flip: share * t.mechanism.Prob(false)}
	e := ofCell(mean)
	if t.tau() > 1 {
		law := t.perDevice(share)
		e = errorLaw{mean: &mean, fragments: t.tau(), null: law.null(respondents), ends: law.ends(respondents)}
	}
	e.independent, e.sampled, e.together = true, share < 1, together(respondents, t.mechanism.Prob(true), t.mechanism.Prob(false), share)
	return e
}

// perDevice returns the law that a device adds to counts by.
func (t *bits) perDevice(share float64) perDevice {
	m, tau := t.mechanism, float64(t.tau())
	gap := tau * (m.Prob(true) - m.Prob(false)) // Variance is that of the estimate
	return perDevice{
		held:     moments{tau * m.Prob(true), m.Variance(1, 1, t.tau()) * gap * gap}.thin(share),
		other:    moments{tau * m.Prob(false), m.Variance(0, 1, t.tau()) * gap * gap}.thin(share),
		logHeld:  t.generating(share, m.Backstop.Keep),
		logOther: t.generating(share, m.Backstop.Flip),
	}
}

// generating returns ln E e^(theta N) of the messages of a device whose backstop has a one
// with probability kept.
func (t *bits) generating(share, kept float64) func(theta float64) float64 {
	fragment, tau := t.mechanism.Fragment, float64(t.tau())
	return func(theta float64) float64 {
		up := math.Expm1(theta)
		given := func(sent float64) float64 { return math.Expm1(tau * math.Log1p(sent*up)) }
		return math.Log1p(share * (kept*given(fragment.Keep) + (1-kept)*given(fragment.Flip)))
	}
}

// Rows returns those of the sketch.
func (t *bits) Rows() (rows, cells int) { return t.folds(), t.mechanism.Backstop.K }

// Place draws the row.
func (t *bits) Place(r *rand.Rand, held []uint32, respondents int, add func(row int, cells []uint32, respondents int)) {
	switch {
	case t.sketch == nil:
		add(0, held, respondents)
	case len(held) == 0:
		for range respondents {
			row := r.IntN(t.sketch.Rows())
			add(row, t.fold(r, row, nil), 1)
		}
	default:
		cell := make([]uint32, 1)
		t.sketch.DrawRows(r, respondents, func(row, n int) {
			cell[0] = t.sketch.Cell(row, held[0])
			add(row, cell, n)
		})
	}
}

// DrawCounts draws as the mechanism does.
func (t *bits) DrawCounts(r *rand.Rand, holders []int, respondents int, out []uint64) {
	t.mechanism.DrawCounts(r, holders, respondents, out)
}

// event returns that of the backstops, of whose multiset the shuffled fragments are a
// function, or of the rows of fragments seen through them: both are upper bounds
// (docs/histograms-privacy.md), and the smaller is taken. A respondent holds up to items cells,
// and each is a bit that changes.
func (t *bits) event(users int, delta float64) account.Event {
	if t.tau() == 1 {
		return t.again(users)
	}
	backstops, rows := t.repeated(t.mechanism.Backstop, users, 1), t.through(users, 0)
	a, err := account.Epsilon(backstops, delta)
	if err != nil {
		return rows
	}
	if b, err := account.Epsilon(rows, delta); err == nil && b.Epsilon < a.Epsilon {
		return rows
	}
	return backstops
}

// covering returns the table with the most items: what a respondent's items cost does not depend
// on how many cells there are.
func (t *bits) covering(all []randomizer) (randomizer, bool) {
	for _, other := range all {
		if b, ok := other.(*bits); !ok || b.items > t.items {
			return nil, false
		}
	}
	return t, true
}

// through returns that of the rows seen through the backstops, some of the device's own
// outright. It holds of one collection with a backstop only.
func (t *bits) through(users, seen int) account.Event {
	e := t.mechanism.Event(users, seen, t.adjacency)
	if t.items > 1 {
		return account.Repeat{Event: e, Rounds: t.items}
	}
	return e
}

// again returns that of the rows: given all backstops, their fragments are fresh in every
// collection. The backstops' coins are not, and do not compose (docs/histograms-privacy.md).
func (t *bits) again(users int) account.Event {
	return t.repeated(t.mechanism.Fragment, users, t.tau())
}

func (t *bits) repeated(m randomize.OneHot, users, rows int) account.Event {
	if rounds := rows * t.items; rounds > 1 {
		return account.Repeat{Event: m.Event(users, t.adjacency), Rounds: rounds}
	}
	return m.Event(users, t.adjacency)
}

func (t *bits) local() account.Guarantee {
	if t.tau() == 1 {
		return t.mechanism.Fragment.LocalSet(t.items, t.adjacency)
	}
	return t.exposed(t.tau())
}

// exposed returns the guarantee against who sees so many report fragments of a device, and
// nothing else.
func (t *bits) exposed(seen int) account.Guarantee {
	g := t.mechanism.Exposed(seen, t.adjacency)
	if t.items > 1 {
		g.Epsilon *= float64(t.items)
		g.Bound = account.Upper
	}
	return g
}
