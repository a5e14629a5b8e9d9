package amplify

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/shuffle/vectors"
)

// What is calibrated keeps its target exactly, whatever the number of respondents.
func TestCalibrationNeverEndsAboveItsTarget(t *testing.T) {
	users := []int{40_000} // two bits of that many once ended at epsilon 1.00000000002
	for n := 2; n < 3000; n += n/2 + 1 {
		users = append(users, n)
	}
	for _, n := range users {
		target := calibrate.Target{Users: n, Rounds: 1, Epsilon: 1, Delta: 1e-6}
		for name, calibrate := range map[string]func() (account.Event, account.Guarantee, error){
			"one bit": func() (account.Event, account.Guarantee, error) {
				return ended(shuffle.CalibrateRR(target, calibrate.Exact))
			},
			"one-hot, replacement": func() (account.Event, account.Guarantee, error) {
				return ended(shuffle.CalibrateOneHot(target, account.Replacement))
			},
			"one-hot, removal": func() (account.Event, account.Guarantee, error) {
				return ended(shuffle.CalibrateOneHot(target, account.Removal))
			},
			"asymmetric one-hot": func() (account.Event, account.Guarantee, error) {
				return ended(shuffle.CalibrateAsymmetricOneHot(target, 0.5, account.Replacement))
			},
			"k-ary response": func() (account.Event, account.Guarantee, error) {
				event := func(local float64) account.Event { return KaryResponse{Users: n, K: 5, Epsilon: local} }
				local, g, err := CalibrateLocal(target, event)
				return event(local), g, err
			},
			"Gaussian": func() (account.Event, account.Guarantee, error) {
				return ended(central.CalibrateGaussian(target, float64(n)))
			},
			"buckets": func() (account.Event, account.Guarantee, error) { return ended(shuffle.CalibrateBuckets(target)) },
			"vector": func() (account.Event, account.Guarantee, error) {
				e, err := vectors.VectorFlip(n, 16, 4, target.Epsilon, target.Delta)
				return recomputed(e, target, err)
			},
			"Poisson": func() (account.Event, account.Guarantee, error) {
				e, err := bitnoise.PoissonMean(n, 1, target.Epsilon, target.Delta)
				return recomputed(e, target, err)
			},
			"thinned": func() (account.Event, account.Guarantee, error) {
				e, g, err := bitnoise.CalibrateThinnedNegativeBinomialSum(target, 0.5, 3)
				return bitnoise.ThinnedNegativeBinomialSum{Sum: e, Times: 3}, g, err
			},
			"fragments": func() (account.Event, account.Guarantee, error) {
				f, g, err := shuffle.CalibrateFragments(target, 4, account.Replacement)
				return f.OneHot(0), g, err
			},
			"3NB": func() (account.Event, account.Guarantee, error) {
				extra, err := bitnoise.FloodMessages(target)
				if err != nil {
					return nil, account.Guarantee{}, err
				}
				return ended(bitnoise.CalibrateThreeNB(target, calibrate.Exact, extra))
			},
			"pure": func() (account.Event, account.Guarantee, error) { return ended(bitnoise.CalibratePure(target)) },
			"subsets": func() (account.Event, account.Guarantee, error) {
				event := func(local float64) account.Event {
					return FavouredResponse{Users: n, Share: 0.2, Apart: 0.18, Epsilon: local}
				}
				local, g, err := CalibrateLocal(target, event)
				return event(local), g, err
			},
		} {
			if slow[name] && n != 61 && n != 472 && n != 40_000 {
				continue
			}
			e, g, err := calibrate()
			if err != nil && n < 50 {
				continue // too few to hide among
			}
			again := accounttest.EpsilonFrom(t, account.Epsilon, account.Repeat{Event: e, Rounds: 1}, target.Delta)
			least := 0.999 * target.Epsilon
			if coarse[name] {
				least = 0.9 * target.Epsilon
			}
			if few := n < 50 || name == "k-ary response" || name == "subsets"; few { // as far as reports tell anything at all
				least = 0
			}
			if err != nil || g.Epsilon > target.Epsilon || again > target.Epsilon || again < least {
				t.Errorf("%s of %d: epsilon %.17g, recomputed %.17g, %v", name, n, g.Epsilon, again, err)
			}
		}
	}
}

// The calibrators that take a part of a second, and those that end some percent below.
var (
	slow   = map[string]bool{"subsets": true, "thinned": true, "fragments": true, "vector": true, "buckets": true}
	coarse = map[string]bool{"vector": true, "pure": true, "3NB": true}
)

// recomputed is the guarantee of a calibrator that returns none.
func recomputed(e account.Event, t calibrate.Target, err error) (account.Event, account.Guarantee, error) {
	if err != nil {
		return nil, account.Guarantee{}, err
	}
	g, err := account.Epsilon(account.Repeat{Event: e, Rounds: t.Rounds}, t.Delta)
	return e, g, err
}

func ended[E account.Event](e E, g account.Guarantee, err error) (account.Event, account.Guarantee, error) {
	return e, g, err
}
