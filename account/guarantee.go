package account

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
)

// Adjacency says which data sets count as neighbours. The two differ by up to
// a factor of two in epsilon, so no epsilon travels without one.
type Adjacency string

const (
	// Replacement: one respondent's record is exchanged for any other.
	Replacement Adjacency = "replacement"
	// Removal: one respondent's record is exchanged for a draw of the reference
	// law (ESA, Definitions II.3 and II.4).
	Removal Adjacency = "removal"
	// Label: one respondent's label is exchanged for any other. Everything else about the
	// respondent, such as the features, is public and stays.
	Label Adjacency = "label"
)

// Trust says what the observer of the guarantee is assumed not to see.
type Trust string

const (
	// Local: everyone but the respondent's own device colludes.
	Local Trust = "local"
	// OneFragment: the observer sees a single fragment of the respondent, and all its
	// others among everybody's.
	OneFragment Trust = "one fragment"
	// Shuffled: at least one hop of the shuffler is honest.
	Shuffled Trust = "shuffled"
	// AggregatorHonest: answers are summed by two, and one of them is honest.
	AggregatorHonest Trust = "one aggregator honest"
	// AggregatorsHonest: answers are summed by two, and both of them are honest.
	AggregatorsHonest Trust = "both aggregators honest"
	// Peers: those who ask the respondent for a label, or are asked, keep to themselves what
	// they see.
	Peers Trust = "peers"
	// Central: a trusted curator computes the answer.
	Central Trust = "central"
)

// Bound says on which side of the true privacy loss the numbers lie.
type Bound string

const (
	Upper Bound = "upper bound" // never below the true loss: safe to promise
	Lower Bound = "lower bound" // never above the true loss: for audits and brackets
	Exact Bound = "exact"       // the true loss, up to floating point rounded against us
)

// Meaningless is the epsilon above which a guarantee is printed as none:
// e^20 is half a billion to one.
const Meaningless = 20

// MaxUsers bounds the respondents of an event: windows of counts still fit memory, and numbers a float64.
const MaxUsers = 10_000_000_000

// Guarantee is one differential-privacy statement with all that is needed to
// recompute it. Natural logarithms throughout.
type Guarantee struct {
	Epsilon   float64   `json:"epsilon"`
	Delta     float64   `json:"delta"`
	Adjacency Adjacency `json:"adjacency"`
	Trust     Trust     `json:"trust"`
	Users     int       `json:"users"`  // n: respondents whose noise is relied upon
	Rounds    int       `json:"rounds"` // mechanisms composed
	Bound     Bound     `json:"bound"`
	Method    string    `json:"method"` // theorem or algorithm
	Source    string    `json:"source"` // where it is proved
	// Certified says which data sets the number was checked over, such as
	// "every k of the others" or "envelope of 512 k by post-processing".
	Certified string `json:"certified,omitempty"`
}

// Meaningful reports whether the guarantee says anything a person could rely on.
func (g Guarantee) Meaningful() bool { return g.Epsilon <= Meaningless && g.Delta < 1 }

// String states the guarantee in one line, never a bare epsilon.
func (g Guarantee) String() string {
	rounds := "rounds"
	if g.Rounds == 1 {
		rounds = "round"
	}
	return fmt.Sprintf("%s; %s, n = %s, %s %s; %s, %s", g.Verdict(), g.Trust, whole(float64(g.Users)), whole(float64(g.Rounds)), rounds, g.Method, g.Bound)
}

// Compose adds guarantees up by basic composition: epsilons and deltas sum.
// It refuses guarantees that speak of different neighbours, of different
// observers, or of the wrong side, since their sum would mean nothing.
func Compose(gs ...Guarantee) (Guarantee, error) {
	if len(gs) == 0 {
		return Guarantee{}, fmt.Errorf("account: nothing to compose")
	}
	sum := gs[0]
	for _, g := range gs[1:] {
		switch {
		case g.Adjacency != sum.Adjacency:
			return Guarantee{}, fmt.Errorf("account: cannot compose %s with %s adjacency: convert one first", sum.Adjacency, g.Adjacency)
		case g.Trust != sum.Trust:
			return Guarantee{}, fmt.Errorf("account: cannot compose a %s with a %s guarantee: they speak of different observers", sum.Trust, g.Trust)
		case (g.Bound == Lower) != (sum.Bound == Lower):
			return Guarantee{}, fmt.Errorf("account: cannot compose a lower with an upper bound")
		}
		sum.Epsilon = profile.AddUp(sum.Epsilon, g.Epsilon)
		sum.Delta = math.Min(1, profile.AddUp(sum.Delta, g.Delta))
		sum.Users = min(sum.Users, g.Users)
		sum.Rounds += g.Rounds
		sum.Method = sum.Method + " + " + g.Method
		if g.Source != sum.Source {
			sum.Source = sum.Source + "; " + g.Source
		}
		sum.Certified = ""
	}
	if len(gs) > 1 && sum.Bound == Exact {
		sum.Bound = Upper
	}
	return sum, nil
}
