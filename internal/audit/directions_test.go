package audit

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/direction"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

// Directions keep their claim of epsilon 2, and reports of twice the local epsilon, half of the noise, do not.
// Of one report half the noise proves ln(0.982/0.018) = 4 but for 0.5 in 4,096 views, where
// 2.7 is missed once in a million seeds.
func TestDirections(t *testing.T) {
	const dim, runs = 5, 4096
	sign, hood := direction.Sign{Dim: dim, Clip: 1, Epsilon: 2}, direction.BestCap(dim, 1, 2)
	loud, narrow := sign, hood
	loud.Epsilon, narrow.Epsilon = 4, 4
	for name, c := range map[string]struct {
		event       func(users int) account.Event
		right, twin director
	}{"sign": {sign.Event, sign, loud}, "cap": {hood.Event, hood, narrow}} {
		t.Run(name, func(t *testing.T) {
			claim := claimed(t, c.event(1), 1e-5)
			f := Directions(c.right, dim, 1, 1).Attack(claim, runs, seed(t), quiet)
			if holds(t, f); f.Lower < 0.75*claim.Epsilon {
				t.Errorf("found %v of %v", f.Lower, claim.Epsilon)
			}
			holds(t, Directions(c.right, dim, 1, 20).Attack(claimed(t, c.event(20), 1e-3), 1024, seed(t), quiet))
			found := directions(c.twin, c.right, dim, 1, 1).Attack(claim, runs, seed(t), quiet)
			stattest.Caught(t, func(tb testing.TB) { holds(tb, found) })
		})
	}
}

// gradientPlan is a plan of gradients of few devices.
func gradientPlan(t testing.TB, report string) plan.Plan {
	p := example.Gradient(report)
	p.Crowd.Minimum, p.Budget.Epsilon, p.Budget.Delta = 20, 2, 1e-3
	if report != gradient.Vector {
		p.Budget.Epsilon, p.Budget.LocalEpsilon = 0, 3
	}
	return example.Design(t, p)
}

// Gradients keep their promise in the first round and in two that follow each other, whatever
// says them; and of what one device says a good part is found.
func TestGradientsInRounds(t *testing.T) {
	for _, report := range plan.GradientReports {
		t.Run(report, func(t *testing.T) {
			r, err := NewRoute(gradientPlan(t, report), Rounds{Count: 2}, seed(t))
			if err != nil {
				t.Fatal(err)
			}
			if state := r.legs[1].protocol.Plan.State; state == "" || state == r.legs[0].protocol.Plan.State {
				t.Errorf("the second round asks with state %q", state)
			}
			all, err := r.Attack(512, seed(t), calm)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range all {
				holds(t, f)
				t.Log(f.Observer, f)
			}
			if last := all[len(all)-1]; last.Observer != account.AllRoundsSeen {
				t.Errorf("the last finding is of %q", last.Observer)
			}
			if one := all[0]; one.Observer == account.EveryoneColludes && one.Lower < 0.8 {
				t.Errorf("of one device's report: %v of %v", one.Lower, one.Claimed.Epsilon)
			}
			sealed, err := r.Seal(seed(t), calm)
			if err != nil || sealed.Devices < 20 {
				t.Errorf("%+v: %v", sealed, err)
			}
		})
	}
}

// A later round by itself asks with the state that its plan names.
func TestARoundByItself(t *testing.T) {
	p := gradientPlan(t, gradient.Direction)
	first, err := NewRoute(p, Rounds{Count: 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	p = first.legs[1].protocol.Plan
	second, err := NewRoute(p, Rounds{State: first.legs[1].state}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if second.legs[0].protocol.Plan.State != p.State || math.IsNaN(second.legs[0].known.distance()) {
		t.Error("the round asks with another state")
	}
}
