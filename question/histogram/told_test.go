package histogram_test

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// A message says which value it names, of bits and of one symbol, and nothing where it names none.
func TestMessagesAreTold(t *testing.T) {
	for name, want := range map[string]string{"one-hot": "drink: tea", "krr": "drink: tea", "subset": ""} {
		p := example.Histogram(plan.Histogram{Attributes: []plan.Attribute{example.Drinks()}, Randomizer: plan.Randomizer{Name: name, Accounting: "exact"}})
		p.Budget.Adjacency = "replacement"
		q, err := histogram.New(example.Design(t, p))
		if err != nil {
			t.Fatal(name, err)
		}
		cell := uint32(1)
		if asked := example.Drinks().Values; asked[cell] != "tea" {
			t.Fatalf("the second drink is %q", asked[cell])
		}
		said := tally.NewMessages(2)
		said.Say(cell, 0)
		said.Say(1000, 0)
		if got := q.Tell(said.Bodies[0]); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if got := q.Tell(said.Bodies[1]); got != "" {
			t.Errorf("%s: a channel beyond all says %q", name, got)
		}
	}
}
