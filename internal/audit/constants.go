package audit

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/audit/drawn"
	"github.com/confetti-dp/confetti/internal/audit/kinds"
	"github.com/confetti-dp/confetti/internal/audit/report"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/prob/goodness"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// Constant is what one party must keep to whatever respondents hold, and how well its draws fit.
// Attacks find what a view loses; a rate that is wrong shows in the draws themselves much sooner.
type Constant = report.Constant

// Constants tests what the parties of the first round must keep to, each by draws of what ships. It tests
// the source of randomness; devices' envelopes, their order and their law; tokens; the noise of devices, of
// aggregators and of an entry; and the order in which an entry hands on.
func (t *Route) Constants(seed uint64, progress func(stage string, done, of int)) (all []Constant, err error) {
	g := t.legs[0]
	if _, counted := g.protocol.NewTally().(*tally.Counts); !counted { // what an attacker learns of counts is of no use here
		if err := g.ready(); err != nil {
			return nil, err
		}
	}
	tests := []func(r *rand.Rand) ([]Constant, error){source, g.contributions, g.answers, g.noise, t.tokens, t.entry}
	for i, test := range tests {
		progress("constants", i, len(tests))
		some, err := test(seeded.New(seed, forConstants, uint64(i)))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

const aDevice = "a device"

// kept judges some draws of a constant.
func kept(party, says string, draws int, p float64) Constant {
	return Constant{Party: party, Says: says, Draws: draws, P: p, Verdict: report.Judge(p, sure)}
}

// never gives the probability of what was seen so often and must not be seen at all.
func never(times int) float64 {
	if times > 0 {
		return 0
	}
	return 1
}

// sources is how many generators are made.
const sources = 256

// source makes generators as parties do, from the operating system.
func source(*rand.Rand) ([]Constant, error) {
	return []Constant{kept("every party", "no two of its sources of randomness begin alike", sources, never(drawn.Alike(sources)))}, nil
}

// handings is how many answers of a device are looked at, at most, and fewestHandings at least.
const (
	handings       = 20_000
	fewestHandings = 500
)

// looks gives how many answers of a device are looked at.
func (g *leg) looks() int {
	return max(fewestHandings, min(handings, 2_000_000/max(10, g.work())))
}

// contributions looks at the outside of what a device hands in, at the order of what is in it, and at
// whether one answer is drawn apart from the next.
func (g *leg) contributions(r *rand.Rand) ([]Constant, error) {
	d, err := g.device(r)
	if err != nil {
		return nil, err
	}
	n, misfits := max(fewestHandings, g.looks()/4*2), 0
	var ends, rising sign
	again := [2]repeats{{seen: map[string]int{}}, {seen: map[string]int{}}} // of either record
	for i := range 2 * n {
		a, err := d.reply(g.held(i >= n))
		if err != nil {
			return nil, err
		}
		if !g.fits(a) {
			misfits++
		}
		o, err := orderOf(a)
		if err != nil {
			return nil, err
		}
		ends.add(o.first, o.last)
		rising.add(o.rising > 0, o.rising < 0)
		again[i/n].add(textOf(a))
	}
	fresh := kept(aDevice, "no answer is drawn from the randomness of the one before", 2*n, math.Min(1, 2*math.Min(again[0].fit(), again[1].fit())))
	if g.protocol.Plan.Route.Sum != nil {
		return []Constant{kept(aDevice, "a vector has as many numbers as the plan says", 2*n, never(misfits)), fresh}, nil
	}
	e := g.protocol.Plan.Envelopes
	all := []Constant{kept(aDevice, fmt.Sprintf("a contribution is %d envelopes of %d bytes", e.PerDevice, e.PayloadBytes), 2*n, never(misfits)), fresh}
	for _, order := range []struct {
		says string
		sign
	}{{"messages come first as often as dummies", ends}, {"messages come in any order", rising}} {
		if n := order.one + order.other; n > 0 {
			all = append(all, kept(aDevice, order.says, n, order.fit()))
		}
	}
	return all, nil
}

// textOf writes all of an answer, such that two answers that differ are written differently.
func textOf(a client.Answer) string {
	var b []byte
	for _, part := range a.Parts {
		for _, n := range []int{part.Instance, part.Body, len(part.Payloads), len(part.Vector)} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		for _, payload := range part.Payloads {
			b = append(binary.AppendUvarint(b, uint64(len(payload))), payload...)
		}
		for _, x := range part.Vector {
			b = binary.AppendUvarint(b, x)
		}
	}
	return string(b)
}

// fits says whether the outside of an answer is that of all answers to the plan.
func (g *leg) fits(a client.Answer) bool {
	p := g.protocol.Plan
	if len(a.Parts) != p.Contributions() {
		return false
	}
	for _, part := range a.Parts {
		if p.Route.Sum != nil {
			if len(part.Vector) != p.Route.Sum.Circuit.Length {
				return false
			}
			continue
		}
		if len(part.Payloads) != p.Envelopes.PerDevice {
			return false
		}
		for _, payload := range part.Payloads {
			if len(payload) != p.Envelopes.PayloadBytes {
				return false
			}
		}
	}
	return true
}

// sign counts which of two things was there without the other.
type sign struct{ one, other int }

func (s *sign) add(one, other bool) {
	switch {
	case one && !other:
		s.one++
	case other && !one:
		s.other++
	}
}

// fit gives the probability of counts so far from each other, where either is as likely.
func (s sign) fit() float64 {
	few, n := min(s.one, s.other), s.one+s.other
	return math.Min(1, 2*math.Exp(prob.LogBinomialCDF(few, n, 0.5)))
}

// repeats counts how often an answer is the one before, in pairs, and how often any two are alike.
type repeats struct {
	seen                map[string]int
	last                string
	total, pairs, equal int
}

// add takes the next answer; every other begins a pair.
func (s *repeats) add(answer string) {
	s.seen[answer]++
	if s.total++; s.total%2 == 0 {
		if s.pairs++; answer == s.last {
			s.equal++
		}
	}
	s.last = answer
}

// fit gives the probability of so many equal pairs, where answers are drawn apart: equal pairs are then
// as frequent as among all answers, but for four deviations of what is known of these.
func (s *repeats) fit() float64 {
	n, alike := float64(s.total), 0.0
	for _, times := range s.seen {
		alike += float64(times) * float64(times-1) / (n * (n - 1))
	}
	expected := alike + 4*math.Sqrt(alike/n) + 1/n
	if expected >= 1 {
		return 1
	}
	return math.Exp(prob.LogBinomialSurvival(s.equal-1, s.pairs, expected))
}

// fitOf gives the probability of draws that fit laws as badly as the worst of some does: each is a law of
// its own, so that the least is multiplied by their number.
func fitOf(laws [][]float64, counts [][]int) float64 {
	least := 1.0
	for i, law := range laws {
		least = math.Min(least, goodness.Fit(law, counts[i]))
	}
	return math.Min(1, least*float64(len(laws)))
}

// answers tests the law of what a device says, as far as its kind has one that the plan's numbers
// give.
func (g *leg) answers(r *rand.Rand) (all []Constant, err error) {
	d, err := g.device(r)
	if err != nil {
		return nil, err
	}
	switch known := g.known.(type) {
	case reader:
		return known.ratios(d)
	case noised: // of cells as they are only the noise is drawn
		return nil, nil
	}
	laws, err := kinds.Laws(g.protocol, g.holds[0])
	if err != nil {
		return nil, err
	}
	for _, law := range laws {
		counts := make([][]int, len(law.Laws))
		for i, outcomes := range law.Laws {
			counts[i] = make([]int, len(outcomes))
		}
		holds := law.Holds
		if holds == nil {
			holds = g.holds[0]
		}
		for range g.looks() {
			t := g.protocol.NewTally()
			a, err := d.answer(holds, t, nil)
			if err != nil {
				return nil, err
			}
			law.Outcome(t, a.Crowd, counts)
		}
		draws := 0
		for _, c := range counts {
			for _, n := range c {
				draws += n
			}
		}
		all = append(all, kept(aDevice, law.Says, draws, fitOf(law.Laws, counts)))
	}
	return all, nil
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
