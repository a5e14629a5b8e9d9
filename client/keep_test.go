package client_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

// The ledger forgets what was said, for age and for size, oldest first; it never
// forgets what was spent or that a plan was answered.
func TestTheLedgerForgetsMessagesOnly(t *testing.T) {
	p, _ := sample(t, "rr", 1, 200)
	s := newService(t, &p, false)
	o := device(t, s)
	o.Caps = client.Caps{Plan: client.Cap{Epsilon: 100}}
	o.LedgerBytes, o.LedgerAge = 4000, 30*24*time.Hour // 200 messages take some 1,000 bytes
	start := time.Now()
	answer := func(i int, at time.Time) {
		t.Helper()
		q := p
		q.Title = fmt.Sprintf("plan %d", i)
		s.reset()
		s.plan = q
		c := opened(t, q, o)
		c.SetTime(func() time.Time { return at }, nil)
		if err := c.Report(t.Context(), value(1)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		answer(i, start)
	}
	info, err := os.Stat(ledgerPath(o))
	if err != nil {
		t.Fatal(err)
	}
	l := ledger(t, o)
	kept := 0
	for i, e := range l.Entries {
		if !e.Forgotten {
			kept++
		}
		if i > 0 && l.Entries[i-1].Forgotten == false && e.Forgotten || e.Forgotten != (len(e.Parts[0].Messages) == 0) || e.Forgotten != (e.Said == "") || e.Parts[0].Status != client.Sent {
			t.Errorf("entry %d: %v after %v, %d messages, %s", i, e.Forgotten, l.Entries[max(0, i-1)].Forgotten, len(e.Parts[0].Messages), e.Parts[0].Status)
		}
	}
	if len(l.Entries) != 6 || kept == 0 || kept == 6 || info.Size() > 4000+100 {
		t.Errorf("%d entries, %d with messages, %d bytes", len(l.Entries), kept, info.Size())
	}
	answer(6, start.AddDate(0, 0, 31))
	l = ledger(t, o)
	for i, e := range l.Entries[:6] {
		if !e.Forgotten {
			t.Errorf("entry %d is a month old and remembered", i)
		}
	}
	if got, want := l.Spent(start, time.Hour).Epsilon, 7*l.Entries[0].Charge.Epsilon; got < want || got > want*1.001 {
		t.Errorf("spent %v, want %v", got, want)
	}
	s.plan.Title = "plan 0"
	if err := opened(t, s.plan, o).Answer(value(1)); err == nil {
		t.Error("a plan that was forgotten was answered again")
	}
}

// What the network sees of cover is what it sees of an answer.
func TestCover(t *testing.T) {
	for _, tokens := range []bool{false, true} {
		p, _ := sample(t, "rr", 1, 3)
		s := newService(t, &p, tokens)
		o := device(t, s)
		if err := opened(t, p, o).Cover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l := ledger(t, o); len(l.Entries) > 0 {
			t.Errorf("cover was charged: %+v", l.Entries)
		}
		if err := opened(t, p, o).Report(t.Context(), value(1)); err != nil { // an answer may follow
			t.Fatal(err)
		}
		kept, requests, cover := s.counts()
		if kept != 1 || cover != 1 || requests%2 != 0 {
			t.Fatalf("%d contributions, %d covers, %d requests", kept, cover, requests)
		}
		for i, r := range s.requests[:requests/2] {
			other := s.requests[requests/2+i]
			if len(r.path) != len(other.path) || len(r.body) != len(other.body) || len(r.authorization) != len(other.authorization) {
				t.Errorf("cover: path, body and authorization of %d, %d, %d; an answer: %d, %d, %d",
					len(r.path), len(r.body), len(r.authorization), len(other.path), len(other.body), len(other.authorization))
			}
		}
		if err := client.Consent(o.Store, false); err != nil {
			t.Fatal(err)
		}
		if err := opened(t, p, o).Cover(t.Context()); err == nil {
			t.Error("cover of a device that opted out")
		}
	}
}

// Delays are uniform up to the longest, or half the time that is left: 400 of them
// over four quarters tell a share of a quarter from one of 0.4, nearly always.
func TestDelay(t *testing.T) {
	start := time.Now()
	for name, closes := range map[string]time.Time{"no end": {}, "an end": start.Add(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			p, _ := sample(t, "rr", 1, 1)
			p.Times.Closes = closes
			s := newService(t, &p, false)
			o := device(t, s)
			o.Delay = time.Hour
			longest := o.Delay
			if !closes.IsZero() {
				longest /= 2
			}
			c := opened(t, p, o)
			c.SetRand(stattest.Rand(t))
			counts := make([]int, 4)
			for range 400 {
				c.SetTime(func() time.Time { return start }, func(d time.Duration) { counts[int(4*d/longest)]++ })
				if err := c.Cover(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			stattest.GTest(t, []float64{0.25, 0.25, 0.25, 0.25}, counts)
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, []float64{0.4, 0.2, 0.2, 0.2}, counts) })
		})
	}
}

// Where nothing is said of delays, what is known by its token alone waits after
// the token was asked for, and nothing else does. Without Wait, Report does not
// wait for it: the contribution goes when Deliver is called at the time that
// Report has named, and not before.
func TestTheDefaultWaitsBetweenTokenAndContribution(t *testing.T) {
	for name, c := range map[string]struct {
		tokens bool
		delay  time.Duration
		waits  bool
	}{
		"tokens":                   {true, 0, true},
		"tokens, at once":          {true, client.NoDelay, false},
		"no tokens":                {false, 0, false},
		"no tokens, asked to wait": {false, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := sample(t, "rr", 1, 2)
			s := newService(t, &p, c.tokens)
			o := device(t, s)
			o.Delay = c.delay
			d := opened(t, p, o)
			now := time.Now()
			d.SetTime(func() time.Time { return now }, func(d time.Duration) { t.Errorf("waited %v", d) })
			err := d.Report(t.Context(), value(1))
			kept, requests, _ := s.counts()
			if !c.waits {
				if err != nil || kept != 1 {
					t.Errorf("%v, %d contributions", err, kept)
				}
				return
			}
			var waiting *client.WaitingError
			if !errors.As(err, &waiting) || !errors.Is(err, client.ErrDelayed) || kept != 0 || c.tokens != (requests == 1) {
				t.Fatalf("%v, %d contributions, %d requests", err, kept, requests)
			}
			if wait := waiting.Next.Sub(now); wait <= 0 || wait > cmp.Or(c.delay, client.DefaultDelay) {
				t.Errorf("next in %v", wait)
			}
			now = waiting.Next.Add(-time.Millisecond)
			if err := d.Deliver(t.Context()); !errors.Is(err, client.ErrDelayed) {
				t.Errorf("before its time: %v", err)
			}
			now = waiting.Next
			if err := d.Deliver(t.Context()); err != nil {
				t.Error(err)
			}
			if kept, after, _ := s.counts(); kept != 1 || after != requests+1 {
				t.Errorf("%d contributions, %d requests after %d", kept, after, requests)
			}
		})
	}
}

// The number and length of envelopes, and of everything else that is sent, are
// the plan's, whatever the value; errors never hold it.
func TestNothingShowsTheValue(t *testing.T) {
	p, _ := sample(t, "3nb", 1, 2)
	s := newService(t, &p, false)
	sizes := map[int]bool{}
	for class := range 2 {
		for _, x := range []float32{0, 0.5, 1} {
			s.reset()
			if err := opened(t, p, device(t, s)).Report(t.Context(), density.Labelled{Features: []float32{x, 0, 0}, Class: class}); err != nil {
				t.Fatal(err)
			}
			sizes[len(s.requests[0].body)+len(s.requests[0].path)] = true
		}
	}
	if len(sizes) != 1 {
		t.Errorf("%d different lengths", len(sizes))
	}
	for _, v := range []question.Value{0.62517, "0.62517", density.Labelled{Features: []float32{0.62517}}, density.Labelled{Features: []float32{0.62517, 0, 0}, Class: 2}} {
		s.reset()
		if err := opened(t, p, device(t, s)).Report(t.Context(), v); err == nil || strings.Contains(err.Error(), "62517") {
			t.Errorf("error %v", err)
		}
	}
}

// Whether and when a device is heard of does not depend on whether its value
// fits: a set with too many items, or one that the plan does not know, used to be
// met with silence. The program is told, and nobody else; the ledger has no word of
// it either.
func TestWhatDoesNotFitIsNotMetWithSilence(t *testing.T) {
	set := plan.Histogram{
		Attributes: []plan.Attribute{{Name: "conditions", Kind: "set", Values: []string{"a", "b", "c", "d"}, Most: 2}},
		Randomizer: plan.Randomizer{Name: "one-hot", Accounting: "exact"},
	}
	one := plan.Histogram{
		Attributes: []plan.Attribute{{Name: "city", Kind: "categories", Values: []string{"a", "b", "c", "d"}}},
		Randomizer: plan.Randomizer{Name: "krr", Accounting: "exact"},
	}
	for name, c := range map[string]struct {
		ask    plan.Histogram
		budget string
		values map[any]bool // whether they fit
	}{
		"set":  {set, "removal", map[any]bool{"": true, "a": true, "a b": true, "a b c": false, "elsewhere": false}},
		"city": {one, "replacement", map[any]bool{"a": true, "elsewhere": false, nil: false}},
	} {
		for _, tokens := range []bool{false, true} {
			t.Run(fmt.Sprint(name, tokens), func(t *testing.T) {
				p, _ := sample(t, "rr", 1, 1)
				p.Question = plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &c.ask}
				p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: c.budget}
				p.Crowd, p.Envelopes = plan.Crowd{Minimum: 1000}, plan.Envelopes{Suite: "x25519"}
				if _, err := simulate.NewKeys(&p); err != nil {
					t.Fatal(err)
				}
				p, err := design.Fill(p)
				if err != nil {
					t.Fatal(err)
				}
				seen := map[string]bool{}
				for value, fits := range c.values {
					q := p
					s := newService(t, &q, tokens)
					o := device(t, s)
					d := opened(t, q, o)
					v := histogram.Answers{Values: []any{value}}
					if text, ok := value.(string); ok && name == "set" {
						v.Values[0] = strings.Fields(text)
					}
					err := d.Report(t.Context(), v)
					unfit, ok := errors.AsType[*client.OutOfDomainError](err)
					if ok == fits || fits && err != nil || ok && !errors.Is(d.Unfit(), unfit) {
						t.Errorf("%q: %v", value, err)
					}
					trace := ""
					for _, r := range s.requests {
						trace += fmt.Sprintln(len(r.path), len(r.authorization), len(r.body))
					}
					seen[trace] = true
					if kept, _, _ := s.counts(); kept != 1 {
						t.Errorf("%q: %d contributions", value, kept)
					}
					l := ledger(t, o)
					if e := l.Entries[0]; e.Waiting() || e.Charge != d.Charge() {
						t.Errorf("%q: the ledger says %+v", value, e)
					}
				}
				if len(seen) != 1 {
					t.Errorf("the network sees %d kinds of device: %v", len(seen), seen)
				}
			})
		}
	}
}
