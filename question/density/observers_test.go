package density_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// statements are the three guarantees of a plan: everyone colludes, one
// fragment seen, shuffler honest.
func statements(t *testing.T, p plan.Plan) (local, one, shuffled account.Guarantee) {
	t.Helper()
	promise, err := example.Runnable(t, p).Promise()
	if err != nil {
		t.Fatal(err)
	}
	s := promise.Statements
	if len(s) != 3 || s[0].Guarantee.Trust != account.Local || s[1].Guarantee.Trust != account.OneFragment || s[2].Guarantee.Trust != account.Shuffled {
		t.Fatalf("statements %+v", s)
	}
	return s[0].Guarantee, s[1].Guarantee, s[2].Guarantee
}

// What everyone sees of a device is its reported class and one symbol a channel.
// Over all outcomes and all pairs of values the largest loss is the stated one:
// not less (it would be false) and not more (it would be wasteful).
func TestLocalEpsilonIsThatOfTheEnumeratedReport(t *testing.T) {
	for _, labels := range []plan.LabelEpsilon{plan.Unprotected, 3} {
		p := example.Density("rr")
		p.Budget.LabelEpsilon = labels
		p = example.Design(t, p)
		const channels, classes = 4, 2
		rr := bitsum.RR{Flip: p.Question.Density.Bitsum.FlipProbability}
		// The law of (class, symbols) given (class, bits), all bits of one kind
		// against all of the other being the worst pair among the enumerated.
		law := func(class int, bits uint, reported int, symbols uint) float64 {
			q := 1.0
			if labels != plan.Unprotected {
				q = randomize.KRR{K: classes, Epsilon: float64(labels)}.Prob(reported, class)
			}
			for c := range channels {
				q *= rr.Prob(uint8(symbols>>c&1), bits>>c&1 == 1)
			}
			return q
		}
		worst := 0.0
		for x := range uint(1 << channels) {
			for y := range uint(1 << channels) {
				for class := range classes {
					for symbols := range uint(1 << channels) {
						if labels == plan.Unprotected && class != 0 {
							continue // the guarantee speaks of the features only
						}
						for reported := range classes {
							worst = max(worst, math.Log(law(0, x, reported, symbols)/law(class, y, reported, symbols)))
						}
					}
				}
			}
		}
		local, _, _ := statements(t, p)
		if math.Abs(local.Epsilon-worst) > 1e-12*worst || local.Delta != 0 {
			t.Errorf("labels %v: stated epsilon %v, delta %v, enumerated %v", labels, local.Epsilon, local.Delta, worst)
		}
	}
}

// Who opens one fragment sees its bit and, of two channels, the count of the other one:
// the joint law of the two, whatever the others hold and whichever way each bit changes.
// The bit's own loss, which is less, is the twin that must be caught.
func TestOneFragmentIsThatOfTheBitAndTheOtherCounts(t *testing.T) {
	p := example.Density("rr")
	p.Question.Density.Repetitions = 2
	p.Budget.LabelEpsilon = plan.Unprotected
	p.Budget.Delta, p.Crowd.Minimum = 1e-3, 20
	p = example.Design(t, p)
	_, g, _ := statements(t, p)
	n, flip := p.MinHonest(), p.Question.Density.Bitsum.FlipProbability
	worst, less, alone := 0.0, 0.0, 0.0
	for ones := range n {
		var laws [2][2][]float64 // by the opened bit and the other one
		for bit, keep := range []float64{flip, 1 - flip} {
			for other := range 2 {
				count := example.Convolved(example.Binomials(ones+other, 1-flip), example.Binomials(n-ones-other, flip))
				laws[bit][other] = example.Convolved([]float64{1 - keep}, count)
				laws[bit][other] = append(laws[bit][other], example.Convolved([]float64{keep}, count)...)
			}
		}
		for _, pair := range [][2][]float64{{laws[0][0], laws[1][1]}, {laws[1][1], laws[0][0]}, {laws[0][1], laws[1][0]}, {laws[1][0], laws[0][1]}} {
			worst = max(worst, example.Hockey(g.Epsilon, pair[0], pair[1]))
			less = max(less, example.Hockey(0.99*g.Epsilon, pair[0], pair[1]))
			alone = max(alone, example.Hockey(math.Log((1-flip)/flip), pair[0], pair[1]))
		}
	}
	if worst > g.Delta || less <= g.Delta || g.Delta != p.Budget.Delta {
		t.Errorf("stated %v: the enumerated delta is %v, and %v at 1 %% less", g, worst, less)
	}
	if alone < 0.01 {
		t.Errorf("the bit's own loss holds but for a delta of %v: the test has no power", alone)
	}
}

// Of 768 bits of 40,000 respondents: a lower bound is 4.492.
func TestOneFragmentOfMany(t *testing.T) {
	p := example.Density("rr")
	p.Question.Density.Repetitions = 768
	p.Budget.LabelEpsilon, p.Budget.DishonestShare, p.Budget.Delta = plan.Unprotected, 0, 1e-6
	p.Crowd.Minimum = 40_000
	p = example.Design(t, p)
	_, one, shuffled := statements(t, p)
	if one.Epsilon < 4.49 || one.Epsilon > 4.502 || one.Delta != 1e-6 || one.Bound != account.Upper || one.Users != shuffled.Users {
		t.Errorf("one fragment %v, shuffled %v", one, shuffled)
	}
}

// A device that sends no message +1 holds no one: with 3NB a report by itself
// has no finite loss, and the release says so.
func TestThreeNBProtectsNothingByItself(t *testing.T) {
	p := example.Design(t, example.Density("3nb"))
	local, one, _ := statements(t, p)
	if !math.IsInf(local.Epsilon, 1) || !math.IsInf(one.Epsilon, 1) || local.Meaningful() {
		t.Errorf("local epsilon %v, of one fragment %v", local.Epsilon, one.Epsilon)
	}
}

// tight checks an (epsilon, delta) against the view of the shuffled crowd for
// each number of ones among the others: true everywhere, and 1 % less is not.
func tight(t *testing.T, p plan.Plan, view func(ones int) []float64) {
	t.Helper()
	_, _, g := statements(t, p)
	worst, less := 0.0, 0.0
	for others := range p.MinHonest() {
		zero, one := view(others), view(others+1)
		for _, pair := range [][2][]float64{{zero, one}, {one, zero}} {
			worst = max(worst, example.Hockey(g.Epsilon, pair[0], pair[1]))
			less = max(less, example.Hockey(g.Epsilon*0.99, pair[0], pair[1]))
		}
	}
	if worst > g.Delta || less <= g.Delta {
		t.Errorf("stated (%v, %v): the enumerated delta is %v, and %v at 1 %% less", g.Epsilon, g.Delta, worst, less)
	}
}

// With one channel the analyzer sees one count, whose law is two binomials.
func TestShuffledEpsilonIsThatOfTheEnumeratedCounts(t *testing.T) {
	p := example.Density("rr")
	example.Identity(&p, 1)
	p.Budget.LabelEpsilon = plan.Unprotected
	p.Budget.Delta, p.Crowd.Minimum = 1e-3, 20
	p = example.Design(t, p)
	n, flip := p.MinHonest(), p.Question.Density.Bitsum.FlipProbability
	tight(t, p, func(ones int) []float64 {
		law := make([]float64, n+1)
		for kept := range ones + 1 {
			for flipped := range n - ones + 1 {
				law[kept+flipped] += prob.BinomialPMF(kept, ones, 1-flip) * prob.BinomialPMF(flipped, n-ones, flip)
			}
		}
		return law
	})
}

// With 3NB it sees two counts, ones + Z1 + Z3 and Z2 + Z3. The overflow that
// delta also pays for is left out, so that the law is a little better than told.
func TestShuffledEpsilonOfThreeNBIsThatOfTheEnumeratedCounts(t *testing.T) {
	p := example.Density("3nb")
	example.Identity(&p, 1)
	p.Budget.LabelEpsilon = plan.Unprotected
	p.Budget.Delta, p.Crowd.Minimum = 1e-2, 60
	p = example.Design(t, p)
	// Less flood than Design asks for, so that a table can hold the law.
	nb, _, err := bitnoise.CalibrateThreeNB(calibrate.Target{Users: p.MinHonest(), Rounds: 1, Epsilon: p.Budget.Epsilon, Delta: 0.99 * p.Budget.Delta}, calibrate.Exact, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	b := &p.Question.Density.Bitsum
	b.Noise, b.FloodShape, b.FloodProbability = nb.Noise, nb.FloodShape, nb.FloodProb
	const width = 160
	noise, flood := make([]float64, width), make([]float64, width)
	for k := range width {
		noise[k] = math.Exp(prob.LogNegativeBinomialPMF(k, 1, math.Exp(-b.Noise)))
		flood[k] = math.Exp(prob.LogNegativeBinomialPMF(k, b.FloodShape, b.FloodProbability))
	}
	both := make([]float64, width*width) // the law without any ones
	for f, q := range flood {
		for i := 0; f+i < width; i++ {
			for j := 0; f+j < width; j++ {
				both[(f+i)*width+f+j] += q * noise[i] * noise[j]
			}
		}
	}
	mass := 0.0
	for _, q := range both {
		mass += q
	}
	if 1-mass > 1e-6 {
		t.Fatalf("the table holds only %v of the law", mass)
	}
	_, _, g := statements(t, p)
	zero, one := both, make([]float64, len(both))
	copy(one[width:], both) // the others' ones only shift both laws alike
	worst := max(example.Hockey(g.Epsilon, zero, one), example.Hockey(g.Epsilon, one, zero))
	less := max(example.Hockey(g.Epsilon*0.99, zero, one), example.Hockey(g.Epsilon*0.99, one, zero))
	if worst > g.Delta || less <= 0.99*g.Delta {
		t.Errorf("stated (%v, %v): the enumerated delta is %v, and %v at 1 %% less", g.Epsilon, g.Delta, worst, less)
	}
}

func TestUnprotectedLabelsAreNotCountedAndSaid(t *testing.T) {
	p := example.Density("rr")
	_, _, protected := statements(t, example.Design(t, p))
	p.Budget.LabelEpsilon = plan.Unprotected
	_, _, features := statements(t, example.Design(t, p))
	if got := protected.Epsilon - features.Epsilon; math.Abs(got-3) > 1e-9 {
		t.Errorf("the class adds epsilon %v, want 3", got)
	}
	promise, err := example.Runnable(t, example.Design(t, p)).Promise()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range promise.Statements {
		if !strings.HasPrefix(s.Note, "Labels are not protected") {
			t.Errorf("%s: note %q", s.Observer, s.Note)
		}
	}
}

// Whatever the plan, and whichever crowds were withheld, what comes out can be
// published.
func TestEveryStatementCanBePublished(t *testing.T) {
	for name, change := range map[string]func(p *plan.Plan){
		"rr":                 func(p *plan.Plan) {},
		"3nb":                func(p *plan.Plan) { p.Question.Density.Bitsum.Name = "3nb" },
		"one class":          func(p *plan.Plan) { p.Crowd.Names = []string{"all"} },
		"one repetition":     func(p *plan.Plan) { p.Question.Density.Repetitions = 1 },
		"unprotected labels": func(p *plan.Plan) { p.Budget.LabelEpsilon = plan.Unprotected },
		"identity":           func(p *plan.Plan) { example.Identity(p, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			p := example.Density("rr")
			change(&p)
			proto := example.Runnable(t, example.Design(t, p))
			for withheld := range len(p.Crowd.Names) {
				tallies := make([]tally.Crowd, len(p.Crowd.Names))
				for c := withheld; c < len(tallies); c++ {
					counts := proto.NewTally().(*tally.Counts)
					tallies[c] = tally.Crowd{Tally: counts, Respondents: 700}
					for channel := range counts.Channels {
						copy(counts.Channel(channel), []uint64{uint64(300 + channel), uint64(400 - 90*c - channel)})
					}
				}
				publish(t, proto, tallies, withheld)
			}
		})
	}
}

// publish writes a release of the tallies with a public test set and words.
func publish(t *testing.T, proto *protocol.Protocol, tallies []tally.Crowd, withheld int) {
	t.Helper()
	model, err := proto.Learn(tallies)
	if err != nil {
		t.Fatal(err)
	}
	x := blas32.General{Rows: 2, Cols: 3, Stride: 3, Data: []float32{1, 0, 0, 0, 0.6, 0.8}}
	headline, sections, err := results.Describe(model, results.Public{
		Words: []string{"up", "down"}, WordVectors: x,
		Test: results.Records{X: x, Y: []int{0, len(tallies) - 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := example.Stated(t, proto, tallies, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Withheld) != withheld {
		t.Errorf("%d crowds said to be withheld, want %d", len(r.Withheld), withheld)
	}
	r.Headline, r.Sections, r.Created = headline, sections, time.Unix(1, 0)
	var html, text bytes.Buffer
	if err := errors.Join(results.Words(proto.Plan, proto.Question, &r), page.WriteHTML(&html, r), r.WriteJSON(&text)); err != nil {
		t.Fatal(err)
	}
	if _, err := release.Read(&text); err != nil {
		t.Error(err)
	}
}
