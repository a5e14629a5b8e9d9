package histogram

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/plan"
)

// symbols is the table of an answer that is drawn as a whole: a device holds one
// cell, and its messages, as many for every device, are one report.
type symbols struct {
	mechanism symbolizer
	messages  int
	size      int
	epsilon   float64
	adjacency account.Adjacency
	covers    func(users int) account.Event // its event; nil: the mechanism's own
	// cell is the law of how many reports support a cell, N aside; nil where hash
	// functions, which are few, decide that too.
	cell *estimate.Cell
}

// symbolizer is a mechanism of one cell (internal/dp/randomize).
type symbolizer interface {
	Validate() error
	Channels() int
	Randomize(r *rand.Rand, x int, emit func(channel uint32))
	DrawCounts(r *rand.Rand, holders []int, out []uint64)
	EstimateAll(counts []uint64, n int, out []estimate.Value)
	Variance(holders, n int) float64
	Local(adjacency account.Adjacency) account.Guarantee
	Event(users int) account.Event
}

// coverer has an event that covers the mechanism over its own domain, and over any larger one
// with the same other parameters.
type coverer interface {
	Covering(users int) account.Event
}

// kary emits its symbol as all others do.
type kary struct{ randomize.KRR }

func (m kary) Randomize(r *rand.Rand, x int, emit func(channel uint32)) {
	emit(uint32(m.KRR.Randomize(r, x)))
}

// hashes assumes that the other cells are held by equally many.
type hashes struct{ randomize.LocalHash }

func (m hashes) Variance(holders, n int) float64 {
	all := make([]int, m.K)
	all[0] = holders
	for i := 1; i < m.K; i++ {
		all[i] = (n - holders) / (m.K - 1)
	}
	return m.LocalHash.Variance(0, all)
}

func newSymbols(z plan.Randomizer, a attribute, adjacency account.Adjacency) (*symbols, error) {
	w := ways[z.Name]
	if w.new == nil {
		return nil, fmt.Errorf("no code for the randomizer %q", z.Name)
	}
	m, err := w.new(z, a.cells.Size())
	if err != nil {
		return nil, err
	}
	t := &symbols{mechanism: m.symbolizer, messages: m.messages, size: a.cells.Size(), epsilon: z.Epsilon, adjacency: adjacency, cell: m.cell}
	return t, t.mechanism.Validate()
}

func (t *symbols) channels() int { return t.mechanism.Channels() }

// commit draws a cell where the respondent holds none; otherwise there is nothing to settle,
// without a backstop.
func (t *symbols) commit(r *rand.Rand, held []uint32) []uint32 {
	if len(held) == 0 {
		return []uint32{uint32(r.IntN(t.size))}
	}
	return held
}

func (t *symbols) valid(committed []uint32) bool {
	return len(committed) == 1 && int(committed[0]) < t.size
}

func (t *symbols) report(r *rand.Rand, committed []uint32, emit func(channel uint32)) {
	t.mechanism.Randomize(r, int(committed[0]), emit)
}

// answered returns how many answered: all send the same number of messages.
func (t *symbols) answered(counts []uint64) int {
	sum := uint64(0)
	for _, c := range counts {
		sum += c
	}
	return int(sum) / t.messages
}

// read estimates each cell. Of those who were asked with probability share, T holders of a cell count
// in place of T/share, which adds T (1-share)/share to the variance. Where chance asked nobody, a cell may be anybody's.
func (t *symbols) read(counts []uint64, respondents int, share float64) []estimate.Value {
	values := make([]estimate.Value, t.size)
	if t.answered(counts) == 0 && share < 1 {
		for i := range values {
			values[i].StdErr = math.Sqrt(float64(respondents) * (1 - share) / share)
		}
		return values
	}
	t.mechanism.EstimateAll(counts, t.answered(counts), values)
	if share < 1 {
		for i, v := range values {
			v = v.Scale(1 / share)
			v.StdErr = math.Sqrt(v.StdErr*v.StdErr + math.Max(0, v.Mean)*(1-share)/share)
			values[i] = v
		}
	}
	return values
}

func (t *symbols) deviation(holders, respondents int, share float64) float64 {
	asked := func(n int) int { return int(math.Round(share * float64(n))) }
	variance := t.mechanism.Variance(asked(holders), asked(respondents)) / (share * share)
	return math.Sqrt(variance + float64(holders)*(1-share)/share)
}

func (t *symbols) errors(counts []uint64, respondents int, share float64) (e errorLaw) {
	n := t.answered(counts)
	if t.cell != nil && n > 0 {
		cell := *t.cell
		cell.N = n
		e = ofCell(cell)
		if share < 1 { // what is known is the law of those who were asked
			null := e.null
			asked := *t.cell
			asked.N, asked.Keep, asked.Flip = n, asked.Keep*share, asked.Flip*share
			e = errorLaw{mean: &asked, fragments: 1, null: func(mean float64) float64 { return null(mean * share) }}
		}
	}
	if _, e.tied = t.mechanism.(kary); e.tied {
		e.sampled, e.together = share < 1, alone(respondents, t.cell.Keep, t.cell.Flip, share)
	}
	return e
}

// alone returns what the errors of two cells have in common where a respondent says one symbol, if asked at all, which
// has probability share. It is the symbol held with probability keep, and any other one with probability flip. Over the
// square of share (keep - flip), two counts have the covariance
//
//	-share flip (n flip + (keep - flip) (n_a + n_b)) .
func alone(respondents int, keep, flip, share float64) estimate.Together {
	gap := keep - flip
	return estimate.Together{Fixed: -float64(respondents) * flip * flip / (share * gap * gap), Each: -flip / (share * gap)}
}

// Rows returns one.
func (t *symbols) Rows() (rows, cells int) { return 1, t.size }

// Place draws a cell where the respondent holds none.
func (t *symbols) Place(r *rand.Rand, held []uint32, respondents int, add func(row int, cells []uint32, respondents int)) {
	if len(held) > 0 {
		add(0, held, respondents)
		return
	}
	for range respondents {
		add(0, t.commit(r, nil), 1)
	}
}

// DrawCounts draws as the mechanism does.
func (t *symbols) DrawCounts(r *rand.Rand, holders []int, _ int, out []uint64) {
	t.mechanism.DrawCounts(r, holders, out)
}

// event returns that of whole reports, shuffled. Messages of a subset travel apart, which
// is post-processing.
func (t *symbols) event(users int, _ float64) account.Event {
	if t.covers != nil {
		return t.covers(users)
	}
	return t.mechanism.Event(users)
}

// covering returns the table itself among tables of its own size, which have its law. Among
// larger ones it is the mechanism that knows.
func (t *symbols) covering(all []randomizer) (randomizer, bool) {
	alike := true
	for _, other := range all {
		s, ok := other.(*symbols)
		if !ok || s.size < t.size {
			return nil, false
		}
		alike = alike && s.size == t.size
	}
	if alike {
		return t, true
	}
	m, ok := t.mechanism.(coverer)
	if !ok {
		return nil, false
	}
	worst := *t
	worst.covers = m.Covering
	return &worst, true
}

func (t *symbols) again(users int) account.Event { return t.event(users, 0) }

func (t *symbols) local() account.Guarantee { return t.mechanism.Local(t.adjacency) }
