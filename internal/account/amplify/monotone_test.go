package amplify

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

var everyPlan = flag.Bool("every-plan", false, "look for epsilons that rise with the number of users in crowds of any size and at every number, which takes hours")

// grows is a mechanism of so many users, and for how many users it is one and the same.
type grows struct {
	name  string
	of    func(users int) account.Event
	alike func(users int) int
}

// randomly is some mechanism at some noise.
func randomly(r *rand.Rand) grows {
	flip, local := math.Exp(-r.Float64()*6)/2.01, 0.5+4*r.Float64()
	rounds, symbols := 1+r.IntN(200), 2+r.IntN(300)
	adjacency := account.Removal
	if r.IntN(2) == 0 {
		adjacency = account.Replacement
	}
	switch kind := r.IntN(50); { // the last two take longest
	case kind < 10:
		return grows{"rounds of randomized response", func(n int) account.Event {
			return account.Repeat{Event: shuffle.RandomizedResponse{Users: n, Flip: flip}, Rounds: rounds}
		}, func(n int) int { return shuffle.CountedOn(n, 1-flip, flip) }}
	case kind < 20:
		return grows{"randomized response", func(n int) account.Event { return shuffle.RandomizedResponse{Users: n, Flip: flip} }, func(n int) int { return shuffle.CountedOn(n, 1-flip, flip) }}
	case kind < 30:
		return grows{"one-hot", func(n int) account.Event { return shuffle.OneHot{Users: n, Flip: flip, Adjacency: adjacency} }, func(n int) int { return shuffle.CountedOn(n, 1-flip, flip) }}
	case kind < 48:
		return grows{"asymmetric one-hot", func(n int) account.Event {
			return shuffle.OneHot{Users: n, Flip: flip / 2, Keep: 0.5, Adjacency: adjacency}
		}, func(n int) int { return shuffle.CountedOn(n, 0.5, flip/2) }}
	case kind == 48:
		return grows{"k-ary response", func(n int) account.Event { return KaryResponse{Users: n, K: symbols, Epsilon: local} }, countedOn}
	}
	return grows{"any randomizer", func(n int) account.Event { return AnyRandomizer{Users: n, Epsilon: local} }, countedOn}
}

// A promise that holds of some respondents holds of more: at 80 random mechanisms, whose
// promise is just what the accountant says, and at the 2,000 numbers above each, of which
// those are looked at that the accountant tells apart.
func TestNoEpsilonRisesWithUsers(t *testing.T) {
	const plans, above = 80, 2000
	r := stattest.Rand(t)
	rounded := 0.
	if *everyPlan {
		rounded = 2e-4 // of small crowds, whose laws are not laid out on rungs: a protocol takes the lower of two (Protocol.GuaranteeWith)
	}
	for i := range plans {
		m := randomly(r)
		n := int(1e6 * math.Exp(r.Float64()*1.5))
		if *everyPlan {
			n = int(100 * math.Exp(r.Float64()*11))
		}
		least := accounttest.EpsilonFrom(t, account.Epsilon, m.of(n), 1e-6)
		looked := 0
		for more := n + 1; more <= n+above; more++ {
			if m.alike(more) == m.alike(more-1) || looked == 2 && !*everyPlan {
				continue
			}
			looked++
			e := accounttest.EpsilonFrom(t, account.Epsilon, m.of(more), 1e-6)
			if e > least*(1+rounded) {
				t.Errorf("%s: epsilon %v of %d users, and %v of fewer: %#v", m.name, e, more, least, m.of(more))
			}
			least = min(least, e)
		}
		if *everyPlan { // so that a run that is cut says how far it came
			t.Logf("plan %d: %s, %d numbers of users from %d on", i+1, m.name, looked+1, n)
		}
	}
}

// What the accountant does not tell apart has one epsilon, to the last digit.
func TestUsersBetweenRungsAreAlike(t *testing.T) {
	r := stattest.Rand(t)
	for range 20 {
		m, n := randomly(r), int(2e5*math.Exp(r.Float64()*3))
		a, b := accounttest.EpsilonFrom(t, account.Epsilon, m.of(n), 1e-6), accounttest.EpsilonFrom(t, account.Epsilon, m.of(m.alike(n)), 1e-6)
		if a != b {
			t.Errorf("%s: %v of %d users, %v of the %d that it counts on", m.name, a, n, b, m.alike(n))
		}
	}
}

// One respondent more was promised less: 192 rounds at 160,000, calibrated to epsilon 2.
func TestOneRespondentMoreKeepsThePromise(t *testing.T) {
	target := calibrate.Target{Users: 160_000, Rounds: 192, Epsilon: 2, Delta: 1e-6}
	e, g, err := shuffle.CalibrateRR(target, calibrate.Exact)
	if err != nil {
		t.Fatal(err)
	}
	for _, users := range []int{160_001, 160_002, 160_031, 160_032, 160_033, 160_064, 160_500, 162_000} {
		e.Users = users
		if more := accounttest.EpsilonFrom(t, account.Epsilon, account.Repeat{Event: e, Rounds: 192}, 1e-6); more > g.Epsilon {
			t.Errorf("%d users: epsilon %.9g, and %.9g of 160,000", users, more, g.Epsilon)
		}
	}
}
