package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/question/histogram"
)

func (w *world) ctx() context.Context { return context.Background() }

// forge seals a contribution that says a cell, as whoever knows the plan can;
// where hops demand tokens, it has made-up ones.
func (w *world) forge(cell, instance, crowd int) (client.Sealed, error) {
	pipeline, err := client.New(w.proto, rng.New())
	if err != nil {
		return client.Sealed{}, err
	}
	answer, err := pipeline.Answer(histogram.Answers{Crowd: crowd, Values: []any{cell}}, nil, []int{instance})
	if err != nil {
		return client.Sealed{}, err
	}
	hops := w.signed.Plan.Route.Mix.Instances[instance].Hops
	tokens := make([][]byte, len(hops))
	for h := range tokens {
		if hops[h].Tokens == "" {
			continue
		}
		tokens[h] = make([]byte, token.Size)
		rng.Reader(rng.New()).Read(tokens[h])
	}
	return pipeline.Seal(answer.Crowd, answer.Parts[0], tokens)
}

// hand puts a contribution at its entry's door.
func (w *world) hand(who string, cell int, c client.Sealed, authorization string) {
	id := wire.ContributionID(c.Body)
	w.said[id] = &contribution{plan: w.signed.Plan.Hash(), who: who, cell: cell, instance: c.Instance, crowd: c.Crowd}
	header := http.Header{"Content-Type": {wire.ContributionType}}
	if authorization != "" {
		header.Set("Authorization", authorization)
	}
	x := &parcel{"outside", hopName(int(c.Instance), 0), http.MethodPut, wire.ContributionPath(w.signed.Plan.Hash(), c.Instance, id), header, c.Body}
	if _, err := w.net.send(x); err != nil {
		w.say("%v", err)
	}
}

// second is another contribution of a respondent, with what it showed the first
// time: a bearer token, or a single-use token that it has spent.
func (w *world) second(d int) {
	authorization := "Bearer " + w.ring.bearers[d]
	if w.shape.tokens {
		authorization = ""
		for _, x := range w.net.past {
			if x.from == deviceName(d) {
				authorization = x.header.Get("Authorization")
			}
		}
		if authorization == "" {
			return // it has no token that one could take
		}
	}
	cell := maxDevices + d
	c, err := w.forge(cell, w.instanceOf(d), w.crowdOf(d))
	if err != nil {
		w.broken = errors.Join(w.broken, err)
		return
	}
	w.hand(deviceName(d), cell, c, authorization)
}

// stranger is a contribution of somebody whom no service knows: with nothing to
// show, with something made up, or with what a device showed another plan.
func (w *world) stranger(d int, kind string) {
	cell := 2*maxDevices + d
	c, err := w.forge(cell, w.instanceOf(d), w.crowdOf(d))
	if err != nil {
		w.broken = errors.Join(w.broken, err)
		return
	}
	authorization := ""
	switch kind {
	case "forged":
		made := make([]byte, token.Size)
		rng.Reader(rng.New()).Read(made)
		authorization = tokenwire.Authorization(made)
		if !w.shape.tokens {
			authorization = "Bearer " + strings.Repeat("A", len(w.ring.bearers[0]))
		}
	case "elsewhere": // what is good at another door: a bearer token where a single-use one is wanted
		authorization = tokenwire.Authorization(make([]byte, token.Size))
		if w.shape.tokens {
			authorization = "Bearer " + w.ring.bearers[d]
		}
	}
	w.hand("", cell, c, authorization)
}

// Tokens that nobody has signed count at no hop behind the entry, which takes the one that it asked
// for: a crowd of one respondent and such a forgery does not leave, and the one of two does. A rot
// schedule, seed 1027, came by it and took the hop to be wrong.
func TestTokensThatNobodySigned(t *testing.T) {
	for devices, leaves := range map[int]bool{1: false, 2: true} {
		s := schedule{shape: shape{tokens: true, minimum: 2, devices: maxDevices, crowds: 1, hops: []int{2}}}
		for d := range devices {
			s.events = append(s.events, event{do: "report", who: deviceName(d)})
		}
		// What the last one sends does not arrive, and somebody has its token.
		s.events = append(s.events, event{do: "link", who: hopName(0, 0), at: "cut", n: 1}, event{do: "report", who: deviceName(devices)}, event{do: "second", who: deviceName(devices)})
		w, err := s.run(fmt.Sprint("forged ", devices), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range w.violations {
			t.Error(v)
		}
		taken := 0
		for _, c := range w.said {
			if c.kept {
				taken++
			}
		}
		if taken != devices+1 {
			t.Errorf("the entry has taken %d contributions, and not %d with the forgery", taken, devices+1)
		}
		if left := len(w.sent) == 2; left != leaves { // of the entry, and of the hop behind it
			t.Errorf("with %d respondents %d batches left", devices, len(w.sent))
		}
	}
}
