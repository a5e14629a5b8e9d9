package histogram

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// Model is what a histogram teaches: the estimates of each attribute in each crowd
// that was released.
type Model struct {
	Tables []*Table // by crowd, then by attribute
	// Respondents counted, by crowd; 0 where it was withheld.
	Respondents []int
	Attributes  []plan.Attribute
	Crowds      []string // their names; none where there is one crowd, of everybody
	// Rows is what the noisy counts of a table add up to whose number of rows is private. Its error is 0 where
	// not every row counts once: then it is no number to show. It is nil where the number of rows is public.
	Rows *estimate.Value

	question *Question
}

// Table is one attribute in one crowd.
type Table struct {
	Crowd, Attribute int
	Respondents      int
	// Values are how many respondents hold each cell: unbiased, hence negative at
	// times. Errors are those of the collection; the respondents themselves are the
	// population.
	Values []estimate.Value
	Asked  plan.Attribute

	attribute attribute
	errors    errorLaw
	hidden    bool // how many rows there are is private
	atOnce    atOnce
	running   bool // values are of all rounds so far, and may be more than there are respondents
}

// Learn estimates every cell.
func (h *Question) Learn(crowds []tally.Crowd) (question.Model, error) {
	m := &Model{
		question: h, Respondents: make([]int, len(crowds)),
		Attributes: h.ask.Attributes, Crowds: h.plan.Crowd.Names,
	}
	for crowd, c := range crowds {
		if c.Tally == nil {
			continue
		}
		n, rest, counts := h.devices(c.Respondents), h.Estimate(c), counted(c)
		if n == 0 {
			return nil, fmt.Errorf("histogram: the tally of %s holds no respondents", h.crowdName(crowd))
		}
		if h.plan.RowsHidden() {
			n = m.addUp(h, rest)
		}
		m.Respondents[crowd] = n
		for i, a := range h.attributes {
			size := a.cells.Size()
			m.Tables = append(m.Tables, &Table{
				Crowd: crowd, Attribute: i, Respondents: n, Values: rest[:size:size],
				Asked: h.ask.Attributes[i], attribute: a, errors: h.randomizers[i].errors(h.Of(counts, i), n, h.share()), hidden: m.Rows != nil, atOnce: h.atOnce(i), running: h.correlated != nil,
			})
			rest = rest[size:]
		}
	}
	return m, nil
}

// Again returns what was learned as a release has it: so many respondents of each crowd, 0 of one that was
// withheld, and the estimates of the cells of an attribute. It is nil where the law of their errors
// follows from counts, which no release has.
func (h *Question) Again(respondents []int, cells func(crowd, attribute int) []estimate.Value) (*Model, error) {
	m := &Model{
		question: h, Respondents: respondents,
		Attributes: h.ask.Attributes, Crowds: h.plan.Crowd.Names,
	}
	if !h.ask.Randomizer.OneHot() && !h.noised() {
		return nil, nil
	}
	if h.plan.RowsHidden() && len(respondents) == 1 {
		var all []estimate.Value
		for i := range h.attributes {
			all = append(all, cells(0, i)...)
		}
		if len(all) != h.channels {
			return nil, fmt.Errorf("the release has %d cells of %d", len(all), h.channels)
		}
		respondents = []int{m.addUp(h, all)}
		m.Respondents = respondents
	}
	for crowd, n := range respondents {
		for i, a := range h.attributes {
			if n == 0 {
				continue
			}
			values := cells(crowd, i)
			if size := a.cells.Size(); len(values) != size {
				return nil, fmt.Errorf("the release has %d of the %d cells of %s", len(values), size, h.ask.Attributes[i].Name)
			}
			m.Tables = append(m.Tables, &Table{
				Crowd: crowd, Attribute: i, Respondents: n, Values: values,
				Asked: h.ask.Attributes[i], attribute: a, errors: h.randomizers[i].errors(nil, n, h.share()), hidden: m.Rows != nil, atOnce: h.atOnce(i), running: h.correlated != nil,
			})
		}
	}
	return m, nil
}

// Name returns that of a cell.
func (t *Table) Name(cell int) string { return t.attribute.cells.Name(cell) }

// Size returns the number of cells.
func (t *Table) Size() int { return t.attribute.cells.Size() }

// Independent says that the errors of different cells are.
func (t *Table) Independent() bool { return t.errors.independent }

// Exact says that the law of a cell's count is known, and not its first moments alone.
func (t *Table) Exact() bool { return t.errors.cell != nil || t.errors.exact }

// Total says that every respondent counts for exactly one cell.
func (t *Table) Total() bool { return t.attribute.all }

// Top returns the cells with the largest estimates, the largest first, at most so many.
func (t *Table) Top(most int) []int {
	var top []int
	for i, v := range t.Values {
		if len(top) == most {
			if v.Mean <= t.Values[top[most-1]].Mean {
				continue // as a rule: there are many cells and few of them largest
			}
			top = top[:most-1]
		}
		at, _ := slices.BinarySearchFunc(top, v.Mean, func(j int, mean float64) int {
			if t.Values[j].Mean >= mean { // of equal ones the first cell first
				return -1
			}
			return 1
		})
		top = slices.Insert(top, at, i)
	}
	return top
}

// HeavyHitters returns the cells of which it may be said that somebody holds them, the
// largest estimate first: at most the share rate of them, in expectation, are held
// by nobody. ok is false where no such bound is proved (sketches, local hashing).
func (t *Table) HeavyHitters(rate float64) (cells []int, ok bool) {
	if t.errors.null == nil {
		return nil, false
	}
	if !t.errors.independent {
		rate = estimate.AnyDependence(rate, len(t.Values))
	}
	means := make([]float64, len(t.Values))
	for i, v := range t.Values {
		means[i] = v.Mean
	}
	return estimate.HeavyHitters(means, t.errors.null, rate), true
}

// Intervals hold the number of respondents of each of the cells with probability
// level: exact where a cell's count is a sum of bits and small, else by the normal law.
// Of cells that were chosen by their estimates fewer lie in theirs: see IntervalsAtOnce.
func (t *Table) Intervals(cells []int, level float64) [][2]float64 {
	if c := t.errors.cell; c != nil {
		counts := make([]uint64, len(cells))
		for i, cell := range cells {
			counts[i] = ones(*c, t.Values[cell].Mean)
		}
		return c.Intervals(counts, level)
	}
	if t.errors.exact {
		return t.far(cells, 1-level)
	}
	ends := make([][2]float64, len(cells))
	for i, cell := range cells {
		low, high := t.Values[cell].Interval(level)
		n := float64(t.Respondents)
		if t.running {
			n = math.Inf(1)
		}
		ends[i] = [2]float64{math.Max(0, math.Min(low, n)), math.Min(n, math.Max(high, 0))}
	}
	return ends
}

// AtOnce returns how many numbers have intervals that hold together: those of the cells, and of all columns that one
// holder's page shows, each mean being one.
func (t *Table) AtOnce() int {
	if t.Asked.Kind == "open" {
		return 0
	}
	return t.atOnce.numbers
}

// Joint returns the level that the intervals of this table must have at once, for all that hold together to do so with
// probability level.
func (t *Table) Joint(level float64) float64 { return estimate.Joint(level, t.atOnce.families) }

// IntervalsAtOnce hold the number of respondents of every cell of the table at once with
// probability level, those of the cells given among them. Of one holder's table those of the other columns hold
// with them. So they hold for whatever cells
// somebody picks, by their estimates too: the largest estimate is large by its error as
// a rule, and an interval by itself does not allow for that.
//
// Of values that nobody declared nobody knows how many there are. There an interval holds its own value's
// number with probability level, whether it is published or not.
//
// Of counts over report fragments the tails are too heavy for the normal law so far out:
// their ends go by Chernoff's bound.
func (t *Table) IntervalsAtOnce(cells []int, level float64) [][2]float64 {
	if t.Asked.Kind == "open" {
		return t.Intervals(cells, level)
	}
	joint := estimate.Joint(t.Joint(level), len(t.Values))
	if t.errors.ends == nil {
		return t.Intervals(cells, joint)
	}
	return t.far(cells, 1-joint)
}

// far returns intervals at any depth.
func (t *Table) far(cells []int, alpha float64) [][2]float64 {
	known := map[float64][2]float64{} // counts are whole, so that estimates repeat
	ends := make([][2]float64, len(cells))
	for i, cell := range cells {
		mean := t.Values[cell].Mean
		e, ok := known[mean]
		if !ok {
			e = t.errors.ends(mean, alpha)
			known[mean] = e
		}
		ends[i] = e
	}
	return ends
}

// Consistent returns counts that could be true, nearest to the estimates: at least zero
// and, where every respondent counts for one cell, of the right sum; where each counts
// for one at most, of a sum that is no larger. They are biased and have no standard
// errors.
func (t *Table) Consistent() ([]float64, error) {
	clipped, sum := estimate.Clip(t.Values), 0.0
	for _, n := range clipped {
		sum += n
	}
	if t.running || !t.attribute.all && (t.attribute.items > 1 || sum <= float64(t.Respondents)) {
		return clipped, nil
	}
	return estimate.Project(t.Values, float64(t.Respondents))
}

// Proved returns how many respondents a device can move each cell by at most, which it proves: one,
// or where its noise is in range, as many as the range has. ok is false where it proves nothing.
func (h *Question) Proved() (most int, ok bool) {
	if h.plan.Route.Sum == nil {
		return 0, false
	}
	_, raised, _ := h.Scattered()
	return raised + 1, true
}

// Outline returns the table of an attribute that somebody was counted in, without estimates: what follows of
// every one from the plan.
func (h *Question) Outline(attribute int) *Table {
	t := h.randomizers[attribute]
	return &Table{
		Attribute: attribute, Asked: h.ask.Attributes[attribute], attribute: h.attributes[attribute],
		errors: t.errors(slices.Repeat([]uint64{1}, t.channels()), 1, h.share()), atOnce: h.atOnce(attribute),
	}
}

// Names returns those of an attribute's cells.
func (h *Question) Names(attribute int) map[string]bool {
	cells := h.attributes[attribute].cells
	names := make(map[string]bool, cells.Size())
	for cell := range cells.Size() {
		names[cells.Name(cell)] = true
	}
	return names
}

// Poisoned bounds how far so many malicious devices, counted among the respondents
// and sending what they like, could move the estimate of any one cell. ok is false
// where that is not known (sketches, local hashing), and of a table.
func (m *Model) Poisoned(t *Table, devices int) (down, up float64, ok bool) {
	law := t.errors.mean
	if law == nil || m.question.plan.Route.Table != nil { // where no device answers
		return 0, 0, false
	}
	// Envelopes are not linked, so all that one device sends may name one cell. A
	// count over several fragments is divided by their number. In a sum a proof allows a
	// device a single one in each number, whatever it sends.
	p := m.question.plan
	if _, raised, ok := m.question.Scattered(); ok {
		most := float64(devices) * float64(raised+1) / law.Keep
		return most, most, true
	}
	messages := (p.MostMessages()*p.Contributions() + t.errors.fragments - 1) / t.errors.fragments
	poison := estimate.Poison{Devices: devices, Messages: messages, PerCell: messages, Holds: t.attribute.items}
	if p.Route.Sum != nil {
		poison.PerCell = 1
	}
	down, up = poison.Shift(*law)
	return down, up, true
}
