package account_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
)

var hostile = []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300}

func TestHostileParametersAreErrors(t *testing.T) {
	events := map[string]account.Event{"nil": nil, "nothing": account.All{}, "missing": account.All{Events: []account.Event{nil}}, "nothing repeated": account.Repeat{Event: nil, Rounds: 3}}
	for _, x := range hostile {
		events[fmt.Sprint("flip ", x)] = shuffle.RandomizedResponse{Users: 100, Flip: x}
		events[fmt.Sprint("one-hot flip ", x)] = shuffle.OneHot{Users: 100, Flip: x, Adjacency: account.Removal, Keep: 0}
		events[fmt.Sprint("noise ", x)] = bitnoise.ThreeNB{Users: 0, Noise: x, FloodShape: 3, FloodProb: 0.5}
		events[fmt.Sprint("flood shape ", x)] = bitnoise.ThreeNB{Users: 0, Noise: 1, FloodShape: x, FloodProb: 0.5}
		events[fmt.Sprint("flood probability ", x)] = bitnoise.ThreeNB{Users: 0, Noise: 1, FloodShape: 3, FloodProb: x}
		events[fmt.Sprint("sigma ", x)] = central.Gaussian{Sigma: x, Sensitivity: 1}
		events[fmt.Sprint("sensitivity ", x)] = central.Gaussian{Sigma: 1, Sensitivity: x}
		events[fmt.Sprint("sampling ", x)] = central.SubsampledGaussian{Sampling: x, NoiseMultiplier: 1}
		events[fmt.Sprint("multiplier ", x)] = central.SubsampledGaussian{Sampling: 0.1, NoiseMultiplier: x}
	}
	for _, n := range []int{0, -1, math.MaxInt, math.MinInt} {
		events[fmt.Sprint("users ", n)] = shuffle.RandomizedResponse{Users: n, Flip: 0.2}
		events[fmt.Sprint("one-hot users ", n)] = shuffle.OneHot{Users: n, Flip: 0.2, Adjacency: account.Removal, Keep: 0}
		events[fmt.Sprint("rounds ", n)] = account.Repeat{Event: shuffle.RandomizedResponse{Users: 10, Flip: 0.2}, Rounds: n}
		events[fmt.Sprint("rounds of rounds ", n)] = account.Repeat{Event: account.Repeat{Event: shuffle.RandomizedResponse{Users: 10, Flip: 0.2}, Rounds: 1 << 20}, Rounds: n}
	}
	events["flip above a half"] = shuffle.RandomizedResponse{Users: 100, Flip: 0.51}
	events["flood probability 1"] = bitnoise.ThreeNB{Users: 0, Noise: 1, FloodShape: 3, FloodProb: 1}
	events["sampling above 1"] = central.SubsampledGaussian{Sampling: 1.01, NoiseMultiplier: 1}
	events["no adjacency"] = shuffle.OneHot{Users: 100, Flip: 0.2, Adjacency: "", Keep: 0}
	events["rounds overflow"] = account.Repeat{Event: account.Repeat{Event: shuffle.RandomizedResponse{Users: 10, Flip: 0.2}, Rounds: 1 << 20}, Rounds: 1 << 20}
	for what, e := range events {
		for how, f := range map[string]func(account.Event, float64) (account.Guarantee, error){"epsilon": account.Epsilon, "delta": account.Delta, "certify": account.Certify, "lower": account.LowerEpsilon} {
			if g, err := f(e, 0.01); err == nil {
				t.Errorf("%s of %s: %v", how, what, g)
			}
		}
	}
}

func TestHostileQuestionsAreErrors(t *testing.T) {
	events := []account.Event{
		shuffle.RandomizedResponse{Users: 100, Flip: 0.2}, account.Repeat{Event: shuffle.RandomizedResponse{Users: 100, Flip: 0.2}, Rounds: 3}, shuffle.OneHot{Users: 100, Flip: 0.2, Adjacency: account.Replacement, Keep: 0},
		bitnoise.ThreeNB{Users: 0, Noise: 1, FloodShape: 3, FloodProb: 0.5}, account.Repeat{Event: bitnoise.ThreeNB{Users: 0, Noise: 1, FloodShape: 3, FloodProb: 0.5}, Rounds: 4}, central.Gaussian{Sigma: 1, Sensitivity: 1}, central.SubsampledGaussian{Sampling: 0.1, NoiseMultiplier: 1},
	}
	for _, e := range events {
		for _, x := range append(hostile, 1) {
			if g, err := account.Epsilon(e, x); err == nil {
				t.Errorf("%T at delta %v: %v", e, x, g)
			}
			if x == 0 || x == 1 {
				continue // as an epsilon these are questions
			}
			if g, err := account.Delta(e, x); err == nil {
				t.Errorf("%T at epsilon %v: %v", e, x, g)
			}
		}
	}
}

func TestHostileCompositionsAreErrors(t *testing.T) {
	for _, x := range hostile {
		if v, err := profile.KairouzOhViswanath(x, 0, 10, 1e-6); err == nil {
			t.Errorf("KOV at epsilon %v: %v", x, v)
		}
		if v, err := profile.KairouzOhViswanath(0.1, 0, 10, x); err == nil {
			t.Errorf("KOV at slack %v: %v", x, v)
		}
	}
	for _, k := range []int{0, -1, math.MaxInt} {
		if v, err := profile.KairouzOhViswanath(0.1, 0, k, 1e-6); err == nil {
			t.Errorf("KOV of %d rounds: %v", k, v)
		}
	}
	for _, d := range []float64{-1, 1, math.NaN(), 1e300} {
		if v, err := profile.KairouzOhViswanath(0.1, d, 10, 0.5); err == nil {
			t.Errorf("KOV at delta %v a round: %v", d, v)
		}
	}
}

func TestHostileTargetsAreErrors(t *testing.T) {
	good := calibrate.Target{Users: 1000, Rounds: 10, Epsilon: 1, Delta: 1e-6}
	var bad []calibrate.Target
	for _, x := range hostile {
		bad = append(bad, calibrate.Target{Users: 1000, Rounds: 10, Epsilon: x, Delta: 1e-6}, calibrate.Target{Users: 1000, Rounds: 10, Epsilon: 1, Delta: x})
	}
	for _, n := range []int{0, -1, math.MaxInt} {
		bad = append(bad, calibrate.Target{Users: 1000, Rounds: n, Epsilon: 1, Delta: 1e-6})
		if n != 0 {
			bad = append(bad, calibrate.Target{Users: n, Rounds: 10, Epsilon: 1, Delta: 1e-6})
		}
	}
	for _, target := range bad {
		if e, _, err := shuffle.CalibrateRR(target, calibrate.Exact); err == nil {
			t.Errorf("RR for %+v: %+v", target, e)
		}
		if e, _, err := shuffle.CalibrateRR(target, calibrate.Paper); err == nil {
			t.Errorf("paper RR for %+v: %+v", target, e)
		}
		if e, _, err := bitnoise.CalibrateThreeNB(target, calibrate.Exact, 0.25); err == nil {
			t.Errorf("3NB for %+v: %+v", target, e)
		}
		if e, _, err := central.CalibrateGaussian(target, 1); err == nil && target.Users >= 0 {
			t.Errorf("Gaussian for %+v: %+v", target, e)
		}
	}
	for _, x := range hostile {
		if e, _, err := bitnoise.CalibrateThreeNB(good, calibrate.Exact, x); err == nil {
			t.Errorf("3NB with %v extra messages: %+v", x, e)
		}
		if e, _, err := central.CalibrateGaussian(good, x); err == nil {
			t.Errorf("Gaussian of sensitivity %v: %+v", x, e)
		}
	}
	if _, _, err := shuffle.CalibrateRR(good, "none"); err == nil {
		t.Error("an unknown accounting was accepted")
	}
	if _, _, err := bitnoise.CalibrateThreeNB(good, calibrate.Paper, 0.25); err == nil {
		t.Error("the paper's flood took a budget")
	}
	if _, _, err := shuffle.CalibrateOneHot(good, ""); err == nil {
		t.Error("one-hot reports without adjacency")
	}
}

// unknown is an event that no hook covers.
type unknown struct{}

func (unknown) Terms() (account.Guarantee, error) {
	return account.Guarantee{Adjacency: account.Replacement, Trust: account.Shuffled, Rounds: 1}, nil
}

func TestUnsupportedIsTyped(t *testing.T) {
	var u *account.Unsupported
	for _, e := range []account.Event{unknown{}, account.All{Events: []account.Event{unknown{}, shuffle.RandomizedResponse{Users: 10, Flip: 0.2}}}} {
		if _, err := account.Epsilon(e, 1e-6); !errors.As(err, &u) {
			t.Errorf("%T: %v", e, err)
		}
	}
	if _, err := account.LowerEpsilon(central.SubsampledGaussian{Sampling: 0.1, NoiseMultiplier: 1}, 1e-6); !errors.As(err, &u) {
		t.Errorf("lower bound of the subsampled Gaussian: %v", err)
	}
}

// With next to no noise, among few, losses are so large that a grid of them has no digits
// left: what one respondent's own messages tell bounds the epsilon then.
func TestNextToNoNoiseIsNoWorseThanTheMessages(t *testing.T) {
	for _, users := range []int{1, 3, 6} {
		for _, flip := range []float64{1e-12, 1e-10, 1.2e-8, 1e-6, 5e-5} {
			for _, e := range []account.Event{
				account.Repeat{Event: shuffle.OneHot{Users: users, Flip: flip, Adjacency: account.Removal, Keep: 0.5}, Rounds: 5},
				account.Repeat{Event: shuffle.OneHot{Users: users, Flip: flip, Adjacency: account.Replacement}, Rounds: 3},
				account.Repeat{Event: shuffle.RandomizedResponse{Users: users, Flip: flip}, Rounds: 4},
				account.Repeat{Event: shuffle.BucketResponse{Users: users, Flip: flip}, Rounds: 3},
				account.All{Events: []account.Event{shuffle.OneHot{Users: 1, Flip: flip, Adjacency: account.Removal, Keep: 0.5}, account.Repeat{Event: shuffle.OneHot{Users: users, Flip: flip, Adjacency: account.Removal, Keep: 0.5}, Rounds: 5}}},
			} {
				own, ok := account.OwnLosses(e)
				g, err := account.Epsilon(e, 1e-6)
				if err != nil || !ok || g.Epsilon > own || g.Epsilon < own/4 && users == 1 {
					t.Errorf("%+v: epsilon %v, own messages %v, %v, %v", e, g.Epsilon, own, ok, err)
				}
			}
		}
	}
	if own, ok := account.OwnLosses(account.All{Events: []account.Event{shuffle.RandomizedResponse{Users: 10, Flip: 0.1}, bitnoise.ThreeNB{Users: 500, Noise: 0.5, FloodShape: 12, FloodProb: 0.98}}}); ok {
		t.Errorf("what others' messages hide has a loss of its own: %v", own)
	}
}
