package client_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
)

// A device gives its answer up for the word of a publisher who has signed the plan, at
// the entry as at the issuer, and for nothing else that a service says. What the answer
// cost stays spent.
func TestADeviceStopsForItsPublishersWordAlone(t *testing.T) {
	for name, tokens := range map[string]bool{"the entry says it": false, "the issuer says it": true} {
		t.Run(name, func(t *testing.T) {
			p, _ := sample(t, "rr", 1, 2)
			s := newService(t, &p, tokens)
			word := func(p plan.Plan, key ed25519.PrivateKey) []byte {
				w, err := plan.Withdraw(plan.Withdrawal{Plan: p.Hash(), At: time.Now(), Reason: "the question was misleading"}, key)
				if err != nil {
					t.Fatal(err)
				}
				return w.Marshal()
			}
			s.setFail(func(r *http.Request) error {
				if r.Method != http.MethodGet {
					return wire.Problemf(wire.PlanWithdrawn, "so it says")
				}
				return nil
			})
			other := p
			other.Title += "?"
			changed := bytes.Replace(word(p, publisher), []byte("misleading"), []byte("misspelled"), 1)
			o := device(t, s)
			c := opened(t, p, o)
			show := func(text []byte) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.withdrawal = text
			}
			err := c.Report(t.Context(), density.Labelled{Features: []float32{1, 0, 0}, Class: 1})
			for what, text := range map[string][]byte{
				"nothing":            nil,
				"a stranger's word":  word(p, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))),
				"of another plan":    word(other, publisher),
				"one with a changed": changed,
				"the plan itself":    sign(p).Marshal()[:plan.MaxWithdrawalBytes/4],
			} {
				if _, waits := errors.AsType[*client.WaitingError](err); !waits || !strings.Contains(err.Error(), "does not show its publisher's word") {
					t.Errorf("before %s: %v", what, err)
				}
				show(text)
				err = c.Deliver(t.Context())
			}
			if _, waits := errors.AsType[*client.WaitingError](err); !waits {
				t.Error("at last: ", err)
			}
			show(word(p, publisher))
			err = c.Deliver(t.Context())
			if dropped, ok := errors.AsType[*client.DroppedError](err); !ok || !strings.Contains(dropped.Reason, "withdrawn by its publisher") || !strings.Contains(dropped.Reason, "misleading") {
				t.Errorf("with the publisher's word: %v", err)
			}
			l := ledger(t, o)
			if len(l.Entries) != 1 || l.Entries[0].Charge.Epsilon <= 0 || l.Entries[0].Parts[0].Status != client.Dropped {
				t.Errorf("the ledger says %+v", l.Entries)
			}
			s.setFail(nil)
			if err := c.Report(t.Context(), density.Labelled{Features: []float32{1, 0, 0}, Class: 1}); !errors.Is(err, client.ErrAnswered) {
				t.Errorf("answered again: %v", err)
			}
			if kept, _, _ := s.counts(); kept > 0 {
				t.Error("it was sent")
			}
		})
	}
}

// A plan of several publishers is answered if enough of them are trusted, and withdrawn
// by one.
func TestADeviceCountsPublishers(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	p.Signatures = 2
	s := newService(t, &p, false)
	second := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	both, err := sign(p).Sign(second)
	if err != nil {
		t.Fatal(err)
	}
	o := device(t, s)
	if _, err := client.Open(both, o); err == nil || !strings.Contains(err.Error(), "signatures of 2 publishers") {
		t.Errorf("one trusted publisher is enough: %v", err)
	}
	o.Publishers = plan.Trust(both.Signers()...)
	if _, err := client.Open(sign(p), o); err == nil {
		t.Error("one signature is enough")
	}
	c, err := client.Open(both, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	o.Publishers.Keys[0].Revoked = time.Now()
	if _, err := client.Open(both, o); err == nil || !strings.Contains(err.Error(), "revoked as of") {
		t.Errorf("a revoked key counts: %v", err)
	}
}
