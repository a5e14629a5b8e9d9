package histogram_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// view is the law of what is seen of a device whose report has a law: some part outright,
// by its own key, and counts that add to everybody's.
type view func(report vectorLaw) map[[2]string]float64

// beside is the law of what is seen of the target and of others. What is outright of the
// others is seen as well.
func (v view) beside(others []vectorLaw, target vectorLaw) vectorLaw {
	sum := v(target)
	for _, o := range others {
		next := map[[2]string]float64{}
		for a, p := range sum {
			for b, q := range v(o) {
				counts := []byte(a[1])
				for i := range counts {
					counts[i] += b[1][i]
				}
				next[[2]string{a[0] + "," + b[0], string(counts)}] += p * q
			}
		}
		sum = next
	}
	law := vectorLaw{}
	for key, p := range sum {
		law[key[0]+";"+key[1]] += p
	}
	return law
}

// firstPart is seen outright of a report in several parts, and the others shuffled.
func (w world) firstPart(report vectorLaw) map[[2]string]float64 {
	cells := len(w.inputs[0])
	law := map[[2]string]float64{}
	for key, p := range report {
		law[[2]string{key[:cells], key[cells:]}] += p
	}
	return law
}

// oneMessage is one envelope of the target, drawn at random, beside all its counts. That
// of the others is not looked at: the target's report comes first.
func (w world) oneMessage(report vectorLaw) map[[2]string]float64 {
	law := map[[2]string]float64{}
	n := float64(w.plan.Envelopes.PerDevice)
	for counts, p := range report {
		sent := 0.0
		for channel, c := range []byte(counts) {
			if c > 0 {
				law[[2]string{string(rune('a' + channel)), counts}] += p * float64(c) / n
				sent += float64(c)
			}
		}
		law[[2]string{"dummy", counts}] += p * (n - sent) / n
	}
	return law
}

func counted(report vectorLaw) map[[2]string]float64 {
	law := map[[2]string]float64{}
	for counts, p := range report {
		law[[2]string{"", counts}] += p
	}
	return law
}

// Whoever opens a part of what a device sends sees the rest among everybody's: over all
// data sets of the smallest crowd and all neighbours that is within what is stated.
func TestOpenedFragmentsOnEveryDataSet(t *testing.T) {
	statements := map[account.Trust]int{}
	for name, p := range example.Small() {
		t.Run(name, func(t *testing.T) {
			promise, err := example.Runnable(t, p).Promise()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range promise.Statements {
				g := s.Guarantee
				w := enumerated(p)
				var own, others view
				switch tau := p.Question.Histogram.Randomizer.Fragments; {
				case g.Trust == account.OneFragment && tau <= 1:
					own, others = w.oneMessage, counted
				case g.Trust == account.OneFragment: // each fragment a part of its own
					apart := p
					example.Spread(&apart, tau)
					w = enumerated(apart)
					own, others = w.firstPart, w.firstPart
				case g.Trust == shuffle.SomeFragments:
					own, others = w.firstPart, w.firstPart
				default:
					continue
				}
				statements[g.Trust]++
				worst := 0.0
				var add func(rest []vectorLaw, from, left int)
				add = func(rest []vectorLaw, from, left int) {
					if left > 0 {
						for i := from; i < len(w.law); i++ {
							if left > 2 && i > from {
								return // of many others, those who hold the same
							}
							add(append(rest, w.law[i]), i, left-1)
						}
						return
					}
					// All that the others show, added up once.
					crowd := view(others).beside(rest[1:], rest[0])
					w.neighbours(func(a, b vectorLaw) {
						worst = max(worst, besides(own(a), crowd).hockey(besides(own(b), crowd), g.Epsilon))
					})
				}
				for i := range w.law {
					add([]vectorLaw{w.law[i]}, i, p.Crowd.Minimum-2)
				}
				if worst > g.Delta+1e-12 {
					t.Errorf("%s: delta %v at epsilon %v, stated %v", s.Observer, worst, g.Epsilon, g.Delta)
				}
				if !strings.Contains(s.Who, "this release") {
					t.Errorf("%s sees more than is said: %q", s.Observer, s.Who)
				}
			}
		})
	}
	if statements[account.OneFragment] < 10 || statements[shuffle.SomeFragments] < 1 {
		t.Errorf("statements %v", statements)
	}
}

// besides joins what is seen of the target with what the others show.
func besides(target map[[2]string]float64, others vectorLaw) vectorLaw {
	law := vectorLaw{}
	for a, p := range target {
		for b, q := range others {
			outright, counts, _ := strings.Cut(b, ";")
			sum := []byte(counts)
			for i := range sum {
				sum[i] += a[1][i]
			}
			law[a[0]+","+outright+";"+string(sum)] += p * q
		}
	}
	return law
}

// drinksIn is a plan of one-hot fragments over several instances, with the noise that
// meets its budget by the rows of fragments alone.
func drinksIn(t *testing.T, n, tau, instances int, epsilon float64) plan.Plan {
	t.Helper()
	h := example.OneHot(example.Drinks())
	h.Randomizer.Fragments = tau
	p := example.Histogram(h)
	p.Budget.Epsilon, p.Budget.DishonestShare, p.Crowd.Minimum = epsilon, 0, n
	example.Spread(&p, instances)
	p = example.Design(t, p)
	e, _, err := shuffle.CalibrateOneHot(calibrate.Target{Users: n, Rounds: tau, Epsilon: epsilon, Delta: 0.99e-6}, account.Removal)
	if err != nil {
		t.Fatal(err)
	}
	z := &p.Question.Histogram.Randomizer
	backstop := 1 / (1 + (1-e.Flip)/e.Flip*float64(tau))
	z.Keep, z.Flip, z.BackstopKeep, z.BackstopFlip = 1-e.Flip, e.Flip, 1-backstop, backstop
	z.Epsilon, z.Backstop = 100, 100
	return p
}

// Who controls one instance and the analyzer holds some fragments of a device, and counts
// the others among everybody's: the exact law of one bit, the others holding nothing.
// The loss of the fragments alone, which is what ESA's Theorem IV.1 gives, is not the loss
// of that: the broken twin.
func TestOneInstanceSeesTheOthersAmongEverybodys(t *testing.T) {
	for _, c := range []struct {
		n, tau, instances int
		epsilon           float64
		most              float64 // stated
		alone             float64 // epsilon of the fragments alone
	}{
		{1000, 4, 2, 1, 3.85825, 3.7486}, {1000, 8, 2, 1, 4.1846, 3.95}, {1000, 4, 2, 0.5, 2.63, 2.5061},
		{1000, 16, 4, 1, 4.351, 4.2977}, {300, 4, 2, 2, 3.8215, 3.6344},
	} {
		p := drinksIn(t, c.n, c.tau, c.instances, c.epsilon)
		promise, err := example.Runnable(t, p).Promise()
		if err != nil {
			t.Fatal(err)
		}
		var g account.Guarantee
		for _, s := range promise.Statements {
			if s.Observer == "one instance colludes" {
				g = s.Guarantee
			}
		}
		z := p.Question.Histogram.Randomizer
		seen, rest := c.tau/c.instances, c.tau-c.tau/c.instances
		kept, lost := example.Binomials(rest, z.Keep), example.Binomials(rest, z.Flip)
		one := make([]float64, rest+1) // another respondent, who does not hold the cell
		for i := range one {
			one[i] = z.BackstopFlip*kept[i] + (1-z.BackstopFlip)*lost[i]
		}
		others := []float64{1}
		for range c.n - 1 {
			others = example.Convolved(others, one)
		}
		joint := func(backstop float64) []float64 {
			opened1, opened0 := example.Binomials(seen, z.Keep), example.Binomials(seen, z.Flip)
			counts1, counts0 := example.Convolved(others, kept), example.Convolved(others, lost)
			var law []float64
			for s := range seen + 1 {
				for x := range counts1 {
					law = append(law, backstop*opened1[s]*counts1[x]+(1-backstop)*opened0[s]*counts0[x])
				}
			}
			return law
		}
		holds, not := joint(z.BackstopKeep), joint(z.BackstopFlip)
		delta := func(epsilon float64) float64 {
			return max(example.Hockey(epsilon, holds, not), example.Hockey(epsilon, not, holds))
		}
		if g.Trust != shuffle.SomeFragments || g.Bound != account.Upper || g.Delta != p.Budget.Delta || g.Users != c.n {
			t.Errorf("%+v: %v", c, g)
		}
		if d := delta(g.Epsilon); d > g.Delta || g.Epsilon > c.most {
			t.Errorf("%+v: stated %v, where the exact delta is %v", c, g.Epsilon, d)
		}
		if d := delta(0.98 * g.Epsilon); d <= g.Delta {
			t.Errorf("%+v: stated %v, and 2 %% less still holds: delta %v", c, g.Epsilon, d)
		}
		if d := delta(c.alone); d < 1e-3 {
			t.Errorf("%+v: the fragments alone, at epsilon %v, have a delta of %v: the test has no power", c, c.alone, d)
		}
	}
}

// Among a million, overflow at the statement's own epsilon would take all of delta; only
// what the other fragments tell is at stake, and the statement stands.
func TestOneFragmentOfAMillionRespondents(t *testing.T) {
	p := drinksIn(t, 1_000_000, 4, 2, 1)
	promise, err := example.Runnable(t, p).Promise()
	if err != nil {
		t.Fatal(err)
	}
	local, one := promise.Statements[0].Guarantee, promise.Statements[2].Guarantee
	if one.Trust != account.OneFragment || one.Delta != p.Budget.Delta || one.Epsilon > local.Epsilon-0.9 || one.Epsilon < 9 {
		t.Errorf("everyone %v, one fragment %v", local, one)
	}
}
