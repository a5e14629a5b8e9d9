package audit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/label"
	"github.com/confetti-dp/confetti/question/latent"
)

// lawful is what a device's answers to one record follow, by the plan's own numbers.
type lawful struct {
	says  string
	holds question.Value
	laws  [][]float64
	// outcome counts those of one answer, by law.
	outcome func(t tally.Tally, a client.Answer, counts [][]int)
}

// answers tests the law of what a device says, as far as its kind has one that the plan's numbers
// give.
func (g *leg) answers(r *rand.Rand) (all []Constant, err error) {
	d, err := g.device(r)
	if err != nil {
		return nil, err
	}
	if likely, ok := g.known.(reader); ok {
		return likely.ratios(d)
	}
	tests, err := g.lawfuls()
	if err != nil {
		return nil, err
	}
	for _, test := range tests {
		counts := make([][]int, len(test.laws))
		for i, law := range test.laws {
			counts[i] = make([]int, len(law))
		}
		for range g.looks() {
			t := g.protocol.NewTally()
			a, err := d.answer(test.holds, t, nil)
			if err != nil {
				return nil, err
			}
			test.outcome(t, a, counts)
		}
		draws := 0
		for _, c := range counts {
			for _, n := range c {
				draws += n
			}
		}
		all = append(all, kept(aDevice, test.says, draws, fitOf(test.laws, counts)))
	}
	return all, nil
}

// inner is the question that a question's answers go by: itself, where it goes by no other.
func (g *leg) inner() (question.Question, plan.Plan) {
	switch q := g.protocol.Question.(type) {
	case *label.Question:
		if of := q.Inner(); of != nil {
			return of, q.InnerPlan()
		}
	case *latent.Question:
		if of := q.Inner(); of != nil {
			return of, q.InnerPlan()
		}
	}
	return g.protocol.Question, g.protocol.Plan
}

// lawfuls are the laws of the leg's kind.
func (g *leg) lawfuls() ([]lawful, error) {
	if _, sums := g.known.(noised); sums {
		return nil, nil // of cells as they are only the noise is drawn
	}
	symbol, err := g.encode(g.holds[0])
	if err != nil {
		return nil, err
	}
	if rows, ok := g.rows(g.holds[0]); ok {
		return g.ofRows(rows.Ones(symbol)), nil
	}
	switch q, p := g.inner(); q := q.(type) {
	case *histogram.Question:
		return g.ofCells(p, symbol)
	case *density.Question:
		return g.ofBits(q, symbol), nil
	case *label.Question:
		return g.ofLabel(p), nil
	}
	return nil, nil
}

// ofRows are how many rows a device answers, and with which bits.
func (g *leg) ofRows(ones []float64) []lawful {
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
	rows := lawful{says: "bits of rows are ones as the rotated vector and the plan's flips say", holds: g.holds[0]}
	for _, one := range ones {
		rows.laws = append(rows.laws, []float64{1 - one, one})
	}
	rows.outcome = func(t tally.Tally, _ client.Answer, counts [][]int) {
		for row := range counts {
			for symbol, n := range t.(*tally.Counts).Channel(row) {
				counts[row][symbol] += int(n)
			}
		}
	}
	flip := 0.5
	for _, one := range ones {
		flip = math.Min(flip, math.Min(one, 1-one))
	}
	clipped := lawful{
		says:  fmt.Sprintf("bits of the rows that are clipped most are flipped with probability %.6g", flip),
		holds: g.holds[0], laws: [][]float64{{1 - flip, flip}},
		outcome: func(t tally.Tally, _ client.Answer, counts [][]int) {
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
	return []lawful{clipped, rows, {
		says: fmt.Sprintf("a device answers each row with probability %.6g", share), holds: g.holds[0], laws: [][]float64{number},
		outcome: func(t tally.Tally, _ client.Answer, counts [][]int) { counts[0][named(t)]++ },
	}}
}

// answered is how many rows the plan has a device answer on average.
func (g *leg) answered() int { return int(math.Round(g.protocol.Question.Risks().Messages)) }

// named is how many messages a tally of one report has.
func named(t tally.Tally) (n int) {
	for _, k := range t.(*tally.Counts).N {
		n += int(k)
	}
	return n
}

// ofCells are how often a device says a cell that it holds, and one that it does not.
func (g *leg) ofCells(p plan.Plan, symbol question.Symbol) ([]lawful, error) {
	drawn, err := g.drawn(symbol)
	if err != nil || len(drawn) == 0 || len(drawn[0]) == 0 || len(drawn[0][0]) == 0 {
		return nil, nil // the record holds no cell
	}
	q, _ := g.inner()
	ask := *p.Question.Histogram
	rows, width := q.(*histogram.Question).Law(0).Rows()
	held := drawn[0][0][0]
	asked := 1 / float64(len(drawn[0]))
	cell := func(says string, at int, keep, flip float64) lawful {
		m, law := histogram.OneHot(ask.Randomizer, width), []float64(nil)
		rows := max(1, m.Tau/g.protocol.Plan.Contributions()) * g.protocol.Plan.Contributions()
		for k := range rows + 1 {
			law = append(law, asked*(keep*prob.BinomialPMF(k, rows, m.Fragment.Keep)+flip*prob.BinomialPMF(k, rows, m.Fragment.Flip)))
		}
		law[0] += 1 - asked
		return lawful{says: says, holds: g.holds[0], laws: [][]float64{law}, outcome: func(t tally.Tally, _ client.Answer, counts [][]int) {
			counts[0][t.(*tally.Counts).N[at]]++
		}}
	}
	if ask.Randomizer.OneHot() {
		m := histogram.OneHot(ask.Randomizer, width)
		all := []lawful{cell(fmt.Sprintf("a cell that is held is said with probability %.6g in each fragment", m.Prob(true)), held, m.Backstop.Keep, 1-m.Backstop.Keep)}
		for other := range width {
			if at := held/width*width + other; rows == 1 && !slices.Contains(drawn[0][0], at) {
				all = append(all, cell(fmt.Sprintf("a cell that is not held is said with probability %.6g in each fragment", m.Prob(false)), at, m.Backstop.Flip, 1-m.Backstop.Flip))
				break
			}
		}
		return all, nil
	}
	if w := float64(ask.Randomizer.Subset); w > 0 { // of so many cells
		e, k := math.Exp(ask.Randomizer.Epsilon), float64(width)
		says := asked * w * e / (w*e + k - w)
		return []lawful{{
			says: fmt.Sprintf("a set of local epsilon %.6g has the cell that is held with probability %.6g", ask.Randomizer.Epsilon, says), holds: g.holds[0],
			laws: [][]float64{{1 - says, says}}, outcome: func(t tally.Tally, _ client.Answer, counts [][]int) { counts[0][t.(*tally.Counts).N[held]]++ },
		}}, nil
	}
	channels, law := spoken(ask.Randomizer, width, held)
	if law == nil || channels > len(g.protocol.NewTally().(*tally.Counts).N) {
		return nil, nil
	}
	for i := range law {
		law[i] *= asked
	}
	return []lawful{{
		says: fmt.Sprintf("a device of local epsilon %.6g says each symbol as often as the plan says", ask.Randomizer.Epsilon), holds: g.holds[0],
		laws: [][]float64{append(law, 1-asked)},
		outcome: func(t tally.Tally, _ client.Answer, counts [][]int) {
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

// spoken is the law of the one channel that a report of a holder of a cell names; nil where it names several.
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

// ofBits are the bits of a density's features, where each is sent flipped, or else none.
func (g *leg) ofBits(q *density.Question, symbol question.Symbol) []lawful {
	rr, ok := q.Bits.(bitsum.RR)
	if !ok {
		return nil
	}
	bits := lawful{says: fmt.Sprintf("bits of features are flipped with probability %.6g", rr.Flip), holds: g.holds[0]}
	for _, f := range density.Vector(symbol) {
		one := rr.Flip + (1-2*rr.Flip)*(1+math.Max(-1, math.Min(1, float64(f))))/2
		bits.laws = append(bits.laws, []float64{1 - one, one})
	}
	bits.outcome = func(t tally.Tally, _ client.Answer, counts [][]int) {
		for channel := range counts {
			for symbol, n := range t.(*tally.Counts).Channel(channel) {
				counts[channel][symbol] += int(n)
			}
		}
	}
	all := []lawful{bits}
	if q.Labels != nil {
		class := g.holds[0].(density.Labelled).Class
		law := make([]float64, q.Labels.K)
		for y := range law {
			law[y] = q.Labels.Prob(y, class)
		}
		all = append(all, lawful{
			says: fmt.Sprintf("a class is told with a local epsilon of %.6g", q.Labels.Epsilon), holds: g.holds[0], laws: [][]float64{law},
			outcome: func(_ tally.Tally, a client.Answer, counts [][]int) { counts[0][a.Crowd]++ },
		})
	}
	return all
}

// ofLabel is the label that stands by itself beside the number of its record.
func (g *leg) ofLabel(p plan.Plan) []lawful {
	ask := p.Question.Label
	if ask.Randomizer == nil {
		return nil
	}
	m, holds := randomize.KRR{K: len(ask.Classes), Epsilon: ask.Randomizer.Epsilon}, g.holds[0].(label.Record)
	law := make([]float64, m.K)
	for y := range law {
		law[y] = m.Prob(y, holds.Class)
	}
	return []lawful{{
		says: fmt.Sprintf("a label is told with a local epsilon of %.6g", m.Epsilon), holds: holds, laws: [][]float64{law},
		outcome: func(t tally.Tally, _ client.Answer, counts [][]int) {
			for y := range counts[0] {
				counts[0][y] += int(t.(*tally.Counts).N[holds.Number*m.K+y])
			}
		},
	}}
}

// ratios tests reports that say nothing in sum: of reports y of the first record the mean of
// P(y | second)/P(y | first) is one, and of the second likewise, however often a device lies; where it lies less
// than its law says, it is less.
func (e reader) ratios(d device) (all []Constant, err error) {
	claim, err := d.leg.claim(account.EveryoneColludes)
	if err != nil {
		return nil, err
	}
	for who, name := range []string{"first", "second"} {
		var ratios []float64
		for range d.leg.looks() {
			t := d.leg.protocol.NewTally()
			if _, err := d.answer(d.leg.held(who == 1), t, nil); err != nil {
				return nil, err
			}
			for body := range t.(*tally.Rows).All() {
				ratios = append(ratios, e.law.Prob(body, e.holds[1-who])/e.law.Prob(body, e.holds[who]))
			}
		}
		all = append(all, kept(aDevice, fmt.Sprintf("reports of the %s record are as likely as their law says", name), len(ratios), oneOnAverage(ratios, math.Exp(claim.Epsilon))))
	}
	return all, nil
}

// oneOnAverage bounds the probability that the mean of draws from zero to most is as far from one, where one is what
// is expected (Maurer and Pontil 2009, Theorem 4, on either side).
func oneOnAverage(draws []float64, most float64) float64 {
	mean, variance := stat.MeanVariance(draws, nil)
	if variance == 0 && mean == 1 {
		return 1
	}
	// |mean-1| = sqrt(2 variance x/n) + 7 most x/(3(n-1)), x = ln(2/chance), is solved for the root of x.
	n := float64(len(draws))
	a, b := 7*most/(3*(n-1)), math.Sqrt(2*variance/n)
	root := (math.Sqrt(b*b+4*a*math.Abs(mean-1)) - b) / (2 * a)
	return math.Min(1, 4*math.Exp(-root*root))
}
