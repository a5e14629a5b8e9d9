package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// What the issuer refuses for good costs nothing: nothing was drawn, and the right credential answers afterwards.
func TestAWrongCredentialCostsNothing(t *testing.T) {
	for code, want := range map[wire.Code]error{wire.Unauthenticated: client.ErrCredential, wire.TokenIssued: client.ErrCredential, wire.EpochOver: client.ErrClosed} {
		p, _ := sample(t, "rr", 1, 2)
		s := newService(t, &p, true)
		o := device(t, s)
		o.Delay = client.NoDelay
		s.setFail(func(*http.Request) error { return wire.Problemf(code, "no") })
		c := opened(t, p, o)
		var waiting *client.WaitingError
		if err := c.Report(t.Context(), value(1)); !errors.Is(err, want) || errors.As(err, &waiting) || !strings.Contains(err.Error(), string(code)) {
			t.Errorf("%s: %v", code, err)
		}
		if n := len(ledger(t, o).Entries); n != 0 {
			t.Errorf("%s: %d answers are in the ledger", code, n)
		}
		s.setFail(nil)
		if err := c.Report(t.Context(), value(1)); err != nil {
			t.Errorf("%s: with the right one: %v", code, err)
		}
	}
}

// An issuer that has no room, or is away, keeps nobody from answering: the answer waits. What it asks again are the
// same tokens, and where all goes well they are asked for once.
func TestABusyIssuerKeepsNobodyFromAnswering(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, true)
	o := device(t, s)
	o.Delay = client.NoDelay
	s.setFail(func(*http.Request) error { return wire.Problemf(wire.Overloaded, "no") })
	var waiting *client.WaitingError
	c := opened(t, p, o)
	if err := c.Report(t.Context(), value(1)); !errors.As(err, &waiting) || !errors.Is(err, client.ErrFull) {
		t.Errorf("%v", err)
	}
	s.setFail(nil)
	if err := c.Deliver(t.Context()); err != nil {
		t.Error(err)
	}
	asked := func() (n int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, r := range s.requests {
			if strings.HasSuffix(r.path, "/tokens") {
				n++
			}
		}
		return n
	}
	p, _ = sample(t, "rr", 1, 2)
	s = newService(t, &p, true)
	o = device(t, s)
	o.Delay = client.NoDelay
	if err := opened(t, p, o).Report(t.Context(), value(1)); err != nil || asked() != 1 {
		t.Errorf("%v; %d requests for tokens", err, asked())
	}
}

// A value that is not asked about, and a plan that was answered, ask nobody for tokens.
func TestTokensAreAskedForWhereThePlanWouldBeAnswered(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, true)
	o := device(t, s)
	o.Delay = client.NoDelay
	c := opened(t, p, o)
	if err := c.Report(t.Context(), client.Answers{"nothing": "of the kind"}); err == nil {
		t.Error("an answer of another name is taken")
	}
	if err := client.Consent(o.Store, false); err != nil {
		t.Fatal(err)
	}
	if err := c.Report(t.Context(), value(1)); !errors.Is(err, client.ErrNotOptedIn) {
		t.Errorf("%v", err)
	}
	if _, requests, _ := s.counts(); requests > 0 {
		t.Errorf("%d requests were made", requests)
	}
}

// Who is not trusted is an error of its own.
func TestAnUntrustedPublisher(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	o.Publishers = plan.Trust("ed25519:bm90IGEga2V5LCBhbiBleGFtcGxlIG9mIGEga2V5IQ")
	if _, err := client.Open(sign(p), o); !errors.Is(err, plan.ErrUntrusted) {
		t.Errorf("%v", err)
	}
	if _, err := client.Fetch(t.Context(), s.URL, p.Hash(), o); !errors.Is(err, plan.ErrUntrusted) {
		t.Errorf("fetched: %v", err)
	}
}
