package audit

import (
	"bytes"
	"math"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
)

// form is what anybody sees of a contribution: how many envelopes there are and how long they
// are, or how many numbers a vector has.
type form struct{ parts, payloads, bytes, numbers int }

// order is how a device's messages lie among the payloads of its first part, which whoever opens all of them sees.
type order struct {
	messages    int
	first, last bool // whether there is a message, and no dummy
	rising      int  // the sign of how the last message compares with the first, as bytes do
}

// formOf looks at the outside of an answer, and orderOf at its inside.
func formOf(a client.Answer) (f form) {
	f.parts = len(a.Parts)
	for _, part := range a.Parts {
		f.payloads += len(part.Payloads)
		f.numbers += len(part.Vector)
		for _, p := range part.Payloads {
			f.bytes += len(p)
		}
	}
	return f
}

func orderOf(a client.Answer) (o order, err error) {
	var ends [2][]byte
	payloads := a.Parts[0].Payloads
	for i, payload := range payloads {
		body, err := fragment.Unpack(payload)
		if err != nil {
			return o, err
		}
		o.first = o.first || i == 0 && body != nil
		o.last = i == len(payloads)-1 && body != nil
		if body == nil {
			continue
		}
		if ends[1] = body; o.messages == 0 {
			ends[0] = body
		}
		o.messages++
	}
	o.rising = bytes.Compare(ends[1], ends[0])
	return o, nil
}

// shape is what an attacker knows of the outside and of the order of what devices hand in, who has
// tried them with either record.
type shape struct {
	forms   [2]map[form]float64
	orders  [2]map[order]float64
	numbers [2]map[int]float64 // of messages
	tries   float64
}

// tryShape lets a device answer with either record, many times.
func (g *leg) tryShape(d device) (*shape, error) {
	s := &shape{tries: float64(max(100, min(2000, 200_000/g.work())))}
	for who := range 2 {
		s.forms[who], s.orders[who], s.numbers[who] = map[form]float64{}, map[order]float64{}, map[int]float64{}
		for range int(s.tries) {
			a, err := d.reply(g.holds[who])
			if err != nil {
				return nil, err
			}
			o, err := orderOf(a)
			if err != nil {
				return nil, err
			}
			s.forms[who][formOf(a)]++
			s.orders[who][o]++
			s.numbers[who][o.messages]++
		}
	}
	return s, nil
}

// ofForm returns the logarithm of the likelihood ratio of an outside: none where tries do not tell the
// records apart.
func (s *shape) ofForm(f form) float64 {
	return rates{s.forms[0][f], s.forms[1][f], s.tries, s.tries}.log()
}

// ofOrder returns that of an order, given how many messages there are.
func (s *shape) ofOrder(o order) float64 {
	return rates{s.orders[0][o], s.orders[1][o], s.numbers[0][o.messages], s.numbers[1][o.messages]}.log()
}

// rates are how often something was seen among so many tries of either record.
type rates struct{ first, second, ofFirst, ofSecond float64 }

// log returns the logarithm of the ratio, zero where it may be chance: within four deviations.
func (r rates) log() float64 {
	if r.ofFirst == 0 || r.ofSecond == 0 {
		return 0
	}
	p := (r.first + r.second) / (r.ofFirst + r.ofSecond)
	if math.Abs(r.second/r.ofSecond-r.first/r.ofFirst) <= 4*math.Sqrt(p*(1-p)*(1/r.ofFirst+1/r.ofSecond)) {
		return 0
	}
	return math.Log((r.second+0.5)/(r.ofSecond+1)) - math.Log((r.first+0.5)/(r.ofFirst+1))
}
