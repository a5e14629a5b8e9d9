package account

import (
	"fmt"
	"math"
)

// A View is what one kind of observer sees of a mechanism and what bounds what
// they learn from it.
type View struct {
	Observer  string     // who
	Sees      string     // what, in a sentence
	Guarantee *Guarantee // nil: nothing is promised against this observer
	Reason    string     // why nothing is promised
}

// Posterior is the most that a probability may rise to: an observer holds a
// statement about one respondent for true with probability prior in [0, 1], all
// other respondents' data given, and looks. By Bayes the odds are multiplied by
// a likelihood ratio, which is at most e^Epsilon if Delta is zero.
//
// With a positive Delta it is the bound for the following observer, than whom
// none does better (Kairouz, Oh, Viswanath 2015): with probability Delta told the
// truth, otherwise shown an answer whose likelihood ratio is at most e^Epsilon.
//
// A statement about a record is compared with other records in its place, so that a
// removal guarantee counts as the replacement that follows from it.
func (g Guarantee) Posterior(prior float64) float64 {
	epsilon := g.Epsilon
	if h, ok := g.asReplacement(); ok {
		epsilon = h.Epsilon
	}
	return prior / (prior + (1-prior)*math.Exp(-epsilon))
}

// Explain lists who may look at an event, or at its repetition, from those who
// see most to those who see least, each with its guarantee at delta.
func Explain(e Event, delta float64) ([]View, error) {
	g, err := Epsilon(e, delta)
	if err != nil {
		return nil, err
	}
	one, rounds := e, 1
	if r, ok := e.(Repeat); ok {
		one, rounds = r.Event, r.Rounds
	}
	if g.Trust == Central {
		return []View{
			{Observer: "the curator", Sees: "every record as it is, before any noise.", Reason: "the curator is trusted with the data themselves"},
			reader(g),
		}, nil
	}
	fragment, local, reason := unshuffled(e, g.Adjacency)
	all := View{Observer: EveryoneColludes, Sees: "which messages are yours, all of them, opened.", Reason: reason}
	single := View{Observer: OneFragmentSeen, Sees: "a single one of your messages, opened, that it is yours, and the opened messages of everybody.", Reason: reason}
	if reason == "" {
		piece := opened(one, rounds, fragment, local, delta)
		all.Guarantee, single.Guarantee = &local, &piece
	}
	return []View{all, single, shuffled(g), reader(g)}, nil
}

// Explain lists who may look at report fragments, as the function Explain does.
func (f Fragments) Explain(delta float64) ([]View, error) {
	g, err := f.Central(delta)
	if err != nil {
		return nil, err
	}
	all, err := f.Exposed(f.Tau)
	if err != nil {
		return nil, err
	}
	one := all
	if f.Tau > 1 {
		if one, err = Epsilon(f.oneHot(1), delta); err != nil {
			return nil, err
		}
		one.Adjacency = f.Adjacency
	}
	one.Trust = OneFragment
	return []View{
		{Observer: EveryoneColludes, Sees: fmt.Sprintf("all %d of your fragments, opened, and that they are yours.", f.Tau), Guarantee: &all},
		{Observer: OneFragmentSeen, Sees: "a single one of your fragments, opened, that it is yours, and the opened fragments of everybody: what one colluding instance of the shuffler and the analyzer have.", Guarantee: &one},
		shuffled(g), reader(g),
	}, nil
}

func shuffled(g Guarantee) View {
	return View{Observer: ShufflerHonest, Sees: "the opened messages of everybody, and not whose they are: at least one hop keeps its permutation to itself.", Guarantee: &g}
}

// reader has what follows from a guarantee whatever is computed from it.
func reader(g Guarantee) View {
	return View{Observer: "reader of the release", Sees: "what is published: computed from the above, so it says no more.", Guarantee: &g}
}

// unshuffled is what everyone together learns of what one respondent sends to an event or to
// its repetition, under that adjacency, with the loss of one of the messages; or the
// reason why nothing is promised.
func unshuffled(e Event, adjacency Adjacency) (fragment float64, local Guarantee, reason string) {
	one, rounds := e, 1
	if r, ok := e.(Repeat); ok {
		one, rounds = r.Event, r.Rounds
	}
	report, fragment, reason := respondent(one)
	local = Guarantee{
		Epsilon: raised(report * float64(rounds)), Adjacency: adjacency, Trust: Local, Users: 1, Rounds: rounds,
		Bound: Exact, Method: "sum of the losses of one respondent's messages", Source: "basic composition; one respondent's own randomness",
	}
	switch one.(type) {
	case AnyRandomizer, VectorResponse:
		local.Bound = Upper
	}
	return fragment, local, reason
}

// ownLosses bounds the epsilon of an event by what one respondent's own messages tell,
// whoever else hides them: shuffling is post-processing. With so little noise that a
// grid of losses e^20 and more apart has no digits left it is the better bound.
func ownLosses(e Event) (epsilon float64, ok bool) {
	switch e := e.(type) {
	case Repeat:
		one, ok := ownLosses(e.Event)
		return raised(one * float64(e.Rounds)), ok
	case All:
		for _, one := range e.Events {
			x, ok := ownLosses(one)
			if !ok {
				return 0, false
			}
			epsilon = addUp(epsilon, x)
		}
		return epsilon, true
	}
	report, _, reason := respondent(e)
	return raised(report), reason == ""
}

// respondent is the local loss of one respondent's report, and of one of its
// messages, or the reason why there is none.
func respondent(e Event) (report, fragment float64, reason string) {
	switch e := e.(type) {
	case RandomizedResponse:
		return e.local(), e.local(), ""
	case OneHot:
		b := e.bit().(interface{ bit() bit }).bit()
		one := max(b.local(), b.mirror().local())
		if e.Adjacency == Removal {
			return one, one, ""
		}
		return b.local() + b.mirror().local(), one, "" // one bit falls and another rises
	case AsymmetricResponse:
		b := e.bit()
		one := max(b.local(), b.mirror().local())
		return one, one, ""
	case BucketResponse:
		b := e.bit() // the bit that falls and the one that rises
		return b.local() + b.mirror().local(), max(b.local(), b.mirror().local()), ""
	case VectorResponse:
		// A gap g at the edge multiplies the likelihood by 1+g/p at most. The logarithm
		// is concave in g^2, so equal gaps make the most of the sum of their squares.
		d := float64(e.Coordinates)
		return d * math.Log1p(e.gaps()/(d*e.Flip)), math.Log1p(e.widest() / e.Flip), ""
	case KaryResponse:
		return e.Epsilon, e.Epsilon, ""
	case FavouredResponse:
		return e.Epsilon, e.Epsilon, ""
	case AnyRandomizer:
		return e.Epsilon, e.Epsilon, ""
	case ThreeNB:
		return 0, 0, "a device's own messages show its bit nearly always; only the messages of others hide it"
	}
	return 0, 0, "no bound for one device's own messages is known to this accountant"
}
