package client_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

var coordinator = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// study asks a plan in so many rounds.
func study(p plan.Plan, rounds int, takes string) plan.SignedStudy {
	now := time.Now().UTC().Truncate(time.Second)
	p.Times = plan.Times{}
	return plan.SignStudy(plan.Study{
		Version: 1, Plan: p, Rounds: rounds, Takes: takes, Withheld: plan.WithheldRepeats,
		Coordinator: plan.Publisher(coordinator.Public().(ed25519.PublicKey)),
		Times:       plan.Times{Opens: now.Add(-time.Hour), Closes: now.Add(1000 * time.Hour)},
	}, publisher)
}

// round is the number'th of a study; again tells two of one number apart.
func round(t testing.TB, s plan.SignedStudy, number, again int) plan.Signed {
	t.Helper()
	times := s.Study.Times
	times.Opens = times.Opens.Add(time.Duration(again) * time.Second)
	signed, err := s.Round(number, "", times, coordinator)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// answerRound is the outcome of one device for one round.
func answerRound(t testing.TB, signed plan.Signed, o client.Options, at time.Time) error {
	t.Helper()
	c, err := client.Open(signed, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetTime(func() time.Time { return at }, nil)
	return c.Answer(value(1))
}

// Each device answers one round, drawn before it answers and kept whatever happens, at
// the price of one. Rounds that it misses, or joins after, do no harm.
func TestADeviceAnswersTheOneRoundThatItDrew(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	of := study(p, 3, plan.TakesOne)
	var price client.Charge
	counts, late := make([]int, 3), make([]int, 3)
	for i := range 90 {
		o := device(t, s)
		first := 1 + i%2 // every other device joins late
		for number := first; number <= 3; number++ {
			for range 2 { // the second time as after a crash: nothing is drawn again
				err := answerRound(t, round(t, of, number, 0), o, time.Now())
				var other *client.OtherRoundError
				if err != nil && !errors.As(err, &other) && !errors.Is(err, client.ErrAnswered) {
					t.Fatal(err)
				}
			}
		}
		l := ledger(t, o)
		if len(l.Entries) != 1 || len(l.Studies) != 1 || l.Studies[0].Round != l.Entries[0].Round || l.Entries[0].Study != of.Study.Name() || l.Studies[0].Round < first {
			t.Fatalf("%d answers, %+v", len(l.Entries), l.Studies)
		}
		price = l.Spent(time.Now(), time.Hour)
		if first == 1 {
			counts[l.Entries[0].Round-1]++
		} else {
			late[l.Entries[0].Round-1]++
		}
		if err := answerRound(t, round(t, of, l.Entries[0].Round, 1), o, time.Now()); !errors.Is(err, client.ErrAnswered) {
			t.Fatalf("a second plan of one number: %v", err)
		}
	}
	stattest.GTest(t, []float64{1. / 3, 1. / 3, 1. / 3}, counts)
	stattest.GTest(t, []float64{0.5, 0.5}, late[1:])
	alone := opened(t, p, device(t, s)).Charge()
	if d := price.Epsilon - alone.Epsilon; math.Abs(d) > 1e-9 || price.Delta > alone.Delta*(1+1e-9) {
		t.Errorf("a round of one costs %+v, the plan by itself %+v", price, alone)
	}
}

// Every round is charged before the first; later rounds cost nothing more, as long as the
// first is counted, and count by themselves after that.
func TestEveryRoundIsChargedBeforeTheFirst(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	of := study(p, 3, plan.TakesAll)
	now := time.Now()
	alone := opened(t, p, device(t, s)).Charge()
	o.Caps = client.Caps{Window: client.Cap{Epsilon: 2.9 * alone.Epsilon}, Period: 24 * time.Hour}
	if err := answerRound(t, round(t, of, 2, 0), o, now); err == nil || !strings.Contains(err.Error(), "may spend") {
		t.Fatalf("three rounds where there is room for two: %v", err)
	}
	o.Caps.Window.Epsilon = 3.01 * alone.Epsilon
	for i, number := range []int{2, 3} { // the first was missed
		if err := answerRound(t, round(t, of, number, 0), o, now.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := answerRound(t, round(t, of, number, 1), o, now); !errors.Is(err, client.ErrAnswered) {
			t.Fatalf("a second plan of one number: %v", err)
		}
	}
	l := ledger(t, o)
	near := func(got, want float64) bool { return got >= want*(1-1e-9) && got <= want*(1+1e-6) }
	if got := l.Spent(now.Add(time.Hour), 24*time.Hour); !near(got.Epsilon, 3*alone.Epsilon) || !near(got.Delta, 3*alone.Delta) || !near(got.Local, 3*alone.Local) {
		t.Errorf("spent %+v, of one %+v", got, alone)
	}
	if got := l.Spent(now.Add(24*time.Hour+time.Minute), 24*time.Hour); !near(got.Epsilon, alone.Epsilon) { // the second answer alone
		t.Errorf("spent %+v after the first answer has left the period", got)
	}
	if e := l.Entries[1]; !e.Covered || l.Entries[0].Covered || e.Round != 3 || len(l.Studies) != 0 {
		t.Errorf("%+v", l.Entries)
	}
}

// What comes between publisher and device cannot change a round.
func TestARoundOfAnotherCoordinatorIsRefused(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	signed := round(t, study(p, 3, plan.TakesOne), 1, 0)
	signed.Plan.Budget.Epsilon *= 2
	if _, err := client.Open(signed, device(t, s)); err == nil || !strings.Contains(err.Error(), "more than number, state and times") {
		t.Error(err)
	}
	if _, err := client.Open(plan.Sign(signed.Plan, publisher), device(t, s)); err == nil || !strings.Contains(err.Error(), "without the study") {
		t.Error(err)
	}
}
