package histogram_test

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// vectorLaw is a law of vectors of counts, by a key with one byte a count.
type vectorLaw map[string]float64

func (l vectorLaw) plus(m vectorLaw) vectorLaw {
	sum := vectorLaw{}
	for a, p := range l {
		for b, q := range m {
			c := []byte(a)
			for i := range c {
				c[i] += b[i]
			}
			sum[string(c)] += p * q
		}
	}
	return sum
}

// hockey is max(0, P - e^epsilon Q), summed.
func (l vectorLaw) hockey(m vectorLaw, epsilon float64) float64 {
	sum := 0.0
	for key, p := range l {
		sum += max(0, p-math.Exp(epsilon)*m[key])
	}
	return sum
}

// loss is the largest ln P/Q.
func (l vectorLaw) loss(m vectorLaw) float64 {
	worst := math.Inf(-1)
	for key, p := range l {
		worst = max(worst, math.Log(p/m[key]))
	}
	return worst
}

// world is what one device says of each of its possible inputs, written from the
// definitions: the counts in all channels of all instances, one after the other.
type world struct {
	plan   plan.Plan
	inputs [][]bool // cells held, of all attributes
	law    []vectorLaw
	absent vectorLaw // the reference law of removal
}

// enumerated computes the laws of a small plan of one-hot bits.
func enumerated(p plan.Plan) world {
	h := p.Question.Histogram
	var first []int // of each attribute
	cells := 0
	for _, a := range h.Attributes {
		first = append(first, cells)
		cells += a.Domain()
	}
	w := world{plan: p, inputs: [][]bool{make([]bool, cells)}}
	for i, a := range h.Attributes {
		var more [][]bool
		for _, held := range w.inputs {
			for set := range 1 << a.Domain() {
				in, n := append([]bool(nil), held...), 0
				for c := range a.Domain() {
					if set>>c&1 == 1 {
						in[first[i]+c] = true
						n++
					}
				}
				if n == 1 || a.Kind == "set" && n <= a.Most {
					more = append(more, in)
				}
			}
		}
		w.inputs = more
	}
	for _, in := range w.inputs {
		w.law = append(w.law, w.device(in, first))
	}
	w.absent = w.device(make([]bool, cells), first)
	return w
}

func (w world) device(held []bool, first []int) vectorLaw {
	h := w.plan.Question.Histogram
	parts := w.plan.Contributions()
	nothing := vectorLaw{string(make([]byte, parts*len(held))): 1}
	if h.Collect != "sample" {
		return w.bits(nothing, held, 0, len(held))
	}
	law := vectorLaw{}
	for i, a := range h.Attributes {
		for key, p := range w.bits(nothing, held, first[i], first[i]+a.Domain()) {
			law[key] += p / float64(len(h.Attributes))
		}
	}
	return law
}

// bits adds what is said of some of the cells.
func (w world) bits(law vectorLaw, held []bool, from, to int) vectorLaw {
	z := w.plan.Question.Histogram.Randomizer
	parts := w.plan.Contributions()
	pick := func(set bool, keep, flip float64) float64 {
		if set {
			return keep
		}
		return flip
	}
	for c := from; c < to; c++ {
		one := vectorLaw{}
		rows := max(1, z.Fragments/parts)
		for backstop, chance := range map[bool]float64{true: pick(held[c], z.BackstopKeep, z.BackstopFlip), false: 1 - pick(held[c], z.BackstopKeep, z.BackstopFlip)} {
			if z.Fragments <= 1 {
				if chance = 0; backstop == held[c] {
					chance = 1
				}
			}
			sent := pick(backstop, z.Keep, z.Flip)
			cell := vectorLaw{string(make([]byte, parts*len(held))): chance}
			for part := range parts {
				for range rows {
					key := make([]byte, parts*len(held))
					key[part*len(held)+c] = 1
					cell = cell.plus(vectorLaw{string(key): sent, string(make([]byte, len(key))): 1 - sent})
				}
			}
			for key, p := range cell {
				one[key] += p
			}
		}
		law = law.plus(one)
	}
	return law
}

// neighbours are the pairs of laws of one device that a guarantee speaks of.
func (w world) neighbours(visit func(a, b vectorLaw)) {
	for _, a := range w.law {
		if w.plan.Budget.Adjacency == "removal" {
			visit(a, w.absent)
			visit(w.absent, a)
			continue
		}
		for _, b := range w.law {
			visit(a, b)
		}
	}
}

// Over all data sets of the smallest crowd and all neighbours, what shuffled counts
// of all instances tell is within the promised epsilon and delta. This is the
// strongest check there is of the shuffled guarantee, and it draws nothing. Where one
// count moves the promise is tight: with epsilon 5 % lower it would be broken.
func TestHistogramPromiseHoldsOnEveryDataSet(t *testing.T) {
	for name, p := range example.Small() {
		t.Run(name, func(t *testing.T) {
			promise, err := example.Runnable(t, p).Promise()
			if err != nil {
				t.Fatal(err)
			}
			w := enumerated(p)
			worst, lower := 0.0, 0.0
			var add func(others vectorLaw, from, left int)
			add = func(others vectorLaw, from, left int) {
				if left == 0 {
					w.neighbours(func(a, b vectorLaw) {
						p, q := others.plus(a), others.plus(b)
						worst = max(worst, p.hockey(q, promise.Shuffled.Epsilon))
						lower = max(lower, p.hockey(q, promise.Shuffled.Epsilon*0.95))
					})
					return
				}
				for i := from; i < len(w.law); i++ {
					add(others.plus(w.law[i]), i, left-1)
				}
			}
			add(vectorLaw{string(make([]byte, len(key(w.absent)))): 1}, 0, p.Crowd.Minimum-1)
			if worst > p.Budget.Delta {
				t.Errorf("delta %v at the promised epsilon %v, promised %v", worst, promise.Shuffled.Epsilon, p.Budget.Delta)
			}
			if (name == "removal" || name == "symmetric") && lower <= p.Budget.Delta {
				t.Errorf("delta %v at an epsilon 5 %% lower: the check has no power", lower)
			}
		})
	}
}

func key(l vectorLaw) string {
	for k := range l {
		return k
	}
	return ""
}

// Over all outcomes and all neighbours, the largest loss of what everyone together
// learns of a device is the stated one, and not more than a stated upper bound.
func TestHistogramLocalEpsilonsAreThoseOfTheEnumeratedReport(t *testing.T) {
	for name, p := range example.Small() {
		t.Run(name, func(t *testing.T) {
			promise, err := example.Runnable(t, p).Promise()
			if err != nil {
				t.Fatal(err)
			}
			w := enumerated(p)
			local := 0.0
			w.neighbours(func(a, b vectorLaw) { local = max(local, a.loss(b)) })
			for _, s := range promise.Statements {
				if g := s.Guarantee; g.Trust == account.Local {
					if local > g.Epsilon || g.Bound == account.Exact && local < g.Epsilon*(1-1e-9) {
						t.Errorf("everyone: enumerated %v, stated %v", local, g)
					}
				} else if math.IsInf(g.Epsilon, 1) {
					t.Errorf("%s: %v", s.Observer, g)
				}
			}
		})
	}
}

// Local epsilons that a plan claims below those of its probabilities are refused,
// and so is a deletion that claims too much.
func TestHistogramClaimsAreChecked(t *testing.T) {
	for name, hurt := range map[string]func(p *plan.Plan, z *plan.Randomizer){
		"epsilon claims":      func(_ *plan.Plan, z *plan.Randomizer) { z.Epsilon *= 0.999 },
		"backstop claims":     func(_ *plan.Plan, z *plan.Randomizer) { z.Backstop *= 0.999 },
		"crowd.deletion":      func(p *plan.Plan, _ *plan.Randomizer) { p.Crowd.Deletion.Epsilon *= 0.999 },
		"envelopes.per_devic": func(p *plan.Plan, _ *plan.Randomizer) { p.Envelopes.PerDevice -= 3 },
	} {
		t.Run(name, func(t *testing.T) {
			h := example.OneHot(example.Drinks())
			h.Randomizer.Fragments = 4
			p := example.Histogram(h)
			p.Crowd.Names = []string{"north", "south"}
			c, err := additive.NewCrowd(1, 1e-6)
			if err != nil {
				t.Fatal(err)
			}
			p.Crowd.Deletion = &plan.Deletion{Epsilon: 1, Delta: 1e-6, Noise: c.Noise, Threshold: c.Threshold}
			p = example.Design(t, p)
			if err := protocol.Check(p); err != nil {
				t.Fatal(err)
			}
			hurt(&p, &p.Question.Histogram.Randomizer)
			example.Mentions(t, protocol.Check(p), "promise does not hold", strings.TrimSuffix(name, " claims"))
		})
	}
}

// A device that takes part in two collections with one kept backstop is within what
// Rounds says, on every data set, whoever else is in each. Composing what the
// backstops tell in each, as if drawn twice, is not what Rounds does.
func TestKeptBackstopsAreAccountedForTogether(t *testing.T) {
	for _, name := range []string{"fragments", "noisy fragments"} {
		p := example.Small()[name]
		p.Crowd.Minimum = 2
		proto := example.Runnable(t, p)
		spent, err := proto.Rounds(2, p.Budget.Delta)
		if err != nil {
			t.Fatal(err)
		}
		z := p.Question.Histogram.Randomizer
		rows, err := account.Epsilon(account.Repeat{Event: shuffle.OneHot{Users: 2, Keep: z.Keep, Flip: z.Flip, Adjacency: account.Removal}, Rounds: 2 * z.Fragments}, p.Budget.Delta)
		if err != nil || math.Abs(spent.Epsilon/rows.Epsilon-1) > 1e-9 {
			t.Errorf("%s: spent %v, rows composed %v, %v", name, spent, rows, err)
		}
		both := p // a backstop and twice its fragments, in two collections
		h := *p.Question.Histogram
		h.Randomizer.Fragments *= 2
		both.Question.Histogram = &h
		example.Spread(&both, 2)
		target, other := enumerated(both), enumerated(p)
		worst := 0.0
		for _, first := range other.law {
			for _, second := range other.law {
				others := vectorLaw{}
				for a, pa := range first {
					for b, pb := range second {
						others[a+b] += pa * pb
					}
				}
				target.neighbours(func(a, b vectorLaw) {
					worst = max(worst, others.plus(a).hockey(others.plus(b), spent.Epsilon))
				})
			}
		}
		if worst > p.Budget.Delta {
			t.Errorf("%s: delta %v at epsilon %v", name, worst, spent.Epsilon)
		}
	}
}
