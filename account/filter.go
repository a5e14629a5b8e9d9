package account

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
)

// Box admits what a Gaussian privacy filter lets through. A device answers plan after plan, each chosen after
// everything that was seen of the earlier ones, while the squares of their shifts sum to
// at most the square of Shift, and their tails to at most Tail. All answers together then
// keep (Epsilon, Delta), with
//
//	Delta = Tail + K(Epsilon),  K the hockey stick of normals that are Shift apart
//
// (docs/accounting-filters.md). Both sides are fixed beforehand: an epsilon computed
// afterwards from the amount spent is no guarantee.
type Box struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Shift   float64 `json:"shift"`
	Tail    float64 `json:"tail"`
}

// NewBox returns the box of a cap whose Tail is the given share of delta.
func NewBox(epsilon, delta, tailShare float64) (Box, error) {
	switch {
	case !(epsilon > 0 && epsilon <= maxBoxEpsilon):
		return Box{}, fmt.Errorf("account: a box of epsilon %v: need a number above 0, up to %v", epsilon, float64(maxBoxEpsilon))
	case !(delta > 0 && delta < 1):
		return Box{}, fmt.Errorf("account: a box of delta %v: need 0 < delta < 1", delta)
	case !(tailShare > 0 && tailShare < 1):
		return Box{}, fmt.Errorf("account: a share %v of delta for tails: need 0 < share < 1", tailShare)
	}
	b := Box{Epsilon: epsilon, Delta: delta, Tail: delta * tailShare}
	left := (delta - b.Tail) * (1 - dominationError)
	// The largest shift, from below, whose hockey stick is at most what is left.
	low, high := math.Log(1e-12), math.Log(2*math.Sqrt(2*epsilon)+40)
	for high-low > 1e-12 {
		middle := low + (high-low)/2
		if middle == low || middle == high {
			break
		}
		if profile.Normal(math.Exp(middle)).Hockey(epsilon)*(1+dominationError) <= left {
			low = middle
		} else {
			high = middle
		}
	}
	b.Shift = math.Exp(low)
	return b, nil
}

// maxBoxEpsilon is far above any epsilon that protects.
const maxBoxEpsilon = 1e9

// Spending is what one plan costs: its own epsilon and delta, and its domination. All
// speak of the same neighbours.
type Spending struct {
	Epsilon    float64    `json:"epsilon"`
	Delta      float64    `json:"delta"`
	Domination Domination `json:"domination"`
}

// Filter decides how much may be asked of one person under a cap. Plans are chosen
// after everything that was seen of the earlier ones, and together they keep (Epsilon,
// Delta), since every sequence that is let through is of one of three kinds:
//
//   - a single plan whose own epsilon and delta are within the cap's;
//   - plans whose epsilons sum to at most Epsilon and whose deltas sum to at most
//     sumsShare of Delta: what basic composition lets through;
//   - plans that fit the Box of Epsilon and the rest of Delta.
//
// A first plan of the first kind alone lets no second one through, and which kind it is
// shows before anything is seen; of the others the deltas add up. The sums are there for
// plans that no Gaussian dominates cheaply, such as randomized labels.
type Filter struct {
	Epsilon float64
	Delta   float64
	Sums    float64 // what deltas may sum to
	Box     Box

	spent spent
}

// spent adds up what plans cost together, as far as a filter asks of it.
type spent struct {
	plans                         int
	epsilon, delta, squares, tail float64
}

// After returns the filter when these plans were answered. So whoever is asked of one more
// need not go over those before.
func (f Filter) After(plans ...Spending) Filter {
	s := &f.spent
	for _, p := range plans {
		s.plans++
		s.epsilon, s.delta = profile.AddUp(s.epsilon, p.Epsilon), profile.AddUp(s.delta, p.Delta)
		s.squares += p.Domination.Shift * p.Domination.Shift
		s.tail += p.Domination.Tail
	}
	return f
}

// The parts of a cap's delta: for sums, and within the box for tails. The rest is the
// Gaussian's, of whose shift a tenth of delta more or less is half a percent.
const (
	sumsShare = 0.1
	tailsOf   = 0.1
)

// NewFilter returns the filter of a cap.
func NewFilter(epsilon, delta float64) (Filter, error) {
	box, err := NewBox(epsilon, delta*(1-sumsShare), tailsOf/(1-sumsShare))
	return Filter{Epsilon: epsilon, Delta: delta, Sums: delta * sumsShare, Box: box}, err
}

// capSlack lets a plan through that asks for exactly what the cap allows, after roundings.
const capSlack = 1e-12

// Admits reports whether all the plans may be answered, the last of them after the
// others, and all after those that were answered.
func (f Filter) Admits(plans ...Spending) bool {
	s := f.After(plans...).spent
	switch {
	case s.epsilon <= f.Epsilon*(1+capSlack) && s.delta <= f.Sums*(1+capSlack):
		return true
	case s.plans == 1 && s.epsilon <= f.Epsilon*(1+capSlack) && s.delta <= f.Delta*(1+capSlack):
		return true
	}
	return f.Shares(plans...).Box() <= 1
}

// Shares are the parts of the filter that the plans take up: of both sides of the
// box, and of both sums.
type Shares struct {
	Shift   float64 `json:"shift"`   // of the square of the box's shift
	Tail    float64 `json:"tail"`    // of the box's tail
	Epsilon float64 `json:"epsilon"` // of the sum of epsilons
	Delta   float64 `json:"delta"`   // of the sum of deltas
}

// Box returns the larger share of the box, Sums that of the sums.
func (s Shares) Box() float64  { return math.Max(s.Shift, s.Tail) }
func (s Shares) Sums() float64 { return math.Max(s.Epsilon, s.Delta) }

// Shares returns how much of the filter is spent, when these plans are too.
func (f Filter) Shares(plans ...Spending) Shares {
	s := f.After(plans...).spent
	// Relative roundings of so many sums of numbers that are not negative.
	slack := 1 + 0x1p-52*float64(s.plans+4)
	return Shares{Shift: s.squares / (f.Box.Shift * f.Box.Shift) * slack, Tail: s.tail / f.Box.Tail * slack, Epsilon: s.epsilon / f.Epsilon, Delta: s.delta / f.Sums}
}

// More returns how many plans like the one given may still be answered after the others,
// counted up to most.
func (f Filter) More(most int, like Spending, plans ...Spending) (n int) {
	for f = f.After(plans...); n < most && f.Admits(like); n++ {
		f = f.After(like)
	}
	return n
}

const (
	leastDelta = 1e-6 // at which With tries the filter, or at 20 times the sum of deltas where that is more
	worthwhile = 1e-3 // share of the summed epsilon that the filter must save
)

// With returns the epsilon and delta that several plans cost a person together: the sums, or the least epsilon whose
// filter admits all of them, at a delta that is then larger. It holds of plans that are all fixed beforehand; of plans
// chosen after what came of the earlier ones the sums alone hold.
func (s Spending) With(others ...Spending) (epsilon, delta float64) {
	spends := append([]Spending{s}, others...)
	for _, s := range spends {
		epsilon, delta = epsilon+s.Epsilon, delta+s.Delta
	}
	at := max(leastDelta, 20*delta)
	admits := func(epsilon float64) bool {
		f, err := NewFilter(epsilon, at)
		return err == nil && f.Admits(spends...)
	}
	if !admits(epsilon) {
		return epsilon, delta
	}
	low, high := 0.0, epsilon
	for range 20 {
		if middle := (low + high) / 2; admits(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	if high < epsilon*(1-worthwhile) {
		return high, at
	}
	return epsilon, delta
}
