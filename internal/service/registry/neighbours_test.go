package registry

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// A neighbour is asked about one crowd after the other, on its leg, until an answer shows an older
// copy or there is none.
func TestANeighbourIsAsked(t *testing.T) {
	var asked []string
	refuses := 9
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if len(asked) > refuses {
			web.WriteProblem(w, wire.Problemf(wire.UnknownPlan, "no"))
			return
		}
		_ = serve.WriteJSON(w, handover.Held{Received: fmt.Sprintf("%064x", len(asked))})
	}))
	defer server.Close()
	leg := wire.Leg{Plan: [32]byte{1}, Instance: 2, Hop: 3}
	n := Neighbour{URL: server.URL, Leg: leg}
	older, heard := errors.New("older"), []string{}
	for _, c := range []struct {
		refuses, older, asked int
		heard                 int
	}{{9, 9, 3, 3}, {9, 1, 2, 2}, {1, 9, 2, 1}, {0, 9, 1, 0}} {
		asked, heard, refuses = nil, nil, c.refuses
		reached, err := n.Compare(t.Context(), server.Client(), 3, func(crowd int, held handover.Held) error {
			if heard = append(heard, held.Received); crowd == c.older {
				return older
			}
			return nil
		})
		if !reached || errors.Is(err, older) != (c.older == 1) || len(asked) != c.asked || len(heard) != c.heard {
			t.Errorf("%+v: %v, %v, asked %d, heard %d", c, reached, err, len(asked), len(heard))
		}
		for crowd, path := range asked {
			if want := wire.BatchPath(leg.Plan, leg.Instance, leg.Hop, uint32(crowd)); path != want {
				t.Errorf("asked %s, want %s", path, want)
			}
		}
	}
}

// One that is out of reach shows nothing, and is not asked again for a minute.
func TestASilentNeighbourIsLeftAlone(t *testing.T) {
	var asked atomic.Int32
	client := &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
		asked.Add(1)
		return nil, errors.New("nobody is there")
	})}
	n := Neighbour{URL: "https://hop.example"}
	for range 3 {
		if reached, err := n.Compare(t.Context(), client, 2, func(int, handover.Held) error { return errors.New("heard") }); reached || err != nil {
			t.Errorf("%v, %v", reached, err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	n.silent = n.silent.Add(-time.Minute)
	if _, err := n.Held(t.Context(), client, 0); err == nil || asked.Load() != 2 {
		t.Errorf("a minute later: asked %d times, %v", asked.Load(), err)
	}
	for _, nowhere := range []*Neighbour{{}, {URL: "https://hop.example"}} {
		client := client
		if nowhere.URL != "" {
			client = nil
		}
		if reached, err := nowhere.Compare(t.Context(), client, 1, nil); reached || err != nil {
			t.Errorf("nobody to ask: %v, %v", reached, err)
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// All plans are compared, whatever one of them shows.
func TestAllPlansAreCompared(t *testing.T) {
	var compared atomic.Int32
	older := errors.New("older")
	err := CompareAll(make([]int, 40), func(int) error {
		if compared.Add(1) == 3 {
			return older
		}
		return nil
	})
	if !errors.Is(err, older) || compared.Load() != 40 {
		t.Errorf("%d, %v", compared.Load(), err)
	}
}
