package protocol_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// Where devices flip their bits, a sum shows what a mix shows. Both aggregators need no
// analyzer, and the row of one says what it takes where not both of them check tokens.
func TestObserversOfASumOfFlippedBits(t *testing.T) {
	mixed := example.Design(t, example.Density("rr"))
	of := func(p plan.Plan, tokens ...string) []account.Statement {
		proto := example.Runnable(t, p)
		if len(tokens) > 0 {
			s := *p.Route.Sum
			s.Leader.Tokens, s.Helper.Tokens = tokens[0], tokens[1]
			proto.Plan.Route.Sum = &s
		}
		promise, err := proto.Promise()
		if err != nil {
			t.Fatal(err)
		}
		return promise.Statements
	}
	summed := example.Design(t, example.Summed(mixed, plan.NoiseDevices))
	mix, sum := of(mixed), of(summed)
	if len(sum) != 2 || sum[0].Observer != account.BothAggregators || sum[1].Observer != account.OneAggregator {
		t.Fatalf("%+v", sum)
	}
	same := mix[len(mix)-1].Guarantee // but for whom it trusts
	same.Trust = account.AggregatorHonest
	if sum[0].Guarantee != mix[0].Guarantee || sum[1].Guarantee != same {
		t.Errorf("summed %+v, mixed %+v", sum, mix)
	}
	if !strings.Contains(sum[0].Who, "without the analyzer") {
		t.Errorf("both aggregators: %q", sum[0].Who)
	}
	for name, tokens := range map[string][]string{"neither": {"", ""}, "the leader": {"a", ""}, "the helper": {"", "a"}, "both": {"a", "b"}} {
		if invents := strings.Contains(of(summed, tokens...)[1].Who, "neither invents respondents"); invents == (name == "both") {
			t.Errorf("%s checks tokens, and the row of one aggregator says the contrary", name)
		}
	}
}

// Of devices' shares of noise, all that are cut off is charged, in simulations too: it may be half of
// delta, where a mix's overflow is a hundredth.
func TestCutSharesAreChargedInSimulations(t *testing.T) {
	p := example.Summed(example.Histogram(plan.Histogram{Attributes: []plan.Attribute{example.Drinks()}, Randomizer: plan.Randomizer{Name: plan.RandomizerNone}}), plan.NoiseDevices)
	p.Budget.DishonestShare, p.Budget.Adjacency = 0.1, "replacement"
	proto := example.Runnable(t, example.Design(t, p))
	promise, err := proto.Promise()
	if err != nil {
		t.Fatal(err)
	}
	if g, err := proto.Shuffled(1); err != nil || g != promise.Shuffled {
		t.Errorf("simulated under %v, %v, promised %v", g, err, promise.Shuffled)
	}
}

// The analyzer opens no sum of fewer respondents than the plan's minimum, whatever both aggregators say.
func TestASumOfTooFewIsRefused(t *testing.T) {
	p := example.Design(t, example.Summed(example.Density("rr"), plan.NoiseDevices))
	proto, sums := example.Runnable(t, p), make([]int64, p.Route.Sum.Circuit.Length)
	if _, err := proto.Sums(sums, p.Crowd.Minimum); err != nil {
		t.Errorf("of the minimum: %v", err)
	}
	if _, err := proto.Sums(sums, p.Crowd.Minimum-1); err == nil || !strings.Contains(err.Error(), "the plan's minimum") {
		t.Errorf("of one fewer: %v", err)
	}
}
