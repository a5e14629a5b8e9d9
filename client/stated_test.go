package client_test

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// The ledger states what the plan promises against each observer, in the plan's own
// neighbours, and of a study whose rounds are all answered what they tell together.
func TestTheLedgerStatesWhatThePlanPromises(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	signed := round(t, study(p, 3, plan.TakesAll), 1, 0)
	proto, err := protocol.New(signed.Plan)
	if err != nil {
		t.Fatal(err)
	}
	promise, err := proto.Promise()
	if err != nil {
		t.Fatal(err)
	}
	all, err := proto.Composed(promise, *signed.Study)
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	want := append(promise.Statements, all...)
	o := device(t, s)
	if err := answerRound(t, signed, o, signed.Plan.Times.Opens.Add(1)); err != nil {
		t.Fatal(err)
	}
	got := ledger(t, o).Entries[0].Statements
	if len(got) != len(want) || got[len(got)-1].Observer != account.AllRoundsSeen {
		t.Fatalf("%+v", got)
	}
	for i, g := range got {
		w := want[i]
		w.Who, w.Guarantee.Source, w.Guarantee.Certified = "", "", ""
		if g != w {
			t.Errorf("the ledger states %+v, the plan promises %+v", g, w)
		}
	}
}
