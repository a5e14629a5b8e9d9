package analyzerd

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// A hop that demands tokens signs for how many it has seen: a batch of fewer than the plan's minimum is
// refused, whatever the entry says of its respondents.
func TestABatchOfTooFewTokensIsRefused(t *testing.T) {
	key, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Plan{Crowd: plan.Crowd{Minimum: 5}, Route: plan.Route{Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{{Tokens: "rsabssa:key"}}}}}}}
	run := &running{signed: plan.Signed{Plan: p}, receipts: [][]relay.VerifyKey{{key.Public()}}}
	head := envelope.Head{Plan: p.Hash(), Hop: 1, Respondents: 9, Envelopes: 18, Size: 1}
	of := func(tokens uint64) error {
		r := relay.Receipt{Plan: head.Plan, Respondents: head.Respondents, Tokens: tokens, In: head.Envelopes, Out: head.Envelopes}
		return (&Service{}).bornOut(run, []relay.SignedReceipt{r.Sign(key)}, head, [32]byte{})
	}
	if err := of(5); err != nil {
		t.Errorf("of the minimum: %v", err)
	}
	if err := of(4); err == nil || !strings.Contains(err.Error(), "fewer single-use tokens") {
		t.Errorf("of one fewer: %v", err)
	}
}
