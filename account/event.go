package account

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// Event describes one use of a mechanism by names and numbers only. Packages below internal/account
// declare events, and supply what the accountant knows of them through the hooks below.
type Event interface {
	// Terms checks the parameters and states everything of the guarantee but
	// its epsilon and delta.
	Terms() (Guarantee, error)
}

// Repeat is the same event used several times on the same respondents, each
// use with fresh randomness and possibly chosen after seeing the earlier ones.
type Repeat struct {
	Event  Event `json:"event"`
	Rounds int   `json:"rounds"`
}

// All is several events on the same respondents, one after the other.
type All struct {
	Events []Event `json:"events"`
}

func (r Repeat) Terms() (Guarantee, error) {
	if r.Rounds < 1 || r.Rounds > profile.MaxRounds {
		return Guarantee{}, fmt.Errorf("account: %d rounds: need 1 to %d", r.Rounds, profile.MaxRounds)
	}
	if r.Event == nil {
		return Guarantee{}, errors.New("account: nothing to repeat")
	}
	g, err := r.Event.Terms()
	if g.Rounds > profile.MaxRounds/r.Rounds {
		return Guarantee{}, fmt.Errorf("account: %d times %d rounds: at most %d in all", r.Rounds, g.Rounds, profile.MaxRounds)
	}
	g.Rounds *= r.Rounds
	return g, err
}

func (a All) Terms() (Guarantee, error) {
	if len(a.Events) == 0 {
		return Guarantee{}, errors.New("account: nothing to compose")
	}
	gs := make([]Guarantee, len(a.Events))
	rounds := 0
	for i, e := range a.Events {
		if e == nil {
			return Guarantee{}, fmt.Errorf("account: event %d is missing", i)
		}
		g, err := e.Terms()
		if err != nil {
			return Guarantee{}, err
		}
		gs[i], rounds = g, rounds+g.Rounds
	}
	if rounds > profile.MaxRounds {
		return Guarantee{}, fmt.Errorf("account: %d rounds: at most %d", rounds, profile.MaxRounds)
	}
	sum, err := Compose(gs...) // refuses mixed adjacency and trust
	sum.Method, sum.Source = "", ""
	for _, g := range gs {
		sum.Method, sum.Source = Join(sum.Method, g.Method), Join(sum.Source, g.Source)
	}
	return sum, err
}

// The hooks. An event implements those it can; accountant.go says in which order it asks for them.

// A profiler knows the profile of its own repetition without composing
// numerically, and whether that is exact; the curve is nil for a number of
// rounds it has no formula for.
type profiler interface {
	Profile(rounds int, o Options) (profile.Curve, Bound, error)
}

// A plder has privacy loss distributions. Spread is the order of magnitude of
// the deviation of one round's loss, from which the grid is chosen.
// Distributions returns one law if the neighbours may change direction from
// round to round (the pair dominates both), or two, one for each direction that
// holds throughout the composition.
type plder interface {
	Spread() float64
	Distributions(o Options) ([]*pld.Distribution, error)
}

// A latticed event has atoms of the loss at a multiple of some number, such as
// its largest loss: composed by itself, it gets a grid that has it as a point.
type latticed interface {
	Lattice() float64
}

// An rdper knows its Renyi divergence of every order a > 1, the larger of both
// directions.
type rdper interface {
	Renyi(order float64) float64
}

// A reducer is accounted as other events, none of them smaller than it.
type reducer interface {
	Reduce() Event
}

// A certifier says which data sets its numbers were checked over.
type certifier interface {
	Certificate(o Options) string
}

// A joiner knows the profile of repetitions of different events, itself the first of them;
// not ok where it does not know the others or proves nothing.
type joiner interface {
	Together(all []Repeat, o Options) (c profile.Curve, ok bool)
}

// A sender bounds what one respondent's own messages tell.
type sender interface {
	Losses() Losses
}

// An openable event says what stays shuffled of so many rounds of which one message of a
// respondent is opened, and what that message is by itself, if it is an event (nil: none).
type openable interface {
	Opened(rounds int) (rest []Event, alone Event)
}

// A companion bounds epsilon at delta of so many rounds of which one message is opened,
// together.
type companion interface {
	BesideMessage(rounds int, delta float64) (float64, error)
}

// A dominator is dominated by a Gaussian of its own; not ok where that proves nothing.
type dominator interface {
	Dominated(rounds int, tail float64) (d Domination, ok bool)
}

// A replaceable event is of removal, and knows the event of the same reports under
// replacement.
type replaceable interface {
	Replaced() Event
}

// Unsupported says that this accountant has no proved bound for an event.
type Unsupported struct {
	Event  Event
	Reason string
}

func (u *Unsupported) Error() string {
	return fmt.Sprintf("account: %T is not supported: %s", u.Event, u.Reason)
}

// Epsilon returns the smallest epsilon proved for the event at delta in (0, 1),
// rounded up. For randomized response of many users it is the device's
// envelope: what any client recomputes in milliseconds, at most about 0.1 %
// above the value certified over every data set (Certify).
func Epsilon(e Event, delta float64) (Guarantee, error) {
	return Options{}.Epsilon(e, delta)
}

// Delta returns the smallest delta proved for the event at epsilon >= 0, rounded up.
func Delta(e Event, epsilon float64) (Guarantee, error) {
	return Options{}.Delta(e, epsilon)
}

// Certify returns an Epsilon that holds over every data set: for randomized response it asks about every number of
// ones among the others, or about so many that the rest hardly counts.
// It may take seconds. Guarantee.Certified says which.
func Certify(e Event, delta float64) (Guarantee, error) {
	return Options{Every: true}.Epsilon(e, delta)
}

// LowerEpsilon returns a lower bound on the event's epsilon at delta, rounded down:
// no accountant can prove less. Together with Certify it brackets the truth.
func LowerEpsilon(e Event, delta float64) (Guarantee, error) {
	return Options{Lower: true}.Epsilon(e, delta)
}

// Options tell a mechanism what is wanted of its profile.
type Options struct {
	Step    float64 // pitch of the grid of losses
	Pitches int     // how many of its own pitches Step is to the commonest part of a composition; 0: not known
	Neglect float64 // probability that may be charged to delta outright, each round
	Every   bool    // over every data set, as closely as some seconds allow
	Lower   bool    // a lower bound: one pair of data sets is enough
	Whole   bool    // many points of the profile: loss distributions, if there are, before formulas
}
