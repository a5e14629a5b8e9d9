package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/plan"
)

var errDied = errors.New("died")

// dyingAt answers with the value in a program that dies at the step.
func dyingAt(t *testing.T, p plan.Plan, o client.Options, step string, class int) error {
	t.Helper()
	o.Failpoint = func(name string) error {
		if name == step {
			return errDied
		}
		return nil
	}
	return opened(t, p, o).Report(t.Context(), value(class))
}

// Wherever the program dies, once or at two steps one after the other, the next
// one finishes: one contribution is acknowledged, of one report, for which was
// spent once, and every request had the same body.
func TestACrashNeverSaysTwoThings(t *testing.T) {
	for _, tokens := range []bool{false, true} {
		p, _ := sample(t, "rr", 2, 3)
		s := newService(t, &p, tokens)
		for i, first := range client.Failpoints {
			seconds := []string{""}
			if !tokens { // which take their time and are asked for between two steps only
				seconds = append(seconds, client.Failpoints[i:]...)
			}
			for _, second := range seconds {
				s.reset()
				o := device(t, s)
				if err := dyingAt(t, p, o, first, 0); !errors.Is(err, errDied) {
					t.Fatalf("did not die at %s: %v", first, err)
				}
				// Another value: what was said stays said.
				if err := dyingAt(t, p, o, second, 1); err != nil && !errors.Is(err, errDied) && !errors.Is(err, client.ErrAnswered) {
					t.Fatalf("after %s, dying at %q: %v", first, second, err)
				}
				err := opened(t, p, o).Report(t.Context(), value(1))
				if err != nil && !errors.Is(err, client.ErrAnswered) {
					t.Fatalf("after %s and %s: %v", first, second, err)
				}
				l := ledger(t, o)
				if kept, _, _ := s.counts(); kept != 1 || len(l.Entries) != 1 || l.Entries[0].Parts[0].Status != client.Sent || spooled(t, o) != 0 {
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
