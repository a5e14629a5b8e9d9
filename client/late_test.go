package client_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/client/policy"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/simulate"
)

// binary asks one of two respondents for one of two things, by randomized response: it costs
// next to nothing to account for, and the other respondent hides next to nothing.
func binary(t testing.TB, title string, epsilon float64) plan.Plan {
	t.Helper()
	p, _ := sample(t, "rr", 1, 1)
	p.Title = title
	p.Question = plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &plan.Histogram{
		Attributes: []plan.Attribute{{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea"}}},
		Randomizer: plan.Randomizer{Name: "krr", Accounting: "exact", Epsilon: epsilon},
	}}
	p.Budget = plan.Budget{Epsilon: epsilon, Delta: 1e-6, Adjacency: "replacement"}
	p.Crowd = plan.Crowd{Minimum: 2}
	p.Envelopes = plan.Envelopes{Suite: "x25519", PayloadBytes: 8, PerDevice: 1}
	if _, err := simulate.NewKeys(&p); err != nil {
		t.Fatal(err)
	}
	return p
}

// torn asks the same in two report fragments, each said through one instance, of which each
// cell's bits tell a little.
func torn(t testing.TB, title string) plan.Plan {
	t.Helper()
	p := binary(t, title, 1)
	bit := func(e float64) (keep, flip float64) { f := 1 / (1 + math.Exp(e)); return 1 - f, f }
	z := plan.Randomizer{Name: "one-hot", Accounting: "exact", Fragments: 2, Backstop: 1.001, Epsilon: 1.001}
	z.BackstopKeep, z.BackstopFlip = bit(0.5)
	z.Keep, z.Flip = bit(0.5)
	p.Question.Histogram.Randomizer = z
	p.Budget = plan.Budget{Epsilon: 4, Delta: 1e-6, Adjacency: "replacement"}
	p.Envelopes.PerDevice = 4
	return p
}

// answerAt is the outcome of one device for one signed plan at a time.
func answerAt(t testing.TB, signed plan.Signed, o client.Options, at time.Time, v question.Value) error {
	t.Helper()
	c, err := client.Open(signed, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetTime(func() time.Time { return at }, nil)
	return c.Answer(v)
}

// Studies that a device joins one a period, each of which costs what the cap allows, are not
// all answered in one later period: a round is covered by its study's first answer only while
// that lies in the period. So it is under every kind of cap, and an administrator's.
func TestLateRoundsAreAskedAbout(t *testing.T) {
	const rounds, studies, day = 4, 4, 24 * time.Hour
	p := binary(t, "a plan", 5)
	s := newService(t, &p, false)
	probe := opened(t, p, device(t, s)).Charge()
	whole := func(of float64) float64 { return rounds * of * 1.001 }
	for name, caps := range map[string]client.Caps{
		"epsilon":    {Window: client.Cap{Epsilon: whole(probe.Epsilon)}, Period: day},
		"delta":      {Window: client.Cap{Delta: whole(probe.Delta)}, Period: day},
		"local":      {Window: client.Cap{Local: whole(probe.Local)}, Period: day},
		"a filter":   {Window: client.Cap{Epsilon: whole(probe.Epsilon), Delta: 12 * whole(probe.Delta)}, Period: day},
		"as shipped": client.DefaultCaps,
	} {
		for _, by := range []string{"program", "administrator"} {
			o := device(t, s)
			if by == "program" {
				o.Caps = caps
			} else {
				o.Policy = policy.File(policyFile(t, fmt.Sprintf(`{"caps": {"window": {"epsilon": %g, "delta": %g, "local": %g}, "period": %q}}`, caps.Window.Epsilon, caps.Window.Delta, caps.Window.Local, caps.Period)))
			}
			start := time.Now().UTC().Truncate(time.Second)
			var all []plan.SignedStudy
			for i := range studies {
				q := p
				q.Title, q.Times = fmt.Sprintf("study %d", i), plan.Times{}
				of := study(q, rounds, plan.TakesAll)
				of.Study.Times.Closes = start.Add(2 * studies * caps.Period)
				of = plan.SignStudy(of.Study, publisher)
				all = append(all, of)
				if err := answerAt(t, round(t, of, 1, 0), o, start.Add(time.Duration(i)*(caps.Period+time.Minute)), drink("tea")); err != nil {
					t.Fatalf("%s of the %s: joining the study %d: %v", name, by, i, err)
				}
			}
			late := start.Add(studies * (caps.Period + time.Minute))
			answered := 0
			for number := 2; number <= rounds; number++ {
				for _, of := range all {
					if answerAt(t, round(t, of, number, 0), o, late.Add(time.Duration(answered)*time.Second), drink("tea")) == nil {
						answered++
					}
				}
			}
			spent := ledger(t, o).Spent(late.Add(time.Hour), caps.Period)
			if answered < rounds || answered == studies*(rounds-1) {
				t.Errorf("%s of the %s: %d of %d late rounds are answered", name, by, answered, studies*(rounds-1))
			}
			for _, part := range []struct{ spent, cap float64 }{{spent.Epsilon, caps.Window.Epsilon}, {spent.Delta, caps.Window.Delta}, {spent.Local, caps.Window.Local}} {
				// No Gaussian is wide enough for one of these plans: a filter is one on sums.
				if part.cap > 0 && part.spent > part.cap {
					t.Errorf("%s of the %s: %d late rounds spend %+v, and the cap is %+v", name, by, answered, spent, caps.Window)
				}
			}
		}
	}
}

// A later round costs nothing more in the periods that its study's first answer lies in, and
// in the others what it costs by itself.
func TestARoundIsCoveredPeriodByPeriod(t *testing.T) {
	p := binary(t, "a plan", 1)
	s := newService(t, &p, false)
	one := opened(t, p, device(t, s)).Charge().Epsilon
	of := study(p, 3, plan.TakesAll)
	now := time.Now()
	for name, c := range map[string]struct {
		short, long float64 // caps on an hour and on a day, in answers
		answered    bool
	}{
		"room in both":            {3.01, 3.01, true},
		"none left in the hour":   {3.01, 4.01, false},
		"the cap has been halved": {3.01, 1.5, false},
	} {
		o := device(t, s)
		under := func(hour, day float64) client.Options {
			o.Caps = client.Caps{Window: client.Cap{Epsilon: hour * one}, Period: time.Hour}
			o.Policy = func() (client.Policy, error) {
				return client.Policy{Caps: &client.Caps{Window: client.Cap{Epsilon: day * one}, Period: 24 * time.Hour}}, nil
			}
			return o
		}
		if err := answerAt(t, round(t, of, 1, 0), under(3.01, 4.01), now, drink("tea")); err != nil {
			t.Fatal(err)
		}
		if name == "none left in the hour" {
			q := p
			q.Title = "beside it"
			if err := answerAt(t, sign(q), under(3.01, 4.01), now.Add(2*time.Hour), drink("tea")); err != nil {
				t.Fatal(err)
			}
			c.short = 1.5
		}
		if err := answerAt(t, round(t, of, 2, 0), under(c.short, c.long), now.Add(2*time.Hour), drink("tea")); (err == nil) != c.answered {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What everyone together learns of a study in report fragments is its backstops, one for each
// term, and each is charged: a backstop that stands is said again by every round, and a cap
// with room for one never has two drawn.
func TestAStudyKeepsALocalCap(t *testing.T) {
	const rounds, day = 5, 24 * time.Hour
	p := torn(t, "a plan")
	s := newService(t, &p, false)
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	kept, _ := proto.Backstop()
	values := []string{"tea", "coffee", "coffee", "tea", "coffee"}
	of := study(p, rounds, plan.TakesAll)
	now := time.Now()
	drawn := func(o client.Options) int {
		keys := map[string]bool{}
		for _, e := range ledger(t, o).Entries {
			keys[string(e.Backed.Key)] = true
		}
		return len(keys)
	}
	for _, before := range []bool{false, true} {
		for name, cap := range map[string]float64{"no cap": 0, "room for one": 1.01 * kept.Epsilon, "no room": 0.99 * kept.Epsilon} {
			o := device(t, s)
			o.Caps = client.Caps{Window: client.Cap{Local: cap}, Period: 10 * day}
			var refused []bool
			if before {
				refused = append(refused, answerAt(t, sign(p), o, now, drink("tea")) != nil)
			}
			for i, what := range values {
				refused = append(refused, answerAt(t, round(t, of, i+1, 0), o, now.Add(time.Duration(i+1)*time.Minute), drink(what)) != nil)
			}
			if slices.Contains(refused, name != "no room") {
				t.Errorf("%s, a plan before it %v: refused %v", name, before, refused)
			}
			want := map[string]int{"no cap": 2, "room for one": 1, "no room": 0}[name]
			spent := ledger(t, o).Spent(now.Add(time.Hour), 10*day).Local
			if got := drawn(o); got != want || spent < float64(want)*kept.Epsilon || spent > float64(want)*kept.Epsilon*1.001 {
				t.Errorf("%s, a plan before it %v: %d backstops drawn, and want %d; %v is spent, of %v for each", name, before, got, want, spent, kept.Epsilon)
			}
		}
	}
	// What is forecast of a study is what its first answer is charged.
	o := device(t, s)
	if err := answerAt(t, round(t, of, 2, 0), o, now, drink("tea")); err != nil {
		t.Fatal(err)
	}
	one, _, _ := client.Forecast(p, nil)
	if forecast, _, err := client.Forecast(p, &of.Study); one.Epsilon*rounds > forecast.Epsilon || err != nil || forecast != ledger(t, o).Entries[0].Charge {
		t.Errorf("forecast %+v, charged %+v, %v", forecast, ledger(t, o).Entries[0].Charge, err)
	}
	// One plan may be a study, and is then all its rounds.
	o = device(t, s)
	o.Caps = client.Caps{Plan: client.Cap{Local: 1.5 * kept.Epsilon}}
	if err := answerAt(t, round(t, of, 1, 0), o, now, drink("tea")); err == nil {
		t.Error("a study that draws a backstop a round is within a cap on one plan of one and a half")
	}
}
