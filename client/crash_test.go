package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/confetti-dp/confetti/client"
)

// died is what a program that dies at a step panics with.
type died string

// dieAt reports, and dies at the step; false if it lived.
func dieAt(t *testing.T, c *client.Client, step string, class int) (dead bool) {
	t.Helper()
	c.AtStep(func(s string) {
		if s == step {
			panic(died(s))
		}
	})
	defer func() {
		switch r := recover().(type) {
		case nil:
		case died:
			dead = true
		default:
			panic(r)
		}
	}()
	if err := c.Report(t.Context(), value(class)); err != nil && !errors.Is(err, client.ErrAnswered) {
		t.Error(err)
	}
	return false
}

// Wherever the program dies, once or at two steps one after the other, the next
// one finishes: one contribution is acknowledged, of one report, for which was
// spent once, and every request had the same body.
func TestACrashNeverSaysTwoThings(t *testing.T) {
	for _, tokens := range []bool{false, true} {
		p, _ := sample(t, "rr", 2, 3)
		s := newService(t, &p, tokens)
		for i, first := range client.Steps {
			seconds := []string{""}
			if !tokens { // which take their time and are asked for between two steps only
				seconds = append(seconds, client.Steps[i:]...)
			}
			for _, second := range seconds {
				s.reset()
				o := device(t, s)
				if !dieAt(t, opened(t, p, o), first, 0) {
					t.Fatalf("did not die at %s", first)
				}
				dieAt(t, opened(t, p, o), second, 1) // another value: what was said stays said
				err := opened(t, p, o).Report(t.Context(), value(1))
				if err != nil && !errors.Is(err, client.ErrAnswered) {
					t.Fatalf("after %s and %s: %v", first, second, err)
				}
				l := ledger(t, o)
				if kept, _, _ := s.counts(); kept != 1 || len(l.Entries) != 1 || l.Entries[0].Parts[0].State != client.Sent || spooled(t, o) != 0 {
					t.Errorf("after %s and %s: %d contributions, %d entries, %d spooled", first, second, kept, len(l.Entries), spooled(t, o))
				}
				bodies := map[string]bool{}
				for _, r := range s.requests {
					bodies[string(r.body)] = true
				}
				want := 1
				if tokens {
					want = 2 // the request for tokens, which is the same each time too
				}
				if len(bodies) != want {
					t.Errorf("after %s and %s: %d bodies were sent", first, second, len(bodies))
				}
			}
		}
	}
}

// Two programs that share a folder say one thing between them.
func TestTwoProgramsAtOnce(t *testing.T) {
	p, _ := sample(t, "rr", 2, 3)
	s := newService(t, &p, false)
	o := device(t, s)
	results := make(chan error)
	for class := range 2 {
		c := opened(t, p, o)
		go func() { results <- c.Report(context.Background(), value(class)) }()
	}
	for range 2 {
		if err := <-results; err != nil && !errors.Is(err, client.ErrAnswered) {
			t.Error(err)
		}
	}
	if kept, _, _ := s.counts(); kept != 1 || len(ledger(t, o).Entries) != 1 || spooled(t, o) != 0 {
		t.Errorf("%d contributions, %d entries, %d spooled", kept, len(ledger(t, o).Entries), spooled(t, o))
	}
}
