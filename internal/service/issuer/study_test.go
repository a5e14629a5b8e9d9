package issuer

import (
	"bytes"
	"crypto/ed25519"
	"net/http"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/plan"
)

// A respondent has one token of a study of which it answers one round: which round it is
// for nobody can see, so that tokens of several could all be used in one.
func TestOneTokenAStudy(t *testing.T) {
	w := newWorld(t)
	coordinator := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))
	of := func(takes string) plan.SignedStudy {
		p := w.plan
		p.Title, p.Times = "a study "+takes, plan.Times{}
		mix := *p.Route.Mix
		mix.Instances = []plan.Instance{{Hops: append([]plan.Party(nil), p.Route.Mix.Instances[0].Hops...)}}
		for h := range mix.Instances[0].Hops {
			mix.Instances[0].Hops[h].Tokens = w.newKey(takes + string(rune('0'+h)) + ".json")
		}
		p.Route.Mix = &mix
		s := plan.Study{
			Version: plan.StudyVersion, Plan: p, Rounds: 3, Takes: takes, Withheld: plan.WithheldRepeats, Coordinator: plan.Publisher(coordinator.Public().(ed25519.PublicKey)),
			Times: plan.Times{Opens: opens, Closes: opens.Add(100 * time.Hour)},
		}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		return plan.SignStudy(s, w.publisher)
	}
	study := of(plan.TakesOne)
	round := func(s plan.SignedStudy, number int) plan.Signed {
		begins := opens.Add(time.Duration(number-1) * 10 * time.Hour)
		signed, err := s.Round(number, "", plan.Times{Opens: begins, Closes: begins.Add(10 * time.Hour)}, coordinator)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	register := func(s plan.Signed) *wire.Problem {
		_, _, p := w.do("PUT", wire.PlanPath(s.Plan.Hash()), "", wire.PlanType(s), s.Marshal())
		return p
	}
	versions := func(number int) {
		for i := range 20 {
			begins := opens.Add(time.Duration(number)*10*time.Hour - time.Duration(i+1)*time.Minute)
			signed, err := study.Round(number, "", plan.Times{Opens: begins, Closes: begins.Add(10 * time.Hour)}, coordinator)
			if err != nil {
				t.Fatal(err)
			}
			wants(t, register(signed), wire.PlanRefused, "another version of a round")
		}
	}
	// ask has somebody ask for the token of the entry in a round.
	ask := func(s plan.Signed, who string, seed byte) *wire.Problem {
		key, err := token.ParsePublicKey(s.Plan.Route.Mix.Instances[0].Hops[0].Tokens)
		if err != nil {
			t.Fatal(err)
		}
		request, err := token.NewRequest(token.Seed{seed}, key, token.Context{Plan: s.Plan.Hash()})
		if err != nil {
			t.Fatal(err)
		}
		asks := tokenwire.Request{Asks: []tokenwire.Ask{{Blinded: request.Blinded}}}
		status, body, p := w.do("POST", wire.TokensPath(s.Plan.Hash()), who, wire.TokenRequestType, asks.Marshal())
		if p != nil {
			return p
		}
		answer, err := tokenwire.ParseResponse(body)
		if err != nil || status.StatusCode != http.StatusOK {
			t.Fatal(err)
		}
		if _, err := request.Finish(answer.Answers[0]); err != nil {
			t.Fatal(err)
		}
		return nil
	}
	first, second := round(study, 1), round(study, 2)
	if p := register(first); p != nil {
		t.Fatal(p)
	}
	versions(1)
	w.now = opens.Add(time.Hour)
	if p := ask(first, "alice", 1); p != nil {
		t.Fatal(p)
	}
	if p := register(second); p != nil {
		t.Fatalf("a later round of the study: %v", p)
	}
	for range 2 { // the second time after a restart, long after the first round
		w.now = opens.Add(11 * time.Hour)
		wants(t, ask(second, "alice", 2), wire.TokenIssued, "a second token of one study")
		if p := ask(second, "bob", 3); p != nil {
			t.Errorf("who had none: %v", p)
		}
		w.now = opens.Add(60 * time.Hour) // past the rounds' retention, and not the study's
		if err := w.service.Sweep(); err != nil {
			t.Fatal(err)
		}
		w.restart()
		versions(1) // which is forgotten by now
		versions(2)
	}
	third := round(study, 3)
	w.now = opens.Add(21 * time.Hour)
	if p := register(third); p != nil {
		t.Fatal(p)
	}
	wants(t, ask(third, "bob", 4), wire.TokenIssued, "a second token of one study")
	// Once the study is over, so is all that is known of its respondents.
	w.now = opens.Add(1000 * time.Hour)
	if err := w.service.Sweep(); err != nil {
		t.Fatal(err)
	}
	wants(t, register(third), wire.PlanRefused, "a round of a study that is over")
	w.now = opens
	wants(t, register(round(of(plan.TakesAll), 1)), wire.PlanRefused, "tokens of every round")
}
