package shuffle

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/prob"
)

// Calibrated noise is that of the same epsilon whatever the number of respondents: it does not grow with what is left out.
func TestCalibratedNoiseDoesNotGrow(t *testing.T) {
	rmse := func(users int) float64 {
		e, _, err := CalibrateRR(calibrate.Target{Users: users, Rounds: 768, Epsilon: 1, Delta: 1e-6}, calibrate.Exact)
		if err != nil {
			t.Fatal(err)
		}
		return e.RMSE()
	}
	few := rmse(10_000)
	for _, users := range []int{1e6, 1e9, account.MaxUsers} {
		if ratio := rmse(users) / few; ratio > 1.002 {
			t.Errorf("%d users: %v of the noise of 10,000", users, ratio)
		} else {
			t.Logf("%d users: %v of the noise of 10,000", users, ratio)
		}
	}
}

// A certificate costs the same from a million respondents on, and is near what is surely lost.
func TestCertificatesAtScale(t *testing.T) {
	for _, users := range []int{1e6, account.MaxUsers} {
		e := account.Repeat{Event: RandomizedResponse{Users: users, Flip: 13_800 / float64(users)}, Rounds: 768}
		before := prob.Counted()
		g, err := account.Certify(e, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		terms := prob.Counted() - before
		least, err := account.LowerEpsilon(e, 1e-6)
		if err != nil || g.Epsilon < least.Epsilon || g.Epsilon > least.Epsilon*1.003 {
			t.Errorf("%d users: epsilon from %v to %v (%v)", users, least.Epsilon, g.Epsilon, err)
		}
		if terms > 400e6 {
			t.Errorf("%d users: %d terms", users, terms)
		}
		t.Logf("%d users: %v, no less than %v, %d terms: %s", users, g.Epsilon, least.Epsilon, terms, g.Certified)
	}
}
