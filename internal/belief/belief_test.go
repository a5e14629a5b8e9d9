package belief

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"pgregory.net/rapid"
)

// Bayes' rule over every mechanism of two answers and two things to see whose
// likelihoods differ by at most e^epsilon: no posterior leaves the interval, and
// randomized response reaches both ends.
func TestBelief(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prior := rapid.Float64Range(1e-6, 1-1e-6).Draw(t, "prior")
		epsilon := rapid.Float64Range(0, 30).Draw(t, "epsilon")
		p := rapid.Float64Range(1e-9, 1).Draw(t, "p")
		q := p * math.Exp(epsilon*rapid.Float64Range(-1, 1).Draw(t, "ratio"))
		low, high := after(prior, epsilon)
		posterior := prior / (prior + (1-prior)*q/p)
		if posterior < low*(1-1e-12) || posterior > high*(1+1e-12) {
			t.Fatalf("%v is outside [%v, %v]", posterior, low, high)
		}
		flip := 1 / (1 + math.Exp(epsilon))
		keep := 1 - flip
		if top := prior * keep / (prior*keep + (1-prior)*flip); epsilon < 20 && math.Abs(top-high) > 1e-6 {
			t.Fatalf("randomized response reaches %v, not %v", top, high)
		}
	})
	if low, high := after(0.3, -1); low != 0 || high != 1 {
		t.Errorf("without a limit: [%v, %v]", low, high)
	}
}

// Equal promises are one card, which names all who look; the strongest comes first, and its word follows from
// epsilon under replacement and from delta.
func TestEqualPromisesAreOneCard(t *testing.T) {
	of := func(observer string, epsilon, delta float64, adjacency account.Adjacency) account.Statement {
		return account.Statement{Observer: observer, Who: observer + " sees it.", Guarantee: account.Guarantee{Epsilon: epsilon, Delta: delta, Adjacency: adjacency, Trust: account.Local, Users: 1, Rounds: 1}}
	}
	cards := Cards([]account.Statement{
		of(account.EveryoneColludes, 3, 0, account.Replacement), of(account.OneFragmentSeen, 3, 0, account.Replacement), of(account.ShufflerHonest, 1, 1e-6, account.Replacement),
	})
	if len(cards) != 2 || cards[0].Title != "Whoever reads the result" || cards[0].Strength.Word != "Strong" || cards[0].Sure != "At most 74\u00a0% sure" || cards[0].From != "26.8\u00a0%" || cards[0].To != "73.2\u00a0%" ||
		cards[1].Title != "Everybody on the way together, and somebody who opens one of your messages" || len(cards[1].Who) != 2 || cards[1].Strength.Word != "Moderate" {
		t.Errorf("%+v", cards)
	}
	noted := of(account.OneFragmentSeen, 3, 0, account.Replacement)
	noted.Note = "Of the label alone."
	if cards := Cards([]account.Statement{of(account.EveryoneColludes, 3, 0, account.Replacement), noted}); len(cards) != 2 {
		t.Errorf("a restriction is lost among %+v", cards)
	}
	for _, c := range []struct {
		epsilon, delta float64
		adjacency      account.Adjacency
		want           string
	}{
		{1, 1e-6, account.Replacement, "Strong"}, {1.01, 1e-6, account.Replacement, "Moderate"}, {4, 1e-6, account.Replacement, "Moderate"}, {4.01, 1e-6, account.Replacement, "Weak"},
		{20.1, 1e-6, account.Replacement, "None"}, {math.Inf(1), 0, account.Replacement, "None"}, {1, 1e-4, account.Replacement, "None"},
		{0.6, 0, account.Removal, "Moderate"}, {0.5, 0, account.Removal, "Strong"}, {1, 0, account.Label, "Strong"},
	} {
		if got := strength(of("", c.epsilon, c.delta, c.adjacency).Guarantee); got.Word != c.want {
			t.Errorf("%+v is %s", c, got.Word)
		}
	}
	for high, want := range map[float64]string{0.98: "At most 98\u00a0% sure", 0.9801: "At most 98.1\u00a0% sure", 0.9975: "At most 99.8\u00a0% sure", 0.99991: "As good as certain"} {
		if got := sure(high); got != want {
			t.Errorf("%v: %q, want %q", high, got, want)
		}
	}
}
