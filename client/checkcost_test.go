package client_test

import (
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/protocol/design"
)

// All that a device computes of a plan of 768 bits rests on one envelope and a few convolutions: promise, one opened
// message and ledger ask for the same. With an envelope for each, and a convolution for each point of a profile, there
// were 96 million terms.
func TestACheckFindsEachLawOnce(t *testing.T) {
	p, _ := sample(t, "rr", 1, 768)
	p.Crowd.Minimum = 40_000
	p, err := design.Fill(p)
	if err != nil {
		t.Fatal(err)
	}
	p.Budget.Epsilon *= 1.01
	p.Crowd.Minimum += 400 // whose envelope the design did not ask for
	before := prob.Counted()
	if _, _, err := client.Forecast(p, nil); err != nil {
		t.Fatal(err)
	}
	if terms := prob.Counted() - before; terms > 20_000_000 {
		t.Errorf("%d terms", terms)
	}
}
