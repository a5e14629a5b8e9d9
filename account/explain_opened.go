package account

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
)

// OneMessage returns the guarantee at delta against whoever opens a single message of a
// respondent to an event or to its repetition, knows whose it is, and sees all others
// among everybody's. It is an error where only the messages of others hide what a device
// says.
func OneMessage(e Event, delta float64) (Guarantee, error) {
	g, err := statement(e)
	if err != nil {
		return Guarantee{}, err
	}
	sent, local := unshuffled(e, g.Adjacency)
	if sent.Reason != "" {
		return Guarantee{}, fmt.Errorf("account: nothing is promised of one message: %s", sent.Reason)
	}
	return opened(e, sent.Message, local, delta), nil
}

// opened returns the guarantee at delta against who opens one message of a respondent to an
// event or to its repetition, knows whose it is, and sees the others among everybody's. The
// message has a loss of its own, and local bounds what everyone together learns.
func opened(e Event, message float64, local Guarantee, delta float64) Guarantee {
	local.Trust = OneFragment
	g := local
	g.Epsilon, g.Rounds, g.Method = profile.Raised(message), 1, "loss of one message"
	one, rounds := split(e)
	rest, alone := beside(one, rounds)
	if len(rest) == 0 {
		return g
	}
	shuffled, err := Epsilon(All{rest}, delta)
	if err != nil {
		return local
	}
	joint := shuffled
	joint.Epsilon = profile.AddUp(g.Epsilon, shuffled.Epsilon)
	if c, ok := one.(companion); ok {
		if e, err := c.BesideMessage(rounds, delta); err == nil {
			joint.Epsilon = math.Min(joint.Epsilon, e)
		}
	} else if alone != nil {
		if j, err := Epsilon(All{append(rest, alone)}, delta); err == nil && j.Epsilon < joint.Epsilon {
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

// beside returns what stays shuffled of so many rounds of which one message is opened, and the
// event of that message alone if there is one.
func beside(e Event, rounds int) (rest []Event, alone Event) {
	if o, ok := e.(openable); ok {
		return o.Opened(rounds)
	}
	return less(e, rounds), nil
}

// less returns so many rounds of an event but for one; nil where none is left.
func less(e Event, rounds int) []Event {
	if rounds < 2 {
		return nil
	}
	return []Event{Repeat{e, rounds - 1}}
}
