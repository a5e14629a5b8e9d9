package account

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
	if left == 0 {
		return g
	}
	rest := Repeat{bit, left}
	joint, err := Epsilon(rest, delta)
	if err != nil {
		return local
	}
	shuffled := joint
	if one := byItself(bit); one != nil {
		joint, err = Epsilon(All{[]Event{one, rest}}, delta)
	} else {
		joint.Epsilon = addUp(g.Epsilon, joint.Epsilon)
	}
	if err != nil || joint.Epsilon >= local.Epsilon {
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
	}
	return nil
}
