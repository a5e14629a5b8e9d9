package shuffle

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// AsymmetricResponse is one shuffled bit of each of Users respondents: a one is
// reported as a one with probability Keep, a zero with probability Flip, 0 < Flip
// < Keep < 1. The observer sees the count of ones among all of them. Neighbours
// replace one respondent's bit (replacement). Users are those whose noise is
// relied upon.
//
// Compositions may change the direction of the change from round to round: both
// are dominated by one pair.
type AsymmetricResponse struct {
	Users int     `json:"users"`
	Keep  float64 `json:"keep_probability"`
	Flip  float64 `json:"flip_probability"`
}

func (e AsymmetricResponse) Terms() (account.Guarantee, error) {
	if err := checkFlip(e.Users, math.Min(e.Flip, 0.5)); err != nil {
		return account.Guarantee{}, err
	}
	if !(e.Flip < e.Keep && e.Keep <= 1-minFlip) {
		return account.Guarantee{}, fmt.Errorf("account: a one reported with probability %v and a zero with %v: need the first above the second, and at most 1 - %v", e.Keep, e.Flip, minFlip)
	}
	return account.Guarantee{
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.Users, Rounds: 1, Bound: account.Upper,
		Method: "exact law of the count of ones, worst number of ones among the others and worst direction",
		Source: "dominating pairs (Zhu, Dong, Wang 2022); docs/accounting.md",
	}, nil
}

func (e AsymmetricResponse) bit() bit { return bit{e.Keep, 1 - e.Keep, e.Flip, 1 - e.Flip} }

func (e AsymmetricResponse) Certificate(o account.Options) string {
	return e.bit().certified(e.Users, o)
}

// Spread takes the less noisy of a crowd of ones and one of zeros.
func (e AsymmetricResponse) Spread() float64 {
	variance := float64(e.bit().counted(e.Users)) * math.Min(e.Flip*(1-e.Flip), e.Keep*(1-e.Keep))
	b := e.bit()
	return math.Min(max(b.local(), b.mirror().local()), (e.Keep-e.Flip)/math.Sqrt(variance))
}

func (e AsymmetricResponse) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return e.bit().unanimous(e.Users, o)
	}
	h := e.bit().envelope(e.bit().cover(e.Users, o), o)
	d, err := pld.FromCurves(h, h, o.Step)
	return []*pld.Distribution{d}, err
}

func (e AsymmetricResponse) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	switch {
	case rounds != 1:
		return nil, "", nil
	case o.Lower:
		return single{e.Users, e.bit(), o}, account.Lower, nil
	case !e.bit().cover(e.Users, o).complete():
		return single{e.Users, e.bit(), o}, account.Upper, nil
	}
	return single{e.Users, e.bit(), o}, account.Exact, nil
}

// bit is how a respondent answers: the probabilities that a one is reported as
// a one (keep) or not (drop), and a zero as a one (flip) or not (stay). Both of a
// pair are there since one minus a small number forgets its last digits.
type bit struct{ keep, drop, flip, stay float64 }

// mirror returns the same answer with ones and zeros exchanged.
func (b bit) mirror() bit { return bit{b.stay, b.flip, b.drop, b.keep} }

func (b bit) symmetric() bool { return b.keep == b.stay }

// local returns the loss of a report of one.
func (b bit) local() float64 { return math.Log(b.keep) - math.Log(b.flip) }

// margin returns a - e^epsilon b, without cancellation near the local epsilon.
func (b bit) margin(epsilon float64) float64 { return -b.keep * math.Expm1(epsilon-b.local()) }

// Losses: the bit is the only message.
func (e AsymmetricResponse) Losses() account.Losses {
	one := e.bit().most()
	return account.Losses{Report: one, Message: one, Bound: account.Exact}
}

// Opened: the opened bit is that of a respondent whom nobody else hides.
func (e AsymmetricResponse) Opened(rounds int) (rest []account.Event, alone account.Event) {
	return less(e, rounds), AsymmetricResponse{1, e.Keep, e.Flip}
}

// most returns the larger loss of a report of one and of zero, both their sum.
func (b bit) most() float64 { return max(b.local(), b.mirror().local()) }
func (b bit) both() float64 { return b.local() + b.mirror().local() }
