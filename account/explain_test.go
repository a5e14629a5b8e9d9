package account_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/shuffle/vectors"
)

// Bayes on the bit of one respondent: local randomized response attains the bound.
func TestPosteriorIsAttained(t *testing.T) {
	for _, prior := range []float64{1e-6, 0.01, 0.5, 0.99} {
		for _, flip := range []float64{0.01, 0.2, 0.49} {
			g := account.Guarantee{Epsilon: shuffle.RandomizedResponse{Users: 1, Flip: flip}.Losses().Report}
			bayes := prior * (1 - flip) / (prior*(1-flip) + (1-prior)*flip)
			if got := g.Posterior(prior); math.Abs(got-bayes) > 1e-12 {
				t.Errorf("prior %v, flip %v: posterior %v, Bayes %v", prior, flip, got, bayes)
			}
		}
	}
	for _, c := range []struct{ epsilon, prior, want float64 }{{0, 0.01, 0.01}, {3, 0, 0}, {3, 1, 1}, {1e5, 0.01, 1}, {1e5, 0, 0}} {
		if got := (account.Guarantee{Epsilon: c.epsilon}).Posterior(c.prior); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("epsilon %v, prior %v: posterior %v, want %v", c.epsilon, c.prior, got, c.want)
		}
	}
}

func TestExplain(t *testing.T) {
	none := math.NaN()
	bit := shuffle.RandomizedResponse{Users: 500, Flip: 0.2}
	local := math.Log(4)
	joint := func(one account.Event, rest account.Event) float64 {
		g, err := account.Epsilon(account.All{Events: []account.Event{one, rest}}, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		return g.Epsilon
	}
	after := func(one float64, rest account.Event) float64 {
		g, err := account.Epsilon(rest, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		return one + g.Epsilon
	}
	asymmetric := shuffle.AsymmetricResponse{Users: 500, Keep: 0.5, Flip: 0.1}
	vector := vectors.VectorResponse{Users: 500, Coordinates: 4, Flip: 0.2, SquaredGap: 0.36}
	for _, c := range []struct {
		name            string
		event           account.Event
		everyone, piece float64 // NaN: nothing is promised
	}{
		{"rr", account.Repeat{Event: bit, Rounds: 5}, 5 * local, joint(shuffle.RandomizedResponse{Users: 1, Flip: 0.2}, account.Repeat{Event: bit, Rounds: 4})},
		{"one-hot, removal", shuffle.OneHot{Users: 500, Flip: 0.2, Adjacency: account.Removal, Keep: 0}, local, local},
		{"one-hot, replacement", account.Repeat{Event: shuffle.OneHot{Users: 500, Flip: 0.2, Adjacency: account.Replacement, Keep: 0}, Rounds: 2}, 4 * local, joint(shuffle.RandomizedResponse{Users: 1, Flip: 0.2}, account.Repeat{Event: bit, Rounds: 3})},
		{"asymmetric, removal", shuffle.OneHot{Users: 500, Flip: 0.1, Adjacency: account.Removal, Keep: 0.5}, math.Log(5), math.Log(5)},
		{"asymmetric, replacement", shuffle.OneHot{Users: 500, Flip: 0.1, Adjacency: account.Replacement, Keep: 0.5}, math.Log(9), joint(shuffle.AsymmetricResponse{Users: 1, Keep: 0.5, Flip: 0.1}, asymmetric)},
		// Squared gaps 0.36 over 4 coordinates: 0.3 each before the flips, 0.18 after.
		{"vector", vector, 4 * math.Log(1+0.18/0.2), after(math.Log(1+0.36/0.2), vector)},
		{"krr", amplify.KaryResponse{Users: 500, K: 3, Epsilon: 1}, 1, 1},
		{"any", account.Repeat{Event: amplify.AnyRandomizer{Users: 500, Epsilon: 1}, Rounds: 2}, 2, after(1, amplify.AnyRandomizer{Users: 500, Epsilon: 1})},
		{"3nb", bitnoise.ThreeNB{Users: 500, Noise: 0.5, FloodShape: 12, FloodProb: 0.98}, none, none},
	} {
		views, err := account.Explain(c.event, 1e-6)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want, err := account.Epsilon(c.event, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		if len(views) != 4 || *views[2].Guarantee != want || *views[3].Guarantee != want {
			t.Fatalf("%s: %+v: want the shuffled guarantee for the last two of four", c.name, views)
		}
		for i, epsilon := range []float64{c.everyone, c.piece} {
			g := views[i].Guarantee
			if math.IsNaN(epsilon) {
				if g != nil || views[i].Reason == "" {
					t.Errorf("%s: %+v: nothing can be promised", c.name, views[i])
				}
				continue
			}
			if epsilon = math.Min(epsilon, c.everyone); g == nil || math.Abs(g.Epsilon-epsilon) > 1e-9 || g.Epsilon < epsilon || g.Adjacency != want.Adjacency {
				t.Errorf("%s, %s: %+v, want epsilon %v", c.name, views[i].Observer, g, epsilon)
			}
			if g.Delta != 0 && (i == 0 || g.Delta != 1e-6 || g.Epsilon >= c.everyone) || g.Trust != []account.Trust{account.Local, account.OneFragment}[i] {
				t.Errorf("%s, %s: %+v", c.name, views[i].Observer, g)
			}
		}
	}
	views, err := account.Explain(account.Repeat{Event: central.Gaussian{Sigma: 10, Sensitivity: 1}, Rounds: 2}, 1e-6)
	if err != nil || len(views) != 2 || views[0].Guarantee != nil || views[1].Guarantee.Trust != account.Central {
		t.Errorf("central: %+v, %v: want a curator who sees all, and a reader", views, err)
	}
	if views, err := account.Explain(bit, math.NaN()); err == nil {
		t.Errorf("delta NaN: %+v, want an error", views)
	}
}

func TestExplainFragments(t *testing.T) {
	f := shuffle.Fragments{Users: 1000, Backstop: 2, Fragment: 1, Tau: 4, Adjacency: account.Removal}
	views, err := f.Explain(1e-6)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(views); i++ {
		if views[i].Guarantee.Epsilon > views[i-1].Guarantee.Epsilon {
			t.Errorf("%s learns more than %s: %+v", views[i].Observer, views[i-1].Observer, views)
		}
	}
	if len(views) != 4 || views[0].Guarantee.Trust != account.Local || views[1].Guarantee.Trust != account.OneFragment || views[2].Guarantee.Trust != account.Shuffled {
		t.Errorf("%+v", views)
	}
	if views, err := (shuffle.Fragments{}).Explain(1e-6); err == nil {
		t.Errorf("no fragments: %+v, want an error", views)
	}
}
