package client_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// signedPoll is a poll as a device is given it, with what its accountant found once.
type signedPoll struct {
	plan.Signed
	checked []byte
}

// shelf is a client.Store in memory.
type shelf struct {
	kept  map[string][]byte
	stamp map[string]int
}

func newShelf() *shelf { return &shelf{map[string][]byte{}, map[string]int{}} }

func (s *shelf) Lock() (func(), error) { return func() {}, nil }

func (s *shelf) Load(name string) ([]byte, error) {
	if data, there := s.kept[name]; there {
		return bytes.Clone(data), nil
	}
	return nil, fs.ErrNotExist
}

func (s *shelf) Append(name string, at int, data []byte) error {
	before, there := s.kept[name]
	if !there {
		return fs.ErrNotExist
	}
	return s.Replace(name, append(before[:at:at], data...))
}

func (s *shelf) Replace(name string, data []byte) error {
	s.kept[name] = bytes.Clone(data)
	s.stamp[name]++
	return nil
}

func (s *shelf) Remove(name string) error { delete(s.kept, name); return nil }

func (s *shelf) List() (map[string]int64, error) {
	all := map[string]int64{}
	for name, data := range s.kept {
		all[name] = int64(len(data))
	}
	return all, nil
}

func (s *shelf) Stamp(name string) (any, error) {
	if _, there := s.kept[name]; !there {
		return nil, fs.ErrNotExist
	}
	return s.stamp[name], nil
}

// polls are all that a device may be asked in a life: plans by themselves, and studies of
// randomized response and of fragments. They are signed and accounted for once.
func polls(t testing.TB) (all []poll) {
	t.Helper()
	add := func(p poll, signed plan.Signed) {
		store := newShelf()
		c, err := client.Open(signed, client.Options{Store: store, Transport: carrier{}, Publishers: trusted, Program: "model"})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		p.signed = signedPoll{signed, store.kept["checked"]}
		all = append(all, p)
	}
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, kind := range []struct {
		name          string
		epsilon       float64
		alone, joined int
		rounds        int
	}{{"one", 1, 4, 3, 4}, {"half", 0.5, 3, 1, 3}, {"torn", 0, 4, 2, 4}} {
		for i := range kind.alone + kind.joined + 1 {
			p := poll{name: fmt.Sprintf("%s %d", kind.name, i), epsilon: kind.epsilon}
			asks := torn(t, p.name)
			if kind.epsilon > 0 {
				asks = binary(t, p.name, kind.epsilon)
			}
			for h := range asks.Route.Mix.Instances[0].Hops {
				asks.Route.Mix.Instances[0].Hops[h].URL = "https://hop.example"
			}
			var err error
			if p.one, _, err = client.Forecast(asks, nil); err != nil {
				t.Fatal(err)
			}
			if i < kind.alone {
				add(p, sign(asks))
				continue
			}
			takes := plan.TakesAll
			if p.takesOne = i == kind.alone+kind.joined; p.takesOne {
				takes = plan.TakesOne
			}
			of := study(asks, kind.rounds, takes)
			of.Study.Times = plan.Times{Opens: start.AddDate(-1, 0, 0), Closes: start.AddDate(1, 0, 0)}
			of = plan.SignStudy(of.Study, publisher)
			for number := 1; number <= kind.rounds; number++ {
				one := p
				one.name, one.study, one.rounds, one.number = fmt.Sprintf("%s, round %d", p.name, number), p.name, kind.rounds, number
				add(one, round(t, of, number, 0))
			}
		}
	}
	return all
}

var trusted = plan.Trust(plan.Publisher(publisher.Public().(ed25519.PublicKey)))

// carrier is a client.Transport to services that are away, that take everything, or that say
// that the plan was withdrawn.
type carrier struct {
	takes     bool
	withdrawn []byte
}

func (c carrier) Do(_ context.Context, r client.Request) (client.Response, error) {
	w := httptest.NewRecorder()
	switch {
	case c.withdrawn != nil && r.Method == "GET":
		w.Write(c.withdrawn)
	case c.withdrawn != nil:
		web.WriteProblem(w, wire.Problemf(wire.PlanWithdrawn, "so it says"))
	case c.takes:
		w.WriteHeader(201)
	default:
		return client.Response{}, errors.New("away")
	}
	return client.Response{Status: w.Code, Type: w.Header().Get("Content-Type"), Body: io.NopCloser(w.Body)}, nil
}
