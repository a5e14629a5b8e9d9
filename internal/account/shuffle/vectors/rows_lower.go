package vectors

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/prob"
)

// wholeGaps returns a lower bound: vectors may differ by a whole bit in as many rows as
// SquaredGap allows, while all others hold zeros. Nil if that is no row.
func (e SecretRows) wholeGaps(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	rows := int(math.Min(e.SquaredGap, float64(e.Rows)))
	if rows < 1 {
		return nil, "", nil
	}
	c, err := o.Composed(account.Repeat{Event: secretBit{e.Honest, e.share(), e.Flip}, Rounds: rounds * rows})
	return c, account.Lower, err
}

// secretBit is a row in which one respondent's bit changes and all others hold
// zeros. Each of n respondents says one, zero or nothing. The law of their numbers
// (x, y, r), if the one holds a zero too, is multinomial with probabilities q p,
// q (1-p) and 1-q; if not, it is that law times
//
//	(x (1-p)/p + y p/(1-p) + r)/n,
//
// since a multinomial law without one of its n has x/(n q p) of its probability where
// that one said one, and so on.
type secretBit struct {
	users  int
	answer float64 // q
	flip   float64
}

func (e secretBit) Terms() (account.Guarantee, error) {
	return account.Guarantee{Adjacency: account.Replacement, Trust: account.Shuffled, Users: e.users, Rounds: 1, Bound: account.Lower}, nil
}

func (e secretBit) Spread() float64 {
	if e.answer == 1 {
		return shuffle.RandomizedResponse{Users: e.users, Flip: e.flip}.Spread()
	}
	return (1 - 2*e.flip) * math.Sqrt(e.answer/(float64(e.users)*e.flip*(1-e.flip)))
}

// maxSecretAtoms bounds the outcomes told apart. Numbers of zeros next to each other
// are taken together where there are more, which lowers the bound.
const maxSecretAtoms = 1 << 20

func (e secretBit) Distributions(o account.Options) ([]*pld.Distribution, error) {
	tail := math.Max(o.Neglect/4, profile.MinTail)
	ones, err := prob.BinomialWindow(e.users, e.answer*e.flip, tail)
	if err != nil {
		return nil, err
	}
	var falling, rising []pld.Atom
	zero := e.answer * (1 - e.flip) / (1 - e.answer*e.flip) // of a respondent who did not say one
	for i, px := range ones.P {
		x := ones.Lo + i
		zeros, err := prob.BinomialWindow(e.users-x, math.Min(1, zero), tail)
		if err != nil {
			return nil, err
		}
		width := 1 + len(ones.P)*len(zeros.P)/maxSecretAtoms
		for from := 0; from < len(zeros.P); from += width {
			var same, other float64
			for j := from; j < min(from+width, len(zeros.P)); j++ {
				mass := px * zeros.P[j]
				same += mass
				other += mass * e.ratio(x, zeros.Lo+j)
			}
			if same == 0 || other == 0 {
				continue // underflow: leaving it out lowers the bound
			}
			loss := math.Log(other / same)
			falling = append(falling, pld.Atom{Loss: loss, Mass: other})
			rising = append(rising, pld.Atom{Loss: -loss, Mass: same})
		}
	}
	down, err := pld.LowerFromAtoms(falling, 0, o.Step)
	if err != nil {
		return nil, err
	}
	up, err := pld.LowerFromAtoms(rising, 0, o.Step)
	return []*pld.Distribution{down, up}, err
}

func (e secretBit) ratio(x, y int) float64 {
	odds := (1 - e.flip) / e.flip
	return (float64(x)*odds + float64(y)/odds + float64(e.users-x-y)) / float64(e.users)
}
