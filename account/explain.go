package account

import (
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
)

// A View is what one kind of observer sees of a mechanism and what bounds what
// they learn from it.
type View struct {
	Observer  string     // who
	Sees      string     // what, in a sentence
	Guarantee *Guarantee // nil: nothing is promised against this observer
	Reason    string     // why nothing is promised
}

// Posterior returns the most that a probability may rise to: an observer holds a
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
	if g.Trust == Central {
		return []View{
			{Observer: "the curator", Sees: "every record as it is, before any noise.", Reason: "the curator is trusted with the data themselves"},
			ReaderView(g),
		}, nil
	}
	sent, local := unshuffled(e, g.Adjacency)
	all := View{Observer: EveryoneColludes, Sees: "which messages are yours, all of them, opened.", Reason: sent.Reason}
	single := View{Observer: OneFragmentSeen, Sees: "a single one of your messages, opened, that it is yours, and the opened messages of everybody.", Reason: sent.Reason}
	if sent.Reason == "" {
		piece := opened(e, sent.Message, local, delta)
		all.Guarantee, single.Guarantee = &local, &piece
	}
	return []View{all, single, ShuffledView(g), ReaderView(g)}, nil
}

// ShuffledView returns that of an observer who sees all messages and not whose they are.
func ShuffledView(g Guarantee) View {
	return View{Observer: ShufflerHonest, Sees: "the opened messages of everybody, and not whose they are: at least one hop keeps its permutation to itself.", Guarantee: &g}
}

// ReaderView returns that of an observer who sees what is computed from what the guarantee speaks of.
func ReaderView(g Guarantee) View {
	return View{Observer: "reader of the release", Sees: "what is published: computed from the above, so it says no more.", Guarantee: &g}
}

// Losses are what the messages of one respondent tell by themselves, whoever colludes.
type Losses struct {
	Report  float64 // epsilon of all messages of one use together
	Message float64 // epsilon of one of them
	Bound   Bound   // Exact or Upper
	Reason  string  // why nothing is promised; the other fields are then empty
}

// losses asks an event that is no composition for its hook.
func losses(e Event) Losses {
	if s, ok := e.(sender); ok {
		return s.Losses()
	}
	return Losses{Reason: "no bound for one device's own messages is known to this accountant"}
}

// split parts a repetition into what is repeated and how often.
func split(e Event) (one Event, rounds int) {
	if r, ok := e.(Repeat); ok {
		return r.Event, r.Rounds
	}
	return e, 1
}

// unshuffled returns what everyone together learns of what one respondent sends to an event or to
// its repetition, under that adjacency, beside the losses of one use.
func unshuffled(e Event, adjacency Adjacency) (Losses, Guarantee) {
	one, rounds := split(e)
	sent := losses(one)
	return sent, Guarantee{
		Epsilon: profile.Raised(sent.Report * float64(rounds)), Adjacency: adjacency, Trust: Local, Users: 1, Rounds: rounds,
		Bound: sent.Bound, Method: "sum of the losses of one respondent's messages", Source: "basic composition; one respondent's own randomness",
	}
}

// ownLosses bounds the epsilon of an event by what one respondent's own messages tell,
// whoever else hides them: shuffling is post-processing. With so little noise that a
// grid of losses e^20 and more apart has no digits left it is the better bound.
func ownLosses(e Event) (epsilon float64, ok bool) {
	switch e := e.(type) {
	case Repeat:
		one, ok := ownLosses(e.Event)
		return profile.Raised(one * float64(e.Rounds)), ok
	case All:
		for _, one := range e.Events {
			x, ok := ownLosses(one)
			if !ok {
				return 0, false
			}
			epsilon = profile.AddUp(epsilon, x)
		}
		return epsilon, true
	}
	sent := losses(e)
	return profile.Raised(sent.Report), sent.Reason == ""
}
