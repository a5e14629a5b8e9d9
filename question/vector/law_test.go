package vector_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/vector"
)

// tinyPlan has two rows, of which a device answers each with one half, and room for both.
func tinyPlan() plan.Plan {
	p := asking(2, nil, plan.VectorRound{Sums: plan.SumsFeatures, Answered: 1, Rows: 2, Clip: 1.2, Flip: 0.2, Rare: 1e-9})
	p.Crowd.Minimum, p.Budget.DishonestShare, p.Budget.Epsilon, p.Budget.Delta = devices, 0, 8, 0.1
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 2, 8
	return p
}

const devices = 3

func trio() distribution.Values {
	return distribution.Values{
		vector.Record{Features: []float32{0.6, -0.7}},
		vector.Record{Features: []float32{1, 0}},
		vector.Record{Features: []float32{0, 0}},
	}
}

// A view is how many zeros and ones two rows have, each below four.
func cell(n []uint64) int {
	at := 0
	for _, k := range n {
		at = at*(devices+1) + int(k)
	}
	return at
}

const cells = 256

// views is the law of what is seen of devices whose answers to the rows are ones with the
// given probabilities, by enumeration of their coins: each answers a row with probability q.
func views(ones [][]float64, q float64) []float64 {
	all := map[[4]uint64]float64{{}: 1}
	for _, p := range ones {
		for row := range 2 {
			next := map[[4]uint64]float64{}
			for n, chance := range all {
				next[n] += chance * (1 - q)
				zero, one := n, n
				zero[2*row]++
				one[2*row+1]++
				next[zero] += chance * q * (1 - p[row])
				next[one] += chance * q * p[row]
			}
			all = next
		}
	}
	law := make([]float64, cells)
	for n, chance := range all {
		law[cell(n[:])] += chance
	}
	return law
}

func onesOf(proto *protocol.Protocol, values distribution.Values) (all [][]float64) {
	q := proto.Question.(*vector.Question)
	for _, v := range values {
		symbol, _ := proto.Encode(v)
		p := make([]float64, 2)
		q.Rows().Ones(symbol.([]float32), p)
		all = append(all, p)
	}
	return all
}

// counted is what the analyzer counts of payloads as devices make them.
func counted(t *testing.T, proto *protocol.Protocol, payloads [][]byte) []uint64 {
	t.Helper()
	n := proto.NewTally()
	for _, p := range payloads {
		if err := fragment.Count(n, p); err != nil {
			t.Fatal(err)
		}
	}
	return n.(*tally.Counts).N
}

// Devices, in single messages and by law, have the law that is accounted for. Twins that are
// caught on their way: exactly one row answered, a flip forgotten, rows answered more often than
// the plan says.
func TestShippedRouteHasTheLaw(t *testing.T) {
	const runs = 6000
	r := stattest.Rand(t)
	proto := example.Runnable(t, tinyPlan())
	values := trio()
	want := views(onesOf(proto, values), 0.5)
	route := func(twin func(r *rand.Rand, bodies [][]byte) [][]byte) []int {
		counts := make([]int, cells)
		for range runs {
			var payloads [][]byte
			for _, v := range values {
				symbol, err := proto.Encode(v)
				if err != nil {
					t.Fatal(err)
				}
				report, err := proto.Randomize(r, symbol, nil)
				if err != nil {
					t.Fatal(err)
				}
				made := fragment.Pack(r, twin(r, report.Parts[0]), 2, 8)
				if len(made) != proto.Plan.Envelopes.PerDevice {
					t.Fatalf("%d envelopes", len(made))
				}
				payloads = append(payloads, made...)
			}
			counts[cell(counted(t, proto, payloads))]++
		}
		return counts
	}
	stattest.GTest(t, want, route(func(_ *rand.Rand, b [][]byte) [][]byte { return b }))
	drawn := make([]int, cells)
	for i := range runs {
		crowds, err := distribution.Draw(proto, values, func(part ...uint64) *rand.Rand { return seeded.New(uint64(i), part...) }, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		drawn[cell(crowds[0].Tally.(*tally.Counts).N)]++
	}
	stattest.GTest(t, want, drawn)
	for name, twin := range map[string]func(r *rand.Rand, b [][]byte) [][]byte{
		"one row": func(r *rand.Rand, b [][]byte) [][]byte {
			for len(b) == 0 {
				said := tally.NewMessages(1)
				said.Say(uint32(r.IntN(2)), uint8(r.IntN(2)))
				b = said.Bodies
			}
			return b[:1]
		},
		"no flip": func(r *rand.Rand, b [][]byte) [][]byte {
			for _, body := range b {
				if r.IntN(4) == 0 {
					body[4] = 1
				}
			}
			return b
		},
		"often": func(r *rand.Rand, b [][]byte) [][]byte {
			if len(b) == 0 && r.IntN(2) == 0 {
				said := tally.NewMessages(1)
				said.Say(uint32(r.IntN(2)), uint8(r.IntN(2)))
				return said.Bodies
			}
			return b
		},
	} {
		counts := route(twin)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, want, counts) })
		_ = name
	}
}

// Two rounds have rows of their own. The twin sends the rows of the first in the second.
func TestRoundsDrawRowsAfresh(t *testing.T) {
	const runs = 4000
	r := stattest.Rand(t)
	proto := example.Runnable(t, tinyPlan())
	symbol, err := proto.Encode(vector.Record{Features: []float32{0.6, -0.7}})
	if err != nil {
		t.Fatal(err)
	}
	answered := func() (mask int) { // which rows
		report, _ := proto.Randomize(r, symbol, nil)
		for _, body := range report.Parts[0] {
			row, _ := example.Said(t, body)
			mask |= 1 << row
		}
		return mask
	}
	law, both, twin := make([]float64, 16), make([]int, 16), make([]int, 16)
	for i := range law {
		law[i] = 1. / 16
	}
	for range runs {
		first := answered()
		both[4*first+answered()]++
		twin[4*first+first]++
	}
	stattest.GTest(t, law, both)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law, twin) })
}

// Whoever sees a device's envelopes counts the same number of them, whatever rows it answers, and
// tells none from another by its length. The twin sends its answers alone.
func TestTheNumberOfRowsIsNotSeen(t *testing.T) {
	r := stattest.Rand(t)
	proto := example.Runnable(t, tinyPlan())
	symbol, err := proto.Question.Encode(vector.Record{Features: []float32{0.6, -0.7}})
	if err != nil {
		t.Fatal(err)
	}
	seen, twin := map[string]bool{}, map[string]bool{}
	lengths := func(payloads [][]byte) (text string) {
		for _, p := range payloads {
			text += fmt.Sprint(len(p), " ")
		}
		return text
	}
	for range 100 {
		report, err := proto.Question.Randomize(r, symbol, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := proto.Plan.Envelopes
		seen[lengths(fragment.Pack(r, report.Parts[0], p.PerDevice, p.PayloadBytes))] = true
		twin[lengths(fragment.Pack(r, report.Parts[0], len(report.Parts[0]), p.PayloadBytes))] = true
	}
	if len(seen) != 1 {
		t.Errorf("devices are told apart by their envelopes: %v", seen)
	}
	if len(twin) < 3 {
		t.Errorf("a device that sends its answers alone is not noticed: %v", twin)
	}
}

// rowView is the law of how many zeros and ones are answered to a row by devices whose answers
// are ones with the given probabilities.
func rowView(ones []float64, q float64) []float64 {
	side := len(ones) + 1
	law := make([]float64, side*side)
	law[0] = 1
	for _, p := range ones {
		next := make([]float64, len(law))
		for at, chance := range law {
			if chance > 1e-15 {
				next[at] += chance * (1 - q)
				next[at+1] += chance * q * p
				next[at+side] += chance * q * (1 - p)
			}
		}
		law = next
	}
	return law
}

// exceeds is the hockey stick of two independent rows.
func exceeds(epsilon float64, p, q [2][]float64) (sum float64) {
	most := math.Exp(epsilon)
	for i, a := range p[0] {
		if b := q[0][i]; a > 1e-13 || b > 1e-13 {
			for j, c := range p[1] {
				sum += math.Max(0, a*c-most*b*q[1][j])
			}
		}
	}
	return sum
}

// What is seen of sixty devices tells no more of one than the plan's event says, whichever of two
// vectors it holds and whatever the others hold, by enumeration. The twin is an observer to whom
// the device's envelopes are linked.
func TestNoViewTellsMore(t *testing.T) {
	const crowd = 60
	p := tinyPlan()
	p.Crowd.Minimum = crowd
	proto := example.Runnable(t, p)
	event := proto.Question.Event(crowd, false)
	corners := onesOf(proto, distribution.Values{
		vector.Record{Features: []float32{1, 0}}, vector.Record{Features: []float32{-1, 0}}, vector.Record{Features: []float32{0, 1}}, vector.Record{Features: []float32{0, 0}},
	})
	seen := func(own []float64, others []float64, n int) (view [2][]float64) {
		for row := range view {
			ones := []float64{own[row]}
			for range n - 1 {
				ones = append(ones, others[row])
			}
			view[row] = rowView(ones, 0.5)
		}
		return view
	}
	for _, epsilon := range []float64{0.5, 1} {
		bound, err := account.Delta(event, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		worst, linked := 0.0, 0.0
		for _, pair := range [][2]int{{0, 1}, {1, 0}, {0, 2}, {3, 0}} {
			for _, others := range corners {
				worst = max(worst, exceeds(epsilon, seen(corners[pair[0]], others, crowd), seen(corners[pair[1]], others, crowd)))
			}
			linked = max(linked, exceeds(epsilon, seen(corners[pair[0]], nil, 1), seen(corners[pair[1]], nil, 1)))
		}
		if worst > bound.Delta+1e-9 {
			t.Errorf("epsilon %v: a view has delta %v, the event %v", epsilon, worst, bound.Delta)
		}
		if linked <= bound.Delta {
			t.Errorf("epsilon %v: linked envelopes have delta %v, within the event's %v", epsilon, linked, bound.Delta)
		}
	}
}
