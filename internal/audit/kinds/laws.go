package kinds

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	told "github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/vector"
)

// Law is what a device's answers to a record follow, by the plan's own numbers.
type Law struct {
	Says  string
	Holds question.Value // another record; nil: the one asked about
	Laws  [][]float64
	// Outcome counts those of one answer, by law: its crowd, and its messages as they are counted.
	Outcome func(t tally.Tally, crowd int, counts [][]int)
}

// Laws lists what a device's answers to a record follow, of a question whose messages are counted.
func Laws(p *protocol.Protocol, holds question.Value) ([]Law, error) {
	symbol, err := Encode(p, holds)
	if err != nil {
		return nil, err
	}
	k := kind{p, holds}
	if d, ok := p.Question.(*density.Question); ok {
		return k.ofBits(d, symbol), nil
	}
	if ones, err := Ones(p, holds); ones != nil || err != nil {
		return append(k.ofRows(ones), k.tooLong()...), err
	}
	switch q, inner := innerOf(p); q.(type) {
	case *histogram.Question:
		return k.ofCells(inner, symbol)
	case *label.Question:
		return k.ofLabel(inner), nil
	}
	return nil, nil
}

// kind is a protocol and a record that a device of it holds.
type kind struct {
	protocol *protocol.Protocol
	holds    question.Value
}

// ofRows tells how many rows a device answers, and with which bits.
func (g kind) ofRows(ones []float64) []Law {
	share := float64(g.answered()) / float64(len(ones))
	number := make([]float64, len(ones)+1)
	for k := range number {
		number[k] = prob.BinomialPMF(k, len(ones), share)
	}
	if room := g.protocol.Plan.MostMessages(); room < len(ones) { // of more answers a random rest is dropped
		for k := room + 1; k < len(number); k++ {
			number[room] += number[k]
			number[k] = 0
		}
	}
	rows := Law{Says: "bits of rows are ones as the rotated vector and the plan's flips say"}
	for _, one := range ones {
		rows.Laws = append(rows.Laws, []float64{1 - one, one})
	}
	rows.Outcome = ofChannels
	flip := 0.5
	for _, one := range ones {
		flip = math.Min(flip, math.Min(one, 1-one))
	}
	clipped := Law{
		Says: fmt.Sprintf("bits of the rows that are clipped most are flipped with probability %.6g", flip),
		Laws: [][]float64{{1 - flip, flip}},
		Outcome: func(t tally.Tally, _ int, counts [][]int) {
			for row, one := range ones {
				n := t.(*tally.Counts).Channel(row)
				switch {
				case math.Abs(one-flip) < 1e-9:
					counts[0][0], counts[0][1] = counts[0][0]+int(n[0]), counts[0][1]+int(n[1])
				case math.Abs(1-one-flip) < 1e-9:
					counts[0][0], counts[0][1] = counts[0][0]+int(n[1]), counts[0][1]+int(n[0])
				}
			}
		},
	}
	return []Law{clipped, rows, {
		Says: fmt.Sprintf("a device answers each row with probability %.6g", share), Laws: [][]float64{number},
		Outcome: func(t tally.Tally, _ int, counts [][]int) { counts[0][named(t)]++ },
	}}
}

// tooLong describes the bits of a vector whose norm is far above one: fair ones, or those of the nearest vector that
// fits, as the plan says.
func (g kind) tooLong() []Law {
	v, ok := g.holds.(vector.Record)
	ask := g.protocol.Plan.Question.Vector
	if !ok || ask == nil || ask.Rounds[0].Sums != plan.SumsFeatures || g.protocol.Plan.State != "" {
		return nil
	}
	near, far := v, v
	near.Features, far.Features = scaled(slices.Clone(v.Features), 1-1e-6), scaled(slices.Clone(v.Features), 20)
	law := Law{Says: "bits of a vector that is too long are fair", Holds: far}
	ones, err := Ones(g.protocol, near)
	if err != nil {
		return nil
	}
	if g.protocol.Plan.Question.Unfit == plan.UnfitClip {
		law.Says = "bits of a vector that is too long are those of the nearest that fits"
	}
	for _, one := range ones {
		if g.protocol.Plan.Question.Unfit != plan.UnfitClip {
			one = 0.5
		}
		law.Laws = append(law.Laws, []float64{1 - one, one})
	}
	law.Outcome = ofChannels
	return []Law{law}
}

// ofChannels counts the symbols of each channel.
func ofChannels(t tally.Tally, _ int, counts [][]int) {
	for channel := range counts {
		for symbol, n := range t.(*tally.Counts).Channel(channel) {
			counts[channel][symbol] += int(n)
		}
	}
}

// answered tells how many rows the plan has a device answer on average.
func (g kind) answered() int {
	if ask := g.protocol.Plan.Question.Gradient; ask != nil {
		return ask.Report.Bits
	}
	q, _ := innerOf(g.protocol)
	return q.(interface{ Rows() *told.Mechanism }).Rows().Spec().Answered
}

// named counts how many messages a tally of one report has.
func named(t tally.Tally) (n int) {
	for _, k := range t.(*tally.Counts).N {
		n += int(k)
	}
	return n
}

// ofCells tells how often a device says a cell that it holds, and one that it does not.
func (g kind) ofCells(p plan.Plan, symbol question.Symbol) ([]Law, error) {
	drawn, err := Drawn(g.protocol, symbol)
	if err != nil || len(drawn) == 0 || len(drawn[0]) == 0 || len(drawn[0][0]) == 0 {
		return nil, nil // the record holds no cell
	}
	q, _ := innerOf(g.protocol)
	ask := *p.Question.Histogram
	rows, width := q.(*histogram.Question).Law(0).Rows()
	held := drawn[0][0][0].At
	asked := 1 / float64(len(drawn[0]))
	cell := func(says string, at int, keep, flip float64) Law {
		m, law := histogram.OneHot(ask.Randomizer, width), []float64(nil)
		rows := max(1, m.Tau/g.protocol.Plan.Contributions()) * g.protocol.Plan.Contributions()
		for k := range rows + 1 {
			law = append(law, asked*(keep*prob.BinomialPMF(k, rows, m.Fragment.Keep)+flip*prob.BinomialPMF(k, rows, m.Fragment.Flip)))
		}
		law[0] += 1 - asked
		return Law{Says: says, Laws: [][]float64{law}, Outcome: func(t tally.Tally, _ int, counts [][]int) {
			counts[0][t.(*tally.Counts).N[at]]++
		}}
	}
	if ask.Randomizer.OneHot() {
		m := histogram.OneHot(ask.Randomizer, width)
		all := []Law{cell(fmt.Sprintf("a cell that is held is said with probability %.6g in each fragment", m.Prob(true)), held, m.Backstop.Keep, 1-m.Backstop.Keep)}
		for other := range width {
			if at := held/width*width + other; rows == 1 && !slices.ContainsFunc(drawn[0][0], func(a Added) bool { return a.At == at }) {
				all = append(all, cell(fmt.Sprintf("a cell that is not held is said with probability %.6g in each fragment", m.Prob(false)), at, m.Backstop.Flip, 1-m.Backstop.Flip))
				break
			}
		}
		return all, nil
	}
	if w := float64(ask.Randomizer.Subset); w > 0 { // of so many cells
		e, k := math.Exp(ask.Randomizer.Epsilon), float64(width)
		says := asked * w * e / (w*e + k - w)
		return []Law{{
			Says: fmt.Sprintf("a set of local epsilon %.6g has the cell that is held with probability %.6g", ask.Randomizer.Epsilon, says),
			Laws: [][]float64{{1 - says, says}}, Outcome: func(t tally.Tally, _ int, counts [][]int) { counts[0][t.(*tally.Counts).N[held]]++ },
		}}, nil
	}
	channels, law := spoken(ask.Randomizer, width, held)
	if law == nil || channels > len(g.protocol.NewTally().(*tally.Counts).N) {
		return nil, nil
	}
	for i := range law {
		law[i] *= asked
	}
	return []Law{{
		Says: fmt.Sprintf("a device of local epsilon %.6g says each symbol as often as the plan says", ask.Randomizer.Epsilon),
		Laws: [][]float64{append(law, 1-asked)},
		Outcome: func(t tally.Tally, _ int, counts [][]int) {
			for i, n := range t.(*tally.Counts).N[:channels] {
				if n > 0 {
					counts[0][i]++
					return
				}
			}
			counts[0][channels]++ // of another attribute
		},
	}}, nil
}

// spoken gives the law of the one channel that a report of a holder of a cell names; nil where it names several.
func spoken(z plan.Randomizer, cells, held int) (channels int, law []float64) {
	var of func(channel int) float64
	switch z.Name {
	case "krr":
		m := randomize.KRR{K: cells, Epsilon: z.Epsilon}
		channels, of = cells, func(channel int) float64 { return m.Prob(channel, held) }
	case "hadamard":
		m := randomize.Hadamard{K: cells, Epsilon: z.Epsilon}
		channels, of = m.Channels(), func(channel int) float64 { return m.Prob(uint32(channel), held) }
	default:
		return 0, nil
	}
	sum := 0.0
	for channel := range channels {
		law = append(law, of(channel))
		sum += law[channel]
	}
	for channel := range law {
		law[channel] /= sum
	}
	return channels, law
}

// flipping is a protocol that sends each bit by itself, as it is or flipped.
type flipping interface {
	Prob(symbol uint8, bit bool) float64
}

// onesOf gives the probability of a one in each channel of a density's features; nil where bits are not sent by
// themselves.
func onesOf(q *density.Question, symbol question.Symbol) (ones []float64) {
	rr, ok := q.Bits.(flipping)
	if !ok {
		return nil
	}
	flip := rr.Prob(1, false)
	for _, f := range density.Vector(symbol) {
		ones = append(ones, flip+(1-2*flip)*(1+math.Max(-1, math.Min(1, float64(f))))/2)
	}
	return ones
}

// ofBits describes the bits of a density's features, where each is sent flipped, and the class.
func (g kind) ofBits(q *density.Question, symbol question.Symbol) []Law {
	ones := onesOf(q, symbol)
	if ones == nil {
		return nil
	}
	bits := Law{Says: fmt.Sprintf("bits of features are flipped with probability %.6g", q.Bits.(flipping).Prob(1, false))}
	for _, one := range ones {
		bits.Laws = append(bits.Laws, []float64{1 - one, one})
	}
	bits.Outcome = ofChannels
	all := []Law{bits}
	if q.Labels != nil {
		class := g.holds.(density.Labelled).Class
		law := make([]float64, q.Labels.K)
		for y := range law {
			law[y] = q.Labels.Prob(y, class)
		}
		all = append(all, Law{
			Says: fmt.Sprintf("a class is told with a local epsilon of %.6g", q.Labels.Epsilon), Laws: [][]float64{law},
			Outcome: func(_ tally.Tally, crowd int, counts [][]int) { counts[0][crowd]++ },
		})
	}
	return all
}

// ofLabel describes the label that stands by itself beside the number of its record.
func (g kind) ofLabel(p plan.Plan) []Law {
	ask := p.Question.Label
	if ask.Randomizer == nil {
		return nil
	}
	m, holds := randomize.KRR{K: len(ask.Classes), Epsilon: ask.Randomizer.Epsilon}, g.holds.(label.Record)
	law := make([]float64, m.K)
	for y := range law {
		law[y] = m.Prob(y, holds.Class)
	}
	return []Law{{
		Says: fmt.Sprintf("a label is told with a local epsilon of %.6g", m.Epsilon), Laws: [][]float64{law},
		Outcome: func(t tally.Tally, _ int, counts [][]int) {
			for y := range counts[0] {
				counts[0][y] += int(t.(*tally.Counts).N[holds.Number*m.K+y])
			}
		},
	}}
}
