package client_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/client/words"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

// yearOf returns the study of a year with a round a day, of so many events a person.
func yearOf(t *testing.T, events int) plan.SignedStudy {
	t.Helper()
	return counted(t, example.Yearly(t, 365, events, 1, plan.NoiseAggregators))
}

// counted returns the study of a plan of 365 rounds.
func counted(t *testing.T, p plan.Plan) plan.SignedStudy {
	t.Helper()
	if _, err := simulate.NewKeys(&p); err != nil {
		t.Fatal(err)
	}
	for i, party := range p.Route.Sum.Aggregators() {
		party.URL = []string{"https://leader.test", "https://helper.test"}[i]
	}
	s := study(p, 365, plan.TakesAll).Study
	s.Times = plan.Times{Opens: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), Closes: time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)}
	return plan.SignStudy(s, publisher)
}

// day is a moment of the year.
func day(n int) time.Time { return time.Date(2027, 1, n, 12, 0, 0, 0, time.UTC) }

// say answers the round of a day, and whether something happened.
func say(t *testing.T, of plan.SignedStudy, o client.Options, n int, happened bool) error {
	t.Helper()
	if happened {
		return sayThat(t, of, o, n, "joined")
	}
	return sayThat(t, of, o, n)
}

// sayThat answers the round of a day with what happened.
func sayThat(t *testing.T, of plan.SignedStudy, o client.Options, n int, happened ...string) error {
	t.Helper()
	times := plan.Times{Opens: day(n).Add(-12 * time.Hour), Closes: day(n).Add(12 * time.Hour)}
	signed, err := of.Round(n, "", times, coordinator)
	if err != nil {
		t.Fatal(err)
	}
	return answerAt(t, signed, o, day(n), histogram.Answers{Values: []any{append([]string{}, happened...)}})
}

// A device says one event of the year and goes on with nothing, at one charge, which counts until the last row: a ledger of
// thirty days has it in month five.
func TestADeviceCountsItsEvents(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	of := yearOf(t, 1)
	for n := 3; n < 7; n++ { // it joins on the third day
		if err := say(t, of, o, n, n >= 4); err != nil {
			t.Fatal(err)
		}
	}
	l := ledger(t, o)
	var said []int
	for i, e := range l.Entries {
		if e.Most != 1 || e.Covered != (i > 0) {
			t.Fatalf("%+v", e)
		}
		said = append(said, e.Events)
	}
	if len(said) != 4 || said[0]+said[1]+said[2]+said[3] != 1 || said[1] != 1 {
		t.Errorf("events said: %v", said)
	}
	one := l.Entries[0].Charge
	if one.Epsilon > 1 || one.Shift < .23 || one.Shift > .24 {
		t.Errorf("charged %+v", one)
	}
	for _, at := range []int{7, 150, 365, 365 + 7 + 29} {
		if spent := l.Spent(day(at), 30*24*time.Hour); spent.Epsilon < one.Epsilon || spent.Epsilon > one.Epsilon*(1+1e-9) {
			t.Errorf("on day %d a period of thirty days has %v", at, spent.Epsilon)
		}
	}
	if spent := l.Spent(day(365+7+32), 30*24*time.Hour); spent.Epsilon != 0 {
		t.Errorf("a month after the last row %v counts", spent.Epsilon)
	}
	var text bytes.Buffer
	if err := words.Show(&text, l, .1); err != nil || !strings.Contains(text.String(), "one charge for the year 2027, 1 of 1 event said") {
		t.Errorf("%v\n%s", err, text.String())
	}
	// The twin: a charge that leaves with its first answer.
	l.Entries[0].Until = time.Time{}
	if spent := l.Spent(day(150), 30*24*time.Hour); spent.Epsilon != 0 {
		t.Errorf("without the time of its rows %v counts in month five", spent.Epsilon)
	}
}

// What the device has said it knows after a restart, and after its ledger was compacted.
func TestEventsAreCountedAfterARestart(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	of := yearOf(t, 2)
	for n := 1; n <= 5; n++ {
		if err := say(t, of, o, n, true); err != nil {
			t.Fatal(err)
		}
		if n == 2 {
			if err := ledger(t, o).Compact(); err != nil {
				t.Fatal(err)
			}
		}
	}
	total := 0
	for _, e := range ledger(t, o).Entries {
		total += e.Events
	}
	if total != 2 {
		t.Errorf("%d events said of 2", total)
	}
}
