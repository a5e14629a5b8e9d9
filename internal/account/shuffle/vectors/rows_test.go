package vectors

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/prob"
)

// secretOf are rows that every pair of unit vectors may move, clipped at two deviations.
func secretOf(honest, answered, rows int, flip, squaredDistance float64) SecretRows {
	return SecretRows{Honest: honest, Rows: rows, Answered: answered, Envelopes: min(rows, answered+answered/2),
		Flip: flip, SquaredGap: float64(rows) * squaredDistance / 16, Rare: 1e-9}
}

// What thinning leaves, as computed by another program (docs/secret-rows.md, 6.3): the
// number of answers, the mean of Y over q^2, the slack and the sum of squares.
func TestThinnedRowsKnown(t *testing.T) {
	for _, c := range []struct {
		honest, answered, rows   int
		squared                  float64
		expected                 int
		growth, slack, squareGap float64
	}{
		{60_000, 8192, 65_536, 2.094, 7500, 1.0087, 0.0009, 135.300},
		{60_000, 2048, 65_536, 2.094, 1875, 1.0184, 0.0019, 8.546},
		{60_000, 1024, 131_072, 2.094, 468, 1.0362, 0.0028, 1.088},
		{60_000, 1024, 16_384, 2.094, 3750, 1.0127, 0.0027, 8.505},
		{46_267, 410, 32_768, 4, 578, 1.0323, 0.0036, 1.329},
		{2000, 256, 1024, 4, 500, 1.0317, 0.0203, 16.842},
		{2000, 64, 512, 4, 250, 1.0490, 0.0460, 2.195},
	} {
		e := secretOf(c.honest, c.answered, c.rows, 0.2, c.squared)
		y := crowded{e.Honest, e.expected(), e.share()}
		mean := y.mean()
		growth, slack, gap := mean/(e.share()*e.share()), y.slack(mean, e.SquaredGap, e.Rare), e.thinned()
		if e.expected() != c.expected || math.Abs(growth-c.growth) > 6e-5 || math.Abs(slack-c.slack) > 6e-5 || math.Abs(gap-c.squareGap) > 6e-4 {
			t.Errorf("%+v: %d answers, %.4f, %.4f, %.3f", c, e.expected(), growth, slack, gap)
		}
	}
}

// The chance that a sum of Y over rows is above what is accounted for, exactly, by
// convolution on the grid of squares: never above Rare. Without the slack it is near a half.
func TestCrowdedRowsAreRare(t *testing.T) {
	beyond := func(e SecretRows, most float64) float64 {
		limit := int(math.Floor(most * float64(e.Honest*e.Honest)))
		law := map[int]float64{0: 1}
		for range e.Rows {
			next := map[int]float64{}
			for sum, p := range law {
				for m := range e.Honest + 1 {
					y := max(m, e.expected())
					next[sum+y*y] += p * prob.BinomialPMF(m, e.Honest, e.share())
				}
			}
			law = next
		}
		chance := 0.0
		for sum, p := range law {
			if sum > limit {
				chance += p
			}
		}
		return chance
	}
	for _, rare := range []float64{0.1, 1e-3, 1e-6} {
		e := SecretRows{Honest: 30, Rows: 6, Answered: 2, Envelopes: 6, Flip: 0.2, SquaredGap: 6, Rare: rare}
		if chance := beyond(e, e.thinned()); chance > rare {
			t.Errorf("rows are crowded with chance %v, charged %v", chance, rare)
		}
		y := crowded{e.Honest, e.expected(), e.share()}
		if chance := beyond(e, y.mean()*e.SquaredGap); chance < rare {
			t.Errorf("without slack rows are crowded with chance %v only", chance)
		}
	}
}

// Two brackets as computed by another program: the worst found is 0.726 and 0.890 where 1
// is promised. A vector's own lower bound would be above them.
func TestSecretRowsBracket(t *testing.T) {
	for _, c := range []struct {
		e     SecretRows
		worst float64
	}{
		{secretOf(2000, 64, 512, 0.1277, 4), 0.726},
		{secretOf(4000, 256, 512, 0.1551, 4), 0.890},
	} {
		c.e.Envelopes = c.e.Rows
		high, low := accounttest.EpsilonFrom(t, account.Epsilon, c.e, 1e-5), accounttest.EpsilonFrom(t, account.LowerEpsilon, c.e, 1e-5)
		if math.Abs(high-1) > 0.002 || math.Abs(low-c.worst) > 0.002 {
			t.Errorf("%+v: epsilon from %v to %v, want %v to 1", c.e, low, high, c.worst)
		}
		if bare := accounttest.EpsilonFrom(t, account.LowerEpsilon, c.e.vector(), 1e-5); bare < 1.005*low {
			t.Errorf("the vector's lower bound %v was not caught: the rows' is %v", bare, low)
		}
	}
}

// Where every row is answered nothing is secret or left to chance.
func TestAllRowsAnsweredAreAVector(t *testing.T) {
	e := SecretRows{Honest: 3000, Rows: 256, Answered: 256, Envelopes: 256, Flip: 0.2, SquaredGap: 64}
	v := VectorResponse{3000, 256, 0.2, 64}
	for name, f := range map[string]func(account.Event, float64) (account.Guarantee, error){"upper": account.Epsilon, "lower": account.LowerEpsilon} {
		if rows, vector := accounttest.EpsilonFrom(t, f, e, 1e-6), accounttest.EpsilonFrom(t, f, v, 1e-6); math.Abs(rows-vector) > 1e-5*vector {
			t.Errorf("%s: epsilon %v, of the vector %v", name, rows, vector)
		}
	}
}

// What the event would be to whoever forgets a part of it, against a lower bound of what
// it is.
func TestForgetfulAccountsAreCaught(t *testing.T) {
	const delta = 1e-5
	e := secretOf(2000, 64, 512, 0.12, 4)
	e.Envelopes = e.Rows
	low := accounttest.EpsilonFrom(t, account.LowerEpsilon, e, delta)
	if high := accounttest.EpsilonFrom(t, account.Epsilon, e, delta); high < low {
		t.Fatalf("epsilon %v, at least %v", high, low)
	}
	twice, n := e, e
	twice.Honest *= 2
	q := e.share()
	for name, twin := range map[string]account.Event{
		"n for n_h, half of whom never answer": twice,
		"q not accounted for: all answer":      VectorResponse{n.Honest, n.Rows, n.Flip, q * q * n.SquaredGap},
		"two rounds for one":                   nil,
	} {
		truth := low
		if twin == nil {
			twin, truth = e, accounttest.EpsilonFrom(t, account.LowerEpsilon, account.Repeat{Event: e, Rounds: 2}, delta)
		}
		if high := accounttest.EpsilonFrom(t, account.Epsilon, twin, delta); high >= truth {
			t.Errorf("%s: epsilon %v was not caught, it is at least %v", name, high, truth)
		}
	}
	// On public rows the target answers 16 of its 128 among 250 others, undiminished.
	if low := accounttest.EpsilonFrom(t, account.LowerEpsilon, account.Repeat{Event: shuffle.RandomizedResponse{Users: 250, Flip: e.Flip}, Rounds: 16}, delta); low < 1.5*accounttest.EpsilonFrom(t, account.Epsilon, e, delta) {
		t.Errorf("public rows: at least %v", low)
	}
}

// Rounds that differ: squares of shifts add, as the loss distributions have it.
func TestSecretRowsCompose(t *testing.T) {
	const delta = 1e-5
	moments, gradient := secretOf(60_000, 2458, 65_536, 0.2, 2.006), secretOf(60_000, 1434, 8192, 0.2, 4)
	event := account.All{Events: []account.Event{moments, account.Repeat{Event: gradient, Rounds: 4}}}
	g, err := account.Epsilon(event, delta)
	if err != nil {
		t.Fatal(err)
	}
	c, err := account.Options{Whole: true, Neglect: delta * profile.Neglect / 5}.Composed(event)
	if err != nil {
		t.Fatal(err)
	}
	if losses, err := c.Epsilon(delta); err != nil || losses < g.Epsilon*(1-1e-3) || losses > 1.05*g.Epsilon {
		t.Errorf("epsilon %v, by loss distributions %v, %v", g.Epsilon, losses, err)
	}
	box, err := account.NewBox(g.Epsilon, delta, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := account.Dominate(event, box.Tail)
	if err != nil || d.Shift > 1.03*box.Shift || d.Shift < 0.9*box.Shift || d.Tail > box.Tail {
		t.Errorf("%+v in %+v: %v", d, box, err)
	}
	if fifth := accounttest.EpsilonFrom(t, account.Epsilon, account.Repeat{Event: gradient, Rounds: 4}, delta); fifth >= g.Epsilon {
		t.Errorf("four rounds %v, and another before them %v", fifth, g.Epsilon)
	}
}

func TestSecretFlips(t *testing.T) {
	const epsilon, delta = 1, 1e-5
	e := secretOf(60_000, 8192, 65_536, 0, 2.094)
	e.Envelopes = 8803
	one, err := SecretFlips([]SecretRows{e}, []float64{1}, epsilon, delta)
	if err != nil || math.Abs(one[0].Flip-0.1622) > 5e-4 { // 0.16215 without padding
		t.Fatalf("%+v, %v", one, err)
	}
	if got := accounttest.EpsilonFrom(t, account.Epsilon, one[0], delta); got > epsilon || got < 0.999*epsilon {
		t.Errorf("epsilon %v", got)
	}
	first, second := e, secretOf(60_000, 1434, 8192, 0, 4)
	first.Answered, first.Envelopes, second.Envelopes = 2458, 2900, 1800
	rounds, err := SecretFlips([]SecretRows{first, second, second}, []float64{0.3, 0.35, 0.35}, epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	all := account.All{Events: []account.Event{rounds[0], rounds[1], rounds[2]}}
	if got := accounttest.EpsilonFrom(t, account.Epsilon, all, delta); got > epsilon || got < 0.998*epsilon || rounds[1] != rounds[2] {
		t.Errorf("three rounds: epsilon %v, %+v", got, rounds)
	}
	for name, shares := range map[string][]float64{"none": nil, "too few": {1}, "too much": {1, 1, 1}, "nothing": {0, 0.5, 0.5}, "not a number": {math.NaN(), 0.5, 0.5}} {
		if c, err := SecretFlips(rounds, shares, epsilon, delta); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	first.Envelopes = first.Answered // every other device outgrows them
	if c, err := SecretFlips([]SecretRows{first, e}, []float64{0.5, 0.5}, 0.1, delta); err == nil && c[0].Flip < 0.49 {
		t.Errorf("without room: %+v", c)
	}
}

func TestSecretRowsRefused(t *testing.T) {
	good := secretOf(60_000, 8192, 65_536, 0.2, 2.094)
	refused := func(why string, change func(e *SecretRows)) {
		t.Helper()
		e := good
		change(&e)
		_, err := account.Epsilon(e, 1e-5)
		var u *account.Unsupported
		if !errors.As(err, &u) || !strings.Contains(u.Reason, why) {
			t.Errorf("%q: %v", why, err)
		}
	}
	refused("fixed number", func(e *SecretRows) { e.Choice = FixedNumber })
	refused("undiminished", func(e *SecretRows) { e.Choice = PublicRows })
	refused("called", func(e *SecretRows) { e.Choice = "by birthday" })
	refused("private", func(e *SecretRows) { e.HiddenSizes = true })
	refused("removed", func(e *SecretRows) { e.Adjacency = account.Removal })
	refused("called", func(e *SecretRows) { e.Adjacency = "neighbours" })
	for name, change := range map[string]func(e *SecretRows){
		"nobody":                 func(e *SecretRows) { e.Honest = 0 },
		"no rows":                func(e *SecretRows) { e.Rows = 0 },
		"no answers":             func(e *SecretRows) { e.Answered = 0 },
		"more answers than rows": func(e *SecretRows) { e.Answered = e.Rows + 1 },
		"its own number of rows": func(e *SecretRows) { e.Envelopes = 0 },
		"too few envelopes":      func(e *SecretRows) { e.Envelopes = e.Answered - 1 },
		"fewer than one a row":   func(e *SecretRows) { e.Honest = 7 },
		"no flips":               func(e *SecretRows) { e.Flip = 0 },
		"half flips":             func(e *SecretRows) { e.Flip = 0.5 },
		"no gap":                 func(e *SecretRows) { e.SquaredGap = 0 },
		"no chance":              func(e *SecretRows) { e.Rare = 0 },
		"not a chance":           func(e *SecretRows) { e.Rare = math.NaN() },
	} {
		e := good
		change(&e)
		if g, err := account.Epsilon(e, 1e-5); err == nil {
			t.Errorf("%s: %v", name, g)
		}
	}
	// Envelopes for no more than the mean are outgrown by every other device.
	good.Envelopes = good.Answered
	if g, err := account.Epsilon(good, 1e-5); err == nil && g.Meaningful() {
		t.Errorf("no room for more than the mean: %v", g)
	}
}

// One answer seen by itself, and everything that a device sends.
func TestSecretRowsOpened(t *testing.T) {
	const delta = 1e-5
	e := secretOf(60_000, 8192, 65_536, 0.1622, 2.094)
	views, err := account.Explain(e, delta)
	if err != nil {
		t.Fatal(err)
	}
	everyone, one, all := views[0].Guarantee.Epsilon, views[1].Guarantee.Epsilon, views[2].Guarantee.Epsilon
	bit := math.Log((1 - e.Flip) / e.Flip)
	if !(one > math.Max(bit, all) && one < bit+all && everyone > 100) {
		t.Errorf("everyone %v, one answer %v, all answers among others' %v; an answer alone %v", everyone, one, all, bit)
	}
	room := float64(e.Envelopes)
	if want := room * math.Log(1+(1-2*e.Flip)*math.Sqrt(e.SquaredGap/room)/e.Flip); math.Abs(everyone-want) > 1e-9*want {
		t.Errorf("everyone: %v, want %v", everyone, want)
	}
}
