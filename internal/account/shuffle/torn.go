package shuffle

import (
	"cmp"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/prob"
)

// tornBit is one coordinate of a report in fragments. Everybody has a backstop, and nobody
// sees the others': how many of them are ones is drawn. So a lower bound is that of a data
// set of bits, not of backstops.
type tornBit struct {
	BehindBackstop
	of FragmentedOneHot
}

// Profile is BehindBackstop's; from below, of one bit, that of data sets whose others all
// hold the same, as somebody sees them who adds up the ones of all shuffled rows.
func (e tornBit) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	if rounds != 1 || !o.Lower {
		return e.BehindBackstop.Profile(rounds, o)
	}
	var all outcomes
	tail := math.Max(o.Neglect/8, profile.MinTail)
	for _, kept := range []float64{e.of.BackstopFlip, e.of.BackstopKeep} {
		one, zero, err := e.of.added(kept, tail)
		if err != nil {
			return nil, "", err
		}
		off := 8 * tail // of two windows, and of what a law is scaled up by
		all = append(all, told{one, zero, off}, told{zero, one, off})
	}
	return all, account.Lower, nil
}

// mostWalked bounds the work of a lower bound: numbers of backstops times ones of the rows.
const mostWalked = 1 << 30

// added returns the laws of what is seen with the target's bit a one and a zero, where every
// other's backstop is a one with the same probability: the ones among the target's seen
// fragments, and the sum of all other fragments.
func (e FragmentedOneHot) added(kept, tail float64) (one, zero []float64, err error) {
	others, err := e.othersAdded(kept, tail)
	if err != nil {
		return nil, nil, err
	}
	rest := e.Tau - e.Seen
	given := func(sent float64) (law []float64) { // of a backstop whose fragments are ones so often
		own := make([]float64, rest+1)
		for j := range own {
			own[j] = prob.BinomialPMF(j, rest, sent)
		}
		for seen := range e.Seen + 1 {
			chance, sum := prob.BinomialPMF(seen, e.Seen, sent), make([]float64, len(others)+rest)
			for i, p := range others {
				for j, q := range own {
					sum[i+j] += chance * p * q
				}
			}
			law = append(law, sum...)
		}
		return law
	}
	set, clear := given(e.Keep), given(e.Flip)
	for i := range set {
		one = append(one, e.BackstopKeep*set[i]+(1-e.BackstopKeep)*clear[i])
		zero = append(zero, e.BackstopFlip*set[i]+(1-e.BackstopFlip)*clear[i])
	}
	return one, zero, nil
}

// othersAdded returns the law of the sum of the others' shuffled fragments: given how many of
// their backstops are ones, it is that of so many bits.
func (e FragmentedOneHot) othersAdded(kept, tail float64) ([]float64, error) {
	rest, n := e.Tau-e.Seen, e.Users-1
	window, err := prob.BinomialWindow(n, kept, tail)
	if err != nil {
		return nil, err
	}
	var of Others
	var sum []float64
	b := bit{e.Keep, 1 - e.Keep, e.Flip, 1 - e.Flip}
	for j, chance := range window.P {
		low, w := of.law(n*rest, (window.Lo+j)*rest, b, tail)
		if float64(len(window.P))*float64(len(w)) > mostWalked {
			return nil, &account.Unsupported{Event: e, Reason: "the lower bound of so many respondents takes too long"}
		}
		if most := low + len(w); most > len(sum) {
			sum = append(sum, make([]float64, most-len(sum))...)
		}
		for i, p := range w {
			sum[low+i] += chance * p
		}
	}
	return sum[firstAbove(sum):], nil
}

// firstAbove returns where a law begins.
func firstAbove(law []float64) int {
	return max(0, slices.IndexFunc(law, func(p float64) bool { return p > 0 }))
}

// told is a pair of laws of the same outcomes, of which less than off is missing in either.
type told struct {
	p, q []float64
	off  float64
}

// outcomes are such pairs, of which each is a lower bound.
type outcomes []told

func (all outcomes) Delta(epsilon float64) (float64, error) {
	worst, x := 0.0, math.Exp(epsilon)
	for _, t := range all {
		sum := -t.off * (1 + x)
		for i, p := range t.p {
			sum += math.Max(0, p*(1-profile.LawError)-x*t.q[i]*(1+profile.LawError))
		}
		worst = math.Max(worst, sum)
	}
	return worst, nil
}

// Epsilon returns the largest ln((P(T) - delta)/Q(T)) over the sets T of the likeliest outcomes.
func (all outcomes) Epsilon(delta float64) (float64, error) {
	ratio := 1.0
	for _, t := range all {
		var order []int
		for i, p := range t.p {
			if p > 0 {
				order = append(order, i)
			}
		}
		slices.SortFunc(order, func(i, j int) int { return cmp.Compare(t.p[j]*t.q[i], t.p[i]*t.q[j]) })
		up, down := 0.0, 0.0
		for _, i := range order {
			up, down = up+t.p[i], down+t.q[i]
			ratio = math.Max(ratio, (up*(1-profile.LawError)-t.off-delta)/(down*(1+profile.LawError)+t.off))
		}
	}
	return math.Log(ratio), nil
}
