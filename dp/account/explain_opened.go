package account

import (
	"fmt"
	"math"
)

// OneMessage is the guarantee at delta against whoever opens a single message of a
// respondent to an event or to its repetition, knows whose it is, and sees all others
// among everybody's. It is an error where only the messages of others hide what a device
// says.
func OneMessage(e Event, delta float64) (Guarantee, error) {
	g, err := statement(e)
	if err != nil {
		return Guarantee{}, err
	}
	fragment, local, reason := unshuffled(e, g.Adjacency)
	if reason != "" {
		return Guarantee{}, fmt.Errorf("account: nothing is promised of one message: %s", reason)
	}
	if r, ok := e.(Repeat); ok {
		return opened(r.Event, r.Rounds, fragment, local, delta), nil
	}
	return opened(e, 1, fragment, local, delta), nil
}

// opened is the guarantee at delta against who opens one message of a respondent to so
// many rounds of an event, knows whose it is, and sees the others among everybody's. The
// message has a loss of its own, and local bounds what everyone together learns.
func opened(e Event, rounds int, fragment float64, local Guarantee, delta float64) Guarantee {
	local.Trust = OneFragment
	g := local
	g.Epsilon, g.Rounds, g.Method = raised(fragment), 1, "loss of one message"
	left := rounds - 1
	bit := e
	switch e := e.(type) {
	case OneHot: // a message shows one bit that changes at most (docs/histograms.md)
		if bit = e.bit(); e.Adjacency == Replacement {
			left = 2*rounds - 1
		}
	case VectorResponse:
		left = rounds // one coordinate too many, which bounds the others
	}
	rest := []Event{}
	if b, ok := e.(BucketResponse); ok { // the other bit of that repetition is shuffled
		rest = append(rest, b.single())
	}
	if left > 0 {
		rest = append(rest, Repeat{bit, left})
	}
	if len(rest) == 0 {
		return g
	}
	shuffled, err := Epsilon(All{rest}, delta)
	if err != nil {
		return local
	}
	joint := shuffled
	joint.Epsilon = addUp(g.Epsilon, shuffled.Epsilon)
	if v, ok := bit.(VectorResponse); ok {
		if e, err := v.besideBit(left, delta); err == nil {
			joint.Epsilon = math.Min(joint.Epsilon, e)
		}
	} else if one := byItself(bit); one != nil {
		if j, err := Epsilon(All{append(rest, one)}, delta); err == nil && j.Epsilon < joint.Epsilon {
			joint = j
		}
	}
	if joint.Epsilon >= local.Epsilon {
		return local
	}
	joint.Adjacency, joint.Trust, joint.Users, joint.Bound = local.Adjacency, OneFragment, shuffled.Users, Upper
	joint.Method = "one message by itself, and the others shuffled: " + shuffled.Method
	return joint
}

// byItself is the event of a respondent whom nobody else hides.
func byItself(e Event) Event {
	switch e := e.(type) {
	case RandomizedResponse:
		e.Users = 1
		return e
	case AsymmetricResponse:
		e.Users = 1
		return e
	case BucketResponse:
		e.Users = 1
		return e.single()
	}
	return nil
}

// besideBit is the epsilon at delta of so many rounds of a vector beside one of its bits
// that is seen by itself, whose gap is a whole bit at most: of randomized response with
// loss L and odds 1-p to p, the hockey stick at epsilon is (1-p) H(epsilon-L) +
// p H(epsilon+L), H the vector's in either direction, for which any bound may stand.
func (e VectorResponse) besideBit(rounds int, delta float64) (float64, error) {
	rest, _, err := e.profile(rounds, options{Neglect: delta * neglect / float64(rounds+1)})
	if err != nil {
		return 0, err
	}
	bit := RandomizedResponse{1, e.Flip}
	return invert(func(epsilon float64) (float64, error) {
		fall, err := rest.Delta(math.Abs(epsilon - bit.local()))
		if err != nil {
			return 0, err
		}
		if x := math.Exp(epsilon - bit.local()); x < 1 {
			fall = 1 - x + x*fall // the hockey stick below zero, by that of the reverse pair
		}
		rise, err := rest.Delta(epsilon + bit.local())
		return ((1-e.Flip)*fall + e.Flip*rise) * (1 + lawError), err
	}, delta)
}
