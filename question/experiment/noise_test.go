package experiment_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/simulate"
)

// Of bits that devices really send, one number of each run is within its stated deviation as often as a normal one: arms are
// 90 : 10, and some answers do not fit. So many runs see a deviation that is off by 4 %; the twin, without the square of the
// mean twice, is seen.
func TestBitsErrAsStated(t *testing.T) {
	const n, runs, within = 400, 16_000, 1.4
	proto := example.Runnable(t, many(t, n, false))
	e := *proto.Plan.Question.Experiment
	var values distribution.Values
	r, exact := seeded.New(9), make([]float64, lift.Numbers(e))
	for i := range n {
		record := experiment.Record{Numbers: []float64{100*r.Float64() - 10, 20 * r.Float64()}}
		if i%10 == 0 {
			record.Arm = 1
		}
		if i%20 == 1 {
			record.Arm = 2 // none
		}
		values = append(values, record)
		out := make([]float32, lift.Numbers(e))
		if record.Arm < 2 {
			lift.Write(e, record.Arm, record.Numbers, out)
		}
		for i, x := range out {
			exact[i] += float64(x)
		}
	}
	q := proto.Question.(*experiment.Question)
	inside, twice := 0, 0
	for seed := range uint64(runs) {
		col, err := simulate.Law(proto, values, seed, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		m, err := proto.Learn(col.Crowds)
		if err != nil {
			t.Fatal(err)
		}
		s := m.(*experiment.Model).Sums
		counts, err := q.Rows().CountsOf(col.Crowds[0].Tally.(*tally.Counts))
		if err != nil {
			t.Fatal(err)
		}
		estimated, err := q.Rows().Estimate(counts, n)
		if err != nil {
			t.Fatal(err)
		}
		i := int(seed) % len(exact)
		off := math.Abs(s.Of[i] - exact[i])
		count := func(to *int, variance float64) {
			if off <= within*math.Sqrt(variance) {
				*to++
			}
		}
		count(&inside, s.Variance)
		count(&twice, estimated.Error*estimated.Error-n/float64(e.Bits.Rows))
	}
	law := math.Erf(within / math.Sqrt2)
	t.Logf("%.4f inside of %.4f, the twin %.4f", float64(inside)/runs, law, float64(twice)/runs)
	stattest.Binomial(t, law, runs, inside)
	twin := &caught{TB: t}
	if stattest.Binomial(twin, law, runs, twice); !twin.failed {
		t.Error("the square of the mean is subtracted twice, and nothing is seen")
	}
}

// caught notes a failure, and goes on.
type caught struct {
	testing.TB
	failed bool
}

func (c *caught) Helper()               {}
func (c *caught) Errorf(string, ...any) { c.failed = true }
