package account

import (
	"strings"
	"testing"
)

func TestVerify(t *testing.T) {
	e := Repeat{RandomizedResponse{20000, 0.2}, 100}
	good, err := Epsilon(e, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(e, good); err != nil {
		t.Errorf("a true claim: %v", err)
	}
	modest := good
	modest.Epsilon *= 1.5
	if err := Verify(e, modest); err != nil {
		t.Errorf("a claim of less privacy than there is: %v", err)
	}
	for want, change := range map[string]func(*Guarantee){
		"the plan's numbers give": func(g *Guarantee) { g.Epsilon *= 1 - 1e-6 },
		"at delta":                func(g *Guarantee) { g.Delta /= 2 },
		"adjacency":               func(g *Guarantee) { g.Adjacency = Removal },
		"observer":                func(g *Guarantee) { g.Trust = Local },
		"rounds":                  func(g *Guarantee) { g.Rounds = 99 },
		"users":                   func(g *Guarantee) { g.Users *= 2 },
		"lower bound":             func(g *Guarantee) { g.Bound = Lower },
		"cannot verify":           func(g *Guarantee) { g.Delta = 0 },
	} {
		g := good
		change(&g)
		if err := Verify(e, g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Every kind of calibration ends where a device can verify it.
func TestCalibrationsVerify(t *testing.T) {
	target := Target{5000, 32, 2, 1e-7}
	check := func(e Event, g Guarantee, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
			return
		}
		if g.Epsilon > target.Epsilon || g.Epsilon < target.Epsilon*(1-1e-4) {
			t.Errorf("%T calibrated to %v", e, g.Epsilon)
		}
		if err := Verify(Repeat{e, target.Rounds}, g); err != nil {
			t.Errorf("%T: %v", e, err)
		}
	}
	rr, g, err := CalibrateRR(target, ExactAccounting)
	check(rr, g, err)
	hot, g, err := CalibrateOneHot(target, Removal)
	check(hot, g, err)
	both, g, err := CalibrateOneHot(target, Replacement)
	check(both, g, err)
	if both.Flip <= hot.Flip {
		t.Errorf("replacement needs flips of %v, removal of %v", both.Flip, hot.Flip)
	}
	nb, g, err := CalibrateThreeNB(target, ExactAccounting, 1)
	check(nb, g, err)
	normal, g, err := CalibrateGaussian(target, 3)
	check(normal, g, err)
}

// The paper's route keeps its target too, at its own price; the exact accountant
// agrees that the parameters it ends with are enough.
func TestPaperRoutes(t *testing.T) {
	target := Target{1_000_000, 100, 3, 1e-6}
	rr, g, err := CalibrateRR(target, PaperAccounting)
	if err != nil {
		t.Fatal(err)
	}
	exact, _, err := CalibrateRR(target, ExactAccounting)
	if err != nil {
		t.Fatal(err)
	}
	if g.Epsilon > target.Epsilon || g.Delta > target.Delta*(1+1e-9) || rr.RMSE() < 3*exact.RMSE() {
		t.Errorf("paper: (%v, %v) with RMSE %v, exact RMSE %v", g.Epsilon, g.Delta, rr.RMSE(), exact.RMSE())
	}
	if err := Verify(Repeat{rr, target.Rounds}, g); err != nil {
		t.Errorf("the paper's flips: %v", err)
	}
	nb, g, err := CalibrateThreeNB(target, PaperAccounting, 0)
	if err != nil {
		t.Fatal(err)
	}
	epsilon0, _ := target.round()
	within(t, "noise", nb.Noise, KDEPrintedShare*epsilon0, 1e-12)
	if g.Epsilon > target.Epsilon || g.Delta > target.Delta*(1+1e-9) {
		t.Errorf("paper 3NB: (%v, %v)", g.Epsilon, g.Delta)
	}
	if _, _, err := CalibrateRR(Target{1000, 768, 1, 1e-6}, PaperAccounting); err == nil {
		t.Error("Lemma 4.8 applied outside its domain")
	}
}
