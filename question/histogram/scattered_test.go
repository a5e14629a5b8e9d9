package histogram_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// scattered is a designed plan of two cells whose devices add the noise, and their reach.
func scattered(t *testing.T, minimum int) (proto *protocol.Protocol, reach int) {
	t.Helper()
	p := noised(plan.NoiseDevices, plan.Attribute{Name: "a", Kind: "categories", Size: 2})
	p.Question.Histogram.Randomizer.Name = plan.RandomizerNone
	p.Budget.Epsilon, p.Budget.Delta, p.Budget.DishonestShare, p.Crowd.Minimum = 2, 1e-3, 0, minimum
	p = example.Design(t, p)
	return example.Runnable(t, p), (p.Route.Sum.Circuit.Max - 1) / 2
}

// ofOneDevice is the law, by definition, of what one of so many adds to a number: cut at
// reach, on -top..top.
func ofOneDevice(decay float64, users, reach, top int) []float64 {
	nb := noise.NegativeBinomial{R: 1 / float64(users), P: math.Exp(-decay)}
	half := make([]float64, int(40/decay)+1)
	for k := range half {
		half[k] = math.Exp(nb.LogProb(k))
	}
	law := make([]float64, 2*top+1)
	for i, p := range half {
		for j, q := range half {
			law[max(-reach, min(reach, i-j))+top] += p * q
		}
	}
	return law
}

// among is the law of the sum of so many draws, on the same numbers.
func among(one []float64, draws int) []float64 {
	top := len(one) / 2
	times := func(a, b []float64) []float64 {
		out := make([]float64, len(a))
		for i, p := range a {
			for j, q := range b {
				if k := i + j - top; k >= 0 && k < len(out) {
					out[k] += p * q
				}
			}
		}
		return out
	}
	law := make([]float64, len(one))
	law[top] = 1
	for power := one; draws > 0; draws /= 2 {
		if draws%2 == 1 {
			law = times(law, power)
		}
		power = times(power, power)
	}
	return law
}

// One aggregator and the reader, who know everything of everybody but the noise of those who
// are relied upon, see sums of the law that the accountant was told, cut shares among it:
// at the stated epsilon no pair of answers tells more than delta, a little below one does, and
// where some are silent, what is stated of the rest. Twins that are broken in one place are
// caught.
func TestDevicesSharesHideAsStated(t *testing.T) {
	const users, top = 40, 45
	proto, reach := scattered(t, users)
	promise, err := proto.Promise()
	if err != nil {
		t.Fatal(err)
	}
	vectors := [][]uint64{{1, 0}, {0, 1}, {0, 0}} // the cells of one respondent
	decay := proto.Plan.Route.Sum.Decay
	one := ofOneDevice(decay, users, reach, top)
	law, g := among(one, users), promise.Shuffled
	if g.Users != users || g.Adjacency != account.Replacement || len(promise.Statements) != 2 {
		t.Errorf("%+v among %d statements is not of a replaced record among %d", g, len(promise.Statements), users)
	}
	if both := promise.Statements[0]; both.Observer != account.BothAggregators || !math.IsInf(both.Guarantee.Epsilon, 1) {
		t.Errorf("both aggregators are promised %v", both.Guarantee.Epsilon)
	}
	for left, law := range map[int][]float64{users: law, users * 3 / 4: among(one, users*3/4), users * 5 / 4: among(one, users*5/4)} {
		g, err := proto.GuaranteeWith(left)
		if err != nil {
			t.Fatal(err)
		}
		if d := tells(vectors, law, g.Epsilon); d > g.Delta {
			t.Errorf("%d respondents: delta is %v at epsilon %v, stated %v", left, d, g.Epsilon, g.Delta)
		}
		if d := tells(vectors, law, 0.96*g.Epsilon); d <= g.Delta {
			t.Errorf("%d respondents: epsilon %v is larger than what is seen", left, g.Epsilon)
		}
	}
	if many, err := proto.GuaranteeWith(5000 * users); err != nil || many.Epsilon > g.Epsilon {
		t.Errorf("%v among many, promised %v: %v", many, g, err)
	}
	for twin, law := range map[string][]float64{
		"fewer respondents":         among(one, users*9/10),
		"less noise":                among(ofOneDevice(1.1*decay, users, reach, top), users),
		"shares that are cut small": among(ofOneDevice(decay, users, 2, top), users),
	} {
		if d := tells(vectors, law, g.Epsilon); d <= g.Delta*1.01 {
			t.Errorf("%s are not caught: delta %v", twin, d)
		}
	}
}

// What a device splits is its cells, raised, with noise of the law of one share. The twin
// shares it among one more.
func TestADeviceAddsItsShare(t *testing.T) {
	const users = 3
	proto, reach := scattered(t, users)
	decay := proto.Plan.Route.Sum.Decay
	symbol, err := proto.Encode(histogram.Answers{Values: []any{1}})
	if err != nil {
		t.Fatal(err)
	}
	r, counts := stattest.Rand(t), [2][]int{make([]int, 2*reach+1), make([]int, 2*reach+1)}
	for range 20_000 {
		_, vector, err := proto.Measure(r, symbol, nil)
		if err != nil {
			t.Fatal(err)
		}
		counts[0][vector[0]]++
		counts[1][vector[1]-1]++
	}
	for i, c := range counts {
		stattest.GTest(t, ofOneDevice(decay, users, reach, reach), c)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, ofOneDevice(decay, users+1, reach, reach), counts[i]) })
	}
	sums := []int64{int64(100 * reach), int64(100*reach) - 3}
	crowd, err := proto.Sums(sums, 100)
	if err != nil {
		t.Fatal(err)
	}
	values := proto.Estimate([]tally.Crowd{crowd})[0]
	if values[0].Mean != 0 || values[1].Mean != -3 {
		t.Errorf("%v are not what was raised", values)
	}
}
