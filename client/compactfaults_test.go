package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// dyingStore is a store whose program dies at one write of a name, having written some of it.
type dyingStore struct {
	*shelf
	at   int // the write that it dies at, from 1 on
	torn int // bytes of an append that are there; -1: all
}

func (s *dyingStore) dies() bool {
	s.at--
	return s.at <= 0
}

func (s *dyingStore) Append(name string, at int, data []byte) error {
	if !s.dies() {
		return s.shelf.Append(name, at, data)
	}
	if s.at == 0 {
		some := len(data)
		if s.torn >= 0 {
			some = min(s.torn, some)
		}
		if err := s.shelf.Append(name, at, data[:some]); err != nil {
			return err
		}
	}
	return errDied
}

func (s *dyingStore) Replace(name string, data []byte) error {
	if !s.dies() {
		return s.shelf.Replace(name, data)
	}
	if s.at == 0 && s.torn < 0 { // it is whole, and nobody was told
		if err := s.shelf.Replace(name, data); err != nil {
			return err
		}
	}
	return errDied
}

func (s *dyingStore) Remove(name string) error {
	if !s.dies() {
		return s.shelf.Remove(name)
	}
	if s.at == 0 && s.torn < 0 {
		s.shelf.Remove(name)
	}
	return errDied
}

// copied is a store with the same in it.
func (s *shelf) copied() *shelf {
	c := newShelf()
	for name, data := range s.kept {
		c.kept[name] = bytes.Clone(data)
	}
	return c
}

// Wherever a program dies that answers, and compacts the ledger meanwhile, every charge of
// before is there, that of the answer is if it was sent, and the next program goes on.
func TestACompactionThatDiesKeepsEveryCharge(t *testing.T) {
	all := polls(t)
	asked := all[:3]
	options := func(store client.Store, services carrier) client.Options {
		return client.Options{Store: store, Transport: services, Publishers: trusted, Program: "model", Delay: client.NoDelay, LedgerBytes: 1,
			Caps: client.Caps{Plan: client.Cap{Epsilon: 100}}, Now: func() time.Time { return time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC) }}
	}
	answer := func(p poll, o client.Options) error {
		c, err := client.Open(p.signed.Signed, o)
		if err != nil {
			return err
		}
		defer c.Close()
		return c.Report(t.Context(), drink("tea"))
	}
	start := newShelf()
	if err := client.Consent(start, true); err != nil {
		t.Fatal(err)
	}
	for _, p := range asked[:2] {
		start.kept["checked"] = p.signed.checked
		if err := answer(p, options(start, carrier{takes: true})); err != nil {
			t.Fatal(err)
		}
	}
	before, err := client.ReadLedger(start)
	if err != nil || len(before.Entries) != 2 {
		t.Fatal(err)
	}
	start.kept["checked"] = asked[2].signed.checked
	deaths := 0
	for _, torn := range []int{-1, 0, 1, 20} {
		for at := 1; ; at++ {
			kept := start.copied()
			store := &dyingStore{kept, at, torn}
			if err := answer(asked[2], options(store, carrier{takes: true})); err == nil && store.at > 0 {
				break
			}
			deaths++
			l, err := client.ReadLedger(kept)
			if err != nil || len(l.Entries) < 2 || len(l.Entries) > 3 {
				t.Fatalf("died at write %d, torn at %d: %v", at, torn, err)
			}
			first := *l
			first.Entries = l.Entries[:2]
			if err := client.Lost(before, &first); err != nil {
				t.Fatalf("died at write %d, torn at %d: %v", at, torn, err)
			}
			if err := answer(asked[2], options(kept, carrier{takes: true})); err != nil && !errors.Is(err, client.ErrAnswered) {
				t.Fatalf("died at write %d, torn at %d, and then: %v", at, torn, err)
			}
			if l, err = client.ReadLedger(kept); err != nil || len(l.Entries) != 3 || l.Entries[2].Waiting() {
				t.Fatalf("died at write %d, torn at %d, and then: %+v, %v", at, torn, l, err)
			}
			for _, p := range asked {
				kept.kept["checked"] = p.signed.checked
				if err := answer(p, options(kept, carrier{takes: true})); !errors.Is(err, client.ErrAnswered) {
					t.Errorf("died at write %d, torn at %d: %s is answered twice: %v", at, torn, p.name, err)
				}
			}
		}
	}
	if deaths < 40 {
		t.Errorf("%d deaths test little", deaths)
	}
}

// BenchmarkAnswer is an answer on a device that has answered so many plans, in a program that
// starts for it: the ledger is read, the answer written down, sealed, sent and marked, all of
// it on disk. The plan was checked before.
func BenchmarkAnswer(b *testing.B) {
	all := polls(b)
	for _, plans := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("plans=%d", plans), func(b *testing.B) {
			store := native.Folder{Path: b.TempDir() + "/device"}
			at, err := client.Earlier(b, store, plans)
			if err != nil {
				b.Fatal(err)
			}
			ledger, err := store.Load("ledger")
			if err != nil {
				b.Fatal(err)
			}
			p := all[0]
			if err := store.Replace("checked", p.signed.checked); err != nil {
				b.Fatal(err)
			}
			before := costlimit.Used(b)
			spent := before
			for b.Loop() {
				c, err := client.Open(p.signed.Signed, client.Options{Store: store, Transport: carrier{takes: true}, Publishers: trusted, Program: "model", Delay: client.NoDelay,
					Caps: client.Caps{Plan: client.Cap{Epsilon: 100}, Window: client.Cap{Epsilon: 100, Delta: 1e-3}, Period: 30 * 24 * time.Hour}, Now: func() time.Time { return at }})
				if err == nil {
					err = c.Report(b.Context(), drink("tea"))
				}
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				begun := costlimit.Used(b)
				if err := errors.Join(store.Remove("ledger.end"), store.Replace("ledger", ledger)); err != nil {
					b.Fatal(err)
				}
				spent += costlimit.Used(b) - begun
				b.StartTimer()
			}
			b.ReportMetric(float64((costlimit.Used(b)-spent).Microseconds())/1e3/float64(b.N), "processor-ms/op")
		})
	}
}
