package shuffle

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// Every kind of calibration ends where a device can verify it.
func TestCalibrationsVerify(t *testing.T) {
	target := calibrate.Target{Users: 5000, Rounds: 32, Epsilon: 2, Delta: 1e-7}
	check := func(e account.Event, g account.Guarantee, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
			return
		}
		if g.Epsilon > target.Epsilon || g.Epsilon < target.Epsilon*(1-1e-4) {
			t.Errorf("%T calibrated to %v", e, g.Epsilon)
		}
		accounttest.Follows(t, account.Repeat{Event: e, Rounds: target.Rounds}, g)
	}
	rr, g, err := CalibrateRR(target, calibrate.Exact)
	check(rr, g, err)
	hot, g, err := CalibrateOneHot(target, account.Removal)
	check(hot, g, err)
	both, g, err := CalibrateOneHot(target, account.Replacement)
	check(both, g, err)
	if both.Flip <= hot.Flip {
		t.Errorf("replacement needs flips of %v, removal of %v", both.Flip, hot.Flip)
	}
	nb, g, err := bitnoise.CalibrateThreeNB(target, calibrate.Exact, 1)
	check(nb, g, err)
	normal, g, err := central.CalibrateGaussian(target, 3)
	check(normal, g, err)
}

// The paper's route keeps its target too, at its own price; the exact accountant
// agrees that the parameters it ends with are enough.
func TestPaperRoutes(t *testing.T) {
	target := calibrate.Target{Users: 1_000_000, Rounds: 100, Epsilon: 3, Delta: 1e-6}
	rr, g, err := CalibrateRR(target, calibrate.Paper)
	if err != nil {
		t.Fatal(err)
	}
	exact, _, err := CalibrateRR(target, calibrate.Exact)
	if err != nil {
		t.Fatal(err)
	}
	if g.Epsilon > target.Epsilon || g.Delta > target.Delta*(1+1e-9) || rr.RMSE() < 3*exact.RMSE() {
		t.Errorf("paper: (%v, %v) with RMSE %v, exact RMSE %v", g.Epsilon, g.Delta, rr.RMSE(), exact.RMSE())
	}
	accounttest.Follows(t, account.Repeat{Event: rr, Rounds: target.Rounds}, g)
	nb, g, err := bitnoise.CalibrateThreeNB(target, calibrate.Paper, 0)
	if err != nil {
		t.Fatal(err)
	}
	epsilon0, _ := theorems.KDERound(target)
	accounttest.Within(t, "noise", nb.Noise, bitnoise.KDEPrintedShare*epsilon0, 1e-12)
	if g.Epsilon > target.Epsilon || g.Delta > target.Delta*(1+1e-9) {
		t.Errorf("paper 3NB: (%v, %v)", g.Epsilon, g.Delta)
	}
	if _, _, err := CalibrateRR(calibrate.Target{Users: 1000, Rounds: 768, Epsilon: 1, Delta: 1e-6}, calibrate.Paper); err == nil {
		t.Error("Lemma 4.8 applied outside its domain")
	}
}
