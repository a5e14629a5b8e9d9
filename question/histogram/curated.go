package histogram

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/plan"
)

// The holder of a table sees all rows, and can be asked what no device can answer: a mean by a sum of its own,
// and values that nobody declared (docs/tables.md).
//
// A row of number x within [low, high] adds (x-low)/(high-low) to one number and the rest of one to another. A row
// that is there or not moves both by one in all, and their discrete Laplace noise, in as fine steps, hides that as
// it does one count: the loss is at most the decay, whatever x is. Where rows are exchanged and their number is
// public, the first number tells the second, has noise alone, and moves by one.

// steps cut a row into, of which each of its two numbers has some. A power of two divides a decay exactly.
const steps = 1 << 24

// leastOfMeans is the least decay whose noise of a step can be drawn.
const leastOfMeans = 0x1p-16

// besideCells says that something is asked that only the holder of a table answers.
func besideCells(ask plan.Histogram) bool {
	return slices.ContainsFunc(ask.Attributes, holders)
}

// holders says that an attribute is asked of the holder of a table alone.
func holders(a plan.Attribute) bool { return a.Kind == "mean" || a.Kind == "open" }

// listed are cells by name, of which there may be none.
type listed []string

func (l listed) Size() int            { return len(l) }
func (l listed) Name(cell int) string { return l[cell] }

// ends returns the two numbers of a mean: how many rows there are at the high end and at the low one, where a row
// between them is a part of both.
func ends(a plan.Attribute) listed {
	return listed{fmt.Sprintf("towards %g", a.High), fmt.Sprintf("towards %g", a.Low)}
}

// inSteps encodes a number as its steps from the low end. Who has none has no steps.
func inSteps(a plan.Attribute) func(answer any) ([]uint32, error) {
	encode := takes("a float64", func(x float64) ([]uint32, error) {
		if math.IsNaN(x) {
			return nil, nil
		}
		part := (max(a.Low, min(a.High, x)) - a.Low) / (a.High - a.Low)
		return []uint32{uint32(math.Round(steps * max(0, min(1, part))))}, nil
	})
	return func(answer any) ([]uint32, error) {
		if answer == nil {
			return nil, nil
		}
		return encode(answer)
	}
}

// inCells returns what a row holds without the numbers of means, which are in no cell.
func (h *Question) inCells(s cellsHeld) cellsHeld {
	if !besideCells(h.ask) {
		return s
	}
	s.held = slices.Clone(s.held)
	for i, a := range h.attributes {
		if a.kind == "mean" {
			s.held[i] = nil
		}
	}
	return s
}

// between adds the numbers of a row to its vector. Where the number of rows is public a row without a number
// counts as the middle, and else not at all.
func (h *Question) between(s cellsHeld, vector []uint64) {
	for i, a := range h.attributes {
		if a.kind != "mean" || len(s.held[i]) == 0 && h.plan.RowsHidden() {
			continue
		}
		at := uint64(steps / 2)
		if len(s.held[i]) > 0 {
			at = uint64(s.held[i][0])
		}
		vector[h.first[i]], vector[h.first[i]+1] = at, steps-at
	}
}

// other fills in what follows of a mean where the number of rows is public: the second number from the first.
func (h *Question) other(sums []int64, rows int) {
	for i, a := range h.attributes {
		if a.kind == "mean" && !h.plan.RowsHidden() {
			sums[h.first[i]+1] = int64(rows)*steps - sums[h.first[i]]
		}
	}
}

// HolderNoise draws what the holder of a table adds to the sums of its rows, one for each number: of a mean in steps.
func (h *Question) HolderNoise(r *rand.Rand) []int64 {
	route := *h.plan.Route.Noise()
	all := sum.Draw(r, route, h.noisedCircuit().Length)
	for i, a := range h.attributes {
		if a.kind == "mean" {
			copy(all[h.first[i]:], sum.Draw(r, finer(route), 2))
		}
	}
	return all
}

// finer returns the noise of one row in steps.
func finer(route plan.Sum) plan.Sum {
	route.Decay /= steps
	return route
}

// moved returns how many counts a row moves by one at most that is exchanged for another, or is there or not: of a
// set each item, and of a mean as much as one count.
func (h *Question) moved() (numbers int) {
	for _, a := range h.ask.Attributes {
		one := a.Items()
		if !h.plan.RowsHidden() && a.Kind != "mean" {
			one = 2 * one
			if a.Kind != "open" {
				one = min(one, a.Domain())
			}
		}
		numbers += one
	}
	return numbers
}

// openShare of delta pays for values that appear though one row alone holds them.
const openShare = 0.99

// calibrated finds the least noise, with what delta leaves beside values that nobody declared.
func calibrated(p plan.Plan, ask plan.Histogram, changed int) (plan.Sum, error) {
	if besideCells(ask) && p.Route.Noise().Law == "" {
		s := *p.Route.Noise()
		s.Law = plan.LawLaplace
		p = withNoise(p, s)
	}
	if opens(ask) > 0 {
		p.Budget.Delta *= 1 - openShare
	}
	return sumprivacy.Calibrate(p, changed)
}

// opens returns how many attributes there are whose values nobody declared.
func opens(ask plan.Histogram) (n int) {
	for _, a := range ask.Attributes {
		if a.Kind == "open" {
			n++
		}
	}
	return n
}

// thresholds returns the attributes with the least noisy count that is published of a value that nobody declared.
func thresholds(p plan.Plan, ask plan.Histogram) []plan.Attribute {
	all := slices.Clone(ask.Attributes)
	law := sum.Total(*p.Route.Noise())
	rare := math.Log(openShare*p.Budget.Delta*(1-1e-9)) - math.Log(float64(values(p)*max(1, opens(ask))))
	for i := range all {
		if all[i].Kind != "open" {
			continue
		}
		j := 1
		for !(law.LogAtLeast(j) <= rare) {
			j *= 2
		}
		for j > 1 && law.LogAtLeast(j-1) <= rare {
			j--
		}
		all[i].Least = 1 + j
	}
	return all
}

// values returns of how many values one row may be the only one, on either of two neighbouring tables: of the one that
// it leaves and of the one that it takes, or of its own.
func values(p plan.Plan) int {
	if p.RowsHidden() {
		return 1
	}
	return 2
}

// appearing bounds the probability that a value is published which one row alone holds: without that row it cannot
// be. Elsewhere neighbours have the same values, and thresholds on noisy counts cost nothing.
func (h *Question) appearing() (p float64) {
	if opens(h.ask) == 0 {
		return 0
	}
	law := sum.Total(*h.plan.Route.Noise())
	for _, a := range h.ask.Attributes {
		if a.Kind == "open" {
			p += float64(values(h.plan)) * math.Exp(law.LogAtLeast(a.Least-1)) * (1 + 1e-9)
		}
	}
	return p
}

// Open draws which of the values of a column that nobody declared are published, and their noisy counts, given how
// many rows hold each that somebody holds. The noise is the plan's, and the threshold its attribute's.
func (h *Question) Open(r *rand.Rand, attribute int, held map[string]int64) map[string]int64 {
	names := make([]string, 0, len(held))
	for name := range held {
		names = append(names, name)
	}
	slices.Sort(names)
	published := map[string]int64{}
	for i, z := range sum.Draw(r, *h.plan.Route.Noise(), len(names)) {
		if noisy := held[names[i]] + z; noisy >= int64(h.ask.Attributes[attribute].Least) {
			published[names[i]] = noisy
		}
	}
	return published
}

// Beside returns the sums of all cells in their order, with those of published values put between the others, which
// were counted by the question before it had these.
func (h *Question) Beside(sums []int64, published map[int]map[string]int64) []int64 {
	all := make([]int64, h.noisedCircuit().Length)
	for i, a := range h.attributes {
		for cell := range all[h.first[i] : h.first[i]+h.randomizers[i].channels()] {
			if a.kind == "open" {
				all[h.first[i]+cell] = published[i][a.cells.Name(cell)]
			} else {
				all[h.first[i]+cell], sums = sums[0], sums[1:]
			}
		}
	}
	return all
}

// Published returns the question with the values that were published of each attribute that had none, as its cells.
func (h *Question) Published(values func(attribute int) []string) (*Question, error) {
	p, ask := h.plan, h.ask
	ask.Attributes = slices.Clone(ask.Attributes)
	for i := range ask.Attributes {
		if ask.Attributes[i].Kind == "open" {
			ask.Attributes[i].Values = values(i)
		}
	}
	p.Question.Histogram = &ask
	return New(p)
}

// opened is the table of values that nobody declared.
type opened struct {
	noised
	size int
}

func (t opened) channels() int { return t.size }

// errors knows no law of a cell that nobody holds, since none is published.
func (t opened) errors(counts []uint64, respondents int, share float64) errorLaw {
	e := t.noised.errors(counts, respondents, share)
	e.null = nil
	return e
}

// halves is the table of a mean.
type halves struct {
	noised
	fine sum.Law // of the noise, in steps
}

func newHalves(t noised, route plan.Sum) halves {
	if route.Law == "" { // a design has yet to find it
		return halves{noised: t}
	}
	return halves{t, sum.Total(finer(route))}
}

func (t halves) read(counts []uint64, _ int, _ float64) []estimate.Value {
	values := make([]estimate.Value, len(counts))
	for i, c := range counts {
		values[i] = estimate.Value{Mean: float64(int64(c)) / steps, StdErr: math.Sqrt(t.fine.Variance) / steps}
	}
	return values
}

// errors gives ends that hold both numbers at once, since one may follow from the other.
func (t halves) errors(counts []uint64, respondents int, share float64) errorLaw {
	e := errorLaw{fragments: 1, within: func(alpha float64) float64 { return float64(t.fine.Within(alpha)) / steps }}
	e.exact = true
	e.ends = func(mean, alpha float64) [2]float64 {
		w, n := e.within(alpha), float64(respondents)
		if t.hidden {
			n = math.Inf(1)
		}
		return [2]float64{max(0, min(mean-w, n)), min(n, max(mean+w, 0))}
	}
	return e
}

// Average returns the mean of an attribute that asks for one, and the interval that holds it with probability level.
// It is not ok of others, and where noise is all that there is.
//
// Of numbers A and B with noise of their own, of which rows are the parts t and 1-t of all N: A - t (A+B) is a mixture
// of both noises, and at most the larger. So t lies within w of A, in units of A+B, w the width for both at once.
// Where N is public the noise of A alone counts. Half a step is for rounding.
func (t *Table) Average(level float64) (mean estimate.Value, low, high float64, ok bool) {
	if t.Asked.Kind != "mean" {
		return mean, 0, 0, false
	}
	a, b := t.Values[0], t.Values[1]
	n, alpha := a.Mean+b.Mean, 1-t.Joint(level)
	part := a.Mean / n
	spread := a.StdErr / n
	if t.hidden {
		alpha /= 2
		spread *= math.Hypot(1-part, part)
	}
	w := t.errors.within(alpha) / n
	if !(n >= 1 && w < 1) {
		return mean, 0, 0, false
	}
	at := func(part float64) float64 { return t.Asked.Low + max(0, min(1, part))*(t.Asked.High-t.Asked.Low) }
	half := 0.5 / steps
	return estimate.Value{Mean: at(part), StdErr: spread * (t.Asked.High - t.Asked.Low)}, at(part - w - half), at(part + w + half), true
}

// atOnce counts intervals that hold at once: families of them, and the numbers that they are of.
type atOnce struct{ families, numbers int }

// atOnce returns what holds with the intervals of an attribute. A holder's page is read as a whole, so that there it is
// every column but those whose values nobody listed. Buckets are two families: cells, and the distribution.
func (h *Question) atOnce(attribute int) atOnce {
	if h.plan.Route.Table == nil {
		return atOnce{1, h.attributes[attribute].cells.Size()}
	}
	var all atOnce
	for i, a := range h.attributes {
		switch a.kind {
		case "open":
		case "mean":
			all.families, all.numbers = all.families+1, all.numbers+1
		case "buckets":
			all.families++
			fallthrough
		default:
			all.families, all.numbers = all.families+1, all.numbers+h.attributes[i].cells.Size()
		}
	}
	return atOnce{max(1, all.families), all.numbers}
}

// Weighted returns what bounds a sum of the errors of so many cells of each of two weights, but for probability alpha; nil
// where no law of them is known so far.
func (t *Table) Weighted() func(alpha float64, cells [2]int, weights [2]float64) float64 {
	return t.errors.weighted
}

// chernoff bounds weighted sums of a holder's noise by its moments: P(|S| > w) <= 2 e^(K(t) - t w) for every t, where K adds
// up ln E e^(a t Z). Of discrete Laplace noise that is ln (1-q)^2/((1-q e^(at))(1-q e^(-at))), q = e^-decay; discrete
// Gaussian noise has at most that of a normal law (Canonne, Kamath and Steinke 2020, corollary 17).
func chernoff(route plan.Sum) func(alpha float64, cells [2]int, weights [2]float64) float64 {
	return func(alpha float64, cells [2]int, weights [2]float64) float64 {
		square, largest := 0.0, 0.0
		for i, a := range weights {
			if cells[i] > 0 {
				square, largest = square+float64(cells[i])*a*a, max(largest, math.Abs(a))
			}
		}
		if !(largest > 0) {
			return 0
		}
		if route.Law == plan.LawGaussian {
			return math.Sqrt(2*math.Log(2/alpha)*square) * route.Sigma
		}
		least := math.Inf(1)
		for t := route.Decay / largest * (1 - 0x1p-20); t > 1e-4*route.Decay/largest; t *= 0.96 {
			k := math.Log(2 / alpha)
			for i, a := range weights {
				k += float64(cells[i]) * (2*math.Log(-math.Expm1(-route.Decay)) - math.Log(-math.Expm1(a*t-route.Decay)) - math.Log(-math.Expm1(-a*t-route.Decay)))
			}
			least = min(least, k/t)
		}
		return least
	}
}

// addUp returns how many rows the noisy counts of a table add up to, at least one, whose number is private. It is kept
// with its error where every row counts once in an attribute; in a mean only those do that have a number.
func (m *Model) addUp(h *Question, values []estimate.Value) int {
	m.Rows = &estimate.Value{}
	for i, a := range h.attributes {
		if a.all && a.kind != "mean" {
			*m.Rows = estimate.Sum(values[h.first[i] : h.first[i]+h.randomizers[i].channels()])
			break
		}
	}
	if m.Rows.StdErr == 0 {
		for _, v := range values {
			m.Rows.Mean += v.Mean
		}
	}
	return max(1, int(math.Round(m.Rows.Mean)))
}
