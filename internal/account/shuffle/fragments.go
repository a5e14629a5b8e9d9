package shuffle

import (
	"cmp"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

const (
	// SomeFragments is an observer of a stated number of one respondent's report
	// fragments, together, who sees the others among everybody's.
	SomeFragments account.Trust = "some fragments"
	// FragmentsAlone is an observer of a stated number of one respondent's fragments who
	// sees nothing else of that respondent, no release included.
	FragmentsAlone account.Trust = "fragments alone"
)

// Fragments is one bit torn into Tau fragments behind a backstop (ESA, Algorithm
// 2): the backstop randomizes the bit once at Backstop, each fragment randomizes
// the backstop's output at Fragment, and each travels through an instance of its
// own. Both are randomized response. Neighbours change the bit: that is a
// replaced respondent who has one bit, or a removed one whose report is one-hot
// (ESA, Definition II.4). A replaced one-hot report changes two bits.
type Fragments struct {
	Users     int               `json:"users"`
	Backstop  float64           `json:"epsilon_backstop"`
	Fragment  float64           `json:"epsilon_fragment"`
	Tau       int               `json:"tau"`
	Adjacency account.Adjacency `json:"adjacency"` // of the backstop's guarantee
}

func (f Fragments) check() error {
	t := theorems.Theorem("report fragmentation")
	if f.Adjacency != account.Replacement && f.Adjacency != account.Removal {
		return fmt.Errorf("account: adjacency %q of a backstop: want %q or %q", f.Adjacency, account.Replacement, account.Removal)
	}
	return cmp.Or(t.Count("users", f.Users), t.Epsilon("epsilon of the backstop", f.Backstop),
		t.Epsilon("epsilon of a fragment", f.Fragment), t.Count("tau", f.Tau))
}

// Exposed returns the pure guarantee against an observer who sees any `seen` of the
// fragments of a respondent, and nothing else (ESA, Theorem IV.1). It is exact: randomized
// response attains it. All tau of them is the local guarantee.
func (f Fragments) Exposed(seen int) (account.Guarantee, error) {
	if err := f.check(); err != nil {
		return account.Guarantee{}, err
	}
	if seen < 1 || seen > f.Tau {
		return account.Guarantee{}, fmt.Errorf("account: %d fragments seen of %d: want 1 to %d", seen, f.Tau, f.Tau)
	}
	trust := FragmentsAlone
	if seen == f.Tau {
		trust = account.Local
	}
	epsilon, err := theorems.ESATheoremIV1(f.Backstop, f.Fragment, seen)
	return account.Guarantee{
		Epsilon:   epsilon,
		Adjacency: f.Adjacency, Trust: trust, Users: 1, Rounds: 1, Bound: account.Exact,
		Method: fmt.Sprintf("%d of %d fragments behind a backstop", seen, f.Tau),
		Source: "ESA, Theorem IV.1",
	}, err
}

// FragmentedOneHot is a one-hot report torn into Tau report fragments behind a backstop,
// of which the observer sees Seen of the respondent's outright, from 0 to Tau, and the
// others among everybody's: the count of ones of every coordinate in every row. Each
// backstop keeps a set bit with probability BackstopKeep and sets another with
// BackstopFlip; each fragment does so to the backstop's output with Keep and Flip.
// Neighbours are those of OneHot.
//
// It is accounted for by what is seen of each bit that may change, through its backstop
// (BehindBackstop), and is not for several plans with one kept backstop.
type FragmentedOneHot struct {
	Users        int               `json:"users"`
	BackstopKeep float64           `json:"backstop_keep"`
	BackstopFlip float64           `json:"backstop_flip"`
	Keep         float64           `json:"keep_probability"`
	Flip         float64           `json:"flip_probability"`
	Tau          int               `json:"tau"`
	Seen         int               `json:"seen"`
	Adjacency    account.Adjacency `json:"adjacency"`
}

func (e FragmentedOneHot) Terms() (account.Guarantee, error) {
	switch {
	case e.Tau < 1 || e.Tau > profile.MaxRounds:
		return account.Guarantee{}, fmt.Errorf("account: %d fragments: need 1 to %d", e.Tau, profile.MaxRounds)
	case e.Seen < 0 || e.Seen > e.Tau:
		return account.Guarantee{}, fmt.Errorf("account: %d fragments seen of %d: need 0 to %d", e.Seen, e.Tau, e.Tau)
	case e.Adjacency != account.Removal && e.Adjacency != account.Replacement:
		return account.Guarantee{}, fmt.Errorf("account: adjacency %q: need %q or %q", e.Adjacency, account.Removal, account.Replacement)
	}
	g, err := e.bit().Terms()
	g.Adjacency, g.Trust, g.Users = e.Adjacency, e.trust(), e.Users
	g.Method = fmt.Sprintf("%d fragments of each bit that may change, through its backstop", e.Tau)
	if e.Seen > 0 {
		g.Method = fmt.Sprintf("%d fragments seen and %d shuffled of each bit that may change, through its backstop", e.Seen, e.Tau-e.Seen)
	}
	return g, err
}

func (e FragmentedOneHot) trust() account.Trust {
	switch e.Seen {
	case 0:
		return account.Shuffled
	case e.Tau:
		return account.Local
	case 1:
		return account.OneFragment
	}
	return SomeFragments
}

// bit returns what is seen of one coordinate.
func (e FragmentedOneHot) bit() BehindBackstop {
	row := func(users int) account.Event { return OneHot{users, e.Flip, account.Removal, e.Keep}.bit() }
	var seen account.All
	if e.Seen > 0 {
		seen.Events = append(seen.Events, account.Repeat{Event: row(1), Rounds: e.Seen})
	}
	if e.Seen < e.Tau {
		seen.Events = append(seen.Events, account.Repeat{Event: row(e.Users), Rounds: e.Tau - e.Seen})
	}
	return BehindBackstop{e.BackstopKeep, e.BackstopFlip, seen}
}

func (e FragmentedOneHot) Reduce() account.Event {
	if e.Adjacency == account.Removal {
		return tornBit{e.bit(), e}
	}
	return account.Repeat{Event: tornBit{e.bit(), e}, Rounds: 2}
}

// Central returns the guarantee for all instances together, shuffled: the smaller of
//
//   - randomized response of the backstops, since the fragments of everyone are
//     a function of the multiset of backstops and fresh coins, and
//   - tau rounds of randomized response at Fragment, seen through the backstop
//     (BehindBackstop).
//
// Each is the exact accountant's. The adjacency is that of one input bit that
// changes: Removal for one-hot reports, whose reference law is a report of zeros.
func (f Fragments) Central(delta float64) (account.Guarantee, error) {
	if err := f.check(); err != nil {
		return account.Guarantee{}, err
	}
	best, err := account.Epsilon(RandomizedResponse{Users: f.Users, Flip: FlipOf(f.Backstop)}, delta)
	if err != nil {
		return account.Guarantee{}, err
	}
	best.Method = "fragments as a function of shuffled backstops: " + best.Method
	if f.Tau <= profile.MaxRounds {
		rows, err := account.Epsilon(f.oneHot(0), delta)
		if err != nil {
			return account.Guarantee{}, err
		}
		if rows.Epsilon < best.Epsilon {
			best = rows
		}
	}
	best.Rounds = f.Tau
	best.Adjacency = f.Adjacency
	best.Bound = account.Upper
	best.Source = "ESA, Appendix B; " + best.Source
	return best, nil
}

// FragmentEpsilon returns the epsilon F of each of tau fragments behind a backstop of epsilon B:
//
//	sinh F = sinh B / tau.
//
// Every pair of B and F is sound, since every guarantee is computed from both. The backstop
// flips with probability b = 1/(1+e^B): its own epsilon is ln((1-b)/b) = B, exactly. Of t
// fragments, flipped with f, the extreme ratio of likelihoods is that of t ones,
//
//	((1-b)(1-f)^t + b f^t) / (b (1-f)^t + (1-b) f^t),  tanh(e_t/2) = tanh(B/2) tanh(tF/2),
//
// so e_t, exactly what t fragments tell, is below both B and tF (Exposed). The rule is a
// choice between noise and what fragments tell. ESA, section VII.A, lets backstop and
// fragments "add roughly the same" noise. p(1-p)/(1-2p) of a bit that is flipped with
// probability p = 1/(1+e^x) is 1/(2 sinh x), so with the rule it is as large for the
// backstop as for the mean of the fragments. The rule gives every epsilon of ESA's tables.
// Two others tend to it where B is large (F = B - ln tau). With 10^3 to 10^6 respondents, an
// epsilon of the shuffled fragments of 0.05 to 1 and tau from 4 to 256:
//
//   - F = B - ln tau itself gives no fragments where B <= ln tau, and more noise than the
//     rule at an equal B. At an equal epsilon of the shuffled fragments it spares up to 3 %
//     of the error, and all of a device's fragments together tell more.
//   - Equal variances of the debiased bits, cosh F = 1 + (1 + cosh B)/tau, give less noise
//     at an equal B, and a fragment tells more. At an equal epsilon of the shuffled fragments
//     the error is up to a quarter larger.
func FragmentEpsilon(backstop float64, tau int) float64 {
	return math.Asinh(math.Sinh(backstop) / float64(tau))
}

// tear returns a bit torn into fragments of an epsilon, by the inverse of FragmentEpsilon.
func tear(users int, fragment float64, tau int, adjacency account.Adjacency) Fragments {
	return Fragments{users, math.Asinh(float64(tau) * math.Sinh(fragment)), fragment, tau, adjacency}
}

// CalibrateFragments finds the largest epsilon of a bit's backstop, torn into tau fragments
// by FragmentEpsilon, whose shuffled fragments meet the target when Rounds bits of a one-hot
// report are set, and the guarantee of exactly that. It goes by what is seen through the
// backstop.
func CalibrateFragments(t calibrate.Target, tau int, adjacency account.Adjacency) (Fragments, account.Guarantee, error) {
	if err := t.Check(); err != nil {
		return Fragments{}, account.Guarantee{}, err
	}
	if tau < 2 || tau > profile.MaxRounds/t.Rounds {
		return Fragments{}, account.Guarantee{}, fmt.Errorf("account: %d fragments in %d rounds: need 2 fragments or more, and at most %d in all", tau, t.Rounds, profile.MaxRounds)
	}
	// The noise goes as e^(-epsilon/2) of a fragment; the first guess is the Gaussian's.
	of := func(noise float64) Fragments {
		return tear(t.Users, -2*math.Log(noise), tau, adjacency)
	}
	all := t
	if all.Rounds *= tau; adjacency == account.Replacement {
		all.Rounds *= 2
	}
	v := 1 / (all.PerRound() * all.PerRound() * float64(t.Users))
	flip := math.Max(minFlip, 2*v/(1+4*v+math.Sqrt(1+4*v))) // as in CalibrateRR
	noise, err := t.Search(calibrate.Search{Noise: math.Sqrt(flip / (1 - flip)), Most: 1 - 1e-9, Tolerance: calibrate.CloseEnough}, func(noise float64) account.Event { return of(noise).OneHot(0) })
	if err != nil {
		return Fragments{}, account.Guarantee{}, err
	}
	f := of(noise)
	_, g, err := calibrate.Meets(t, f.OneHot(0))
	return f, g, err
}

// LocalFragments returns the largest epsilons of a bit, torn into tau fragments by
// FragmentEpsilon, with which all of them together keep an epsilon.
func LocalFragments(users, tau int, adjacency account.Adjacency, epsilon float64) (Fragments, error) {
	if tau < 2 || tau > profile.MaxRounds {
		return Fragments{}, fmt.Errorf("account: %d fragments: need 2 to %d", tau, profile.MaxRounds)
	}
	of := func(fragment float64) Fragments { return tear(users, fragment, tau, adjacency) }
	fragment, err := profile.Largest(1e-9, 100, epsilon, func(x float64) (float64, error) {
		g, err := of(x).Exposed(tau)
		return g.Epsilon, err
	})
	return of(fragment), err
}

// oneHot returns what is seen of the one bit that changes, with so many fragments outright.
func (f Fragments) oneHot(seen int) FragmentedOneHot {
	backstop, flip := FlipOf(f.Backstop), FlipOf(f.Fragment)
	return FragmentedOneHot{f.Users, 1 - backstop, backstop, 1 - flip, flip, f.Tau, seen, account.Removal}
}

// OneHot returns a one-hot report of such bits, of which the observer sees so many fragments
// outright, and whose neighbours are the fragments'.
func (f Fragments) OneHot(fragments int) FragmentedOneHot {
	e := f.oneHot(fragments)
	e.Adjacency = f.Adjacency
	return e
}

// Bit returns what is seen of one bit that changes, so many of its fragments outright.
func (f Fragments) Bit(fragments int) BehindBackstop { return f.oneHot(fragments).bit() }

// FlipOf returns the flip probability of epsilon-DP randomized response, rounded down:
// the accountant never credits noise that is not there.
func FlipOf(epsilon float64) float64 {
	e := math.Exp(-epsilon)
	return math.Nextafter(e/(1+e), 0)
}

// Explain lists who may look at report fragments, as the function Explain does.
func (f Fragments) Explain(delta float64) ([]account.View, error) {
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
		if one, err = account.Epsilon(f.oneHot(1), delta); err != nil {
			return nil, err
		}
		one.Adjacency = f.Adjacency
	}
	one.Trust = account.OneFragment
	return []account.View{
		{Observer: account.EveryoneColludes, Sees: fmt.Sprintf("all %d of your fragments, opened, and that they are yours.", f.Tau), Guarantee: &all},
		{Observer: account.OneFragmentSeen, Sees: "a single one of your fragments, opened, that it is yours, and the opened fragments of everybody: what one colluding instance of the shuffler and the analyzer have.", Guarantee: &one},
		account.ShuffledView(g), account.ReaderView(g),
	}, nil
}
