package audit

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/simulate"
)

func calm(string, int, int) {}

func route(t testing.TB, p plan.Plan) *Route {
	t.Helper()
	r, err := NewRoute(p, Rounds{}, seed(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mixes wants the records furthest apart to keep the claims of answers that are mixed, and the route to be gone to its end.
func mixes(t *testing.T, p plan.Plan) {
	t.Helper()
	r := route(t, p)
	findings, err := r.Attack(2000, seed(t), calm)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		holds(t, f)
	}
	if last := findings[len(findings)-1]; last.Observer != account.ShufflerHonest {
		t.Errorf("the last finding is of %q", last.Observer)
	}
	if _, err := r.Seal(1, calm); err != nil {
		t.Error(err)
	}
}

// adds attacks sums that two aggregators add noise to: the claims of their observers are kept, most is found of each, and
// aggregators that add a third of the noise are caught.
func adds(t *testing.T, p plan.Plan) {
	t.Helper()
	r, by := route(t, p), p.Route.Sum.Noise
	g := r.legs[0]
	if err := g.ready(); err != nil {
		t.Fatal(err)
	}
	n := g.known.(noised)
	if sealed, err := r.Seal(1, calm); err != nil || sealed.Envelopes != 2*sealed.Devices {
		t.Errorf("%s: %+v went the whole way: %v", by, sealed, err)
	}
	twins := n.weakened(t, g.protocol.Plan, 0, 3)
	for observer, all := range n.observers() {
		claim, err := g.claim(observer)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range all {
			kept := o.Attack(claim, 8000, seed(t), quiet)
			holds(t, kept)
			less := kept // as if a twentieth were claimed: the attack has the power to prove that false
			less.Claimed.Epsilon /= 20
			stattest.Caught(t, func(tb testing.TB) { holds(tb, less) })
			if observer != relied(p) {
				continue // what another observer is promised is another part of the noise
			}
			broken := twins[observer][i].Attack(claim, 8000, seed(t), quiet)
			t.Logf("%s, %s: %v of %v; twin %v", by, observer, kept.Lower, claim.Epsilon, broken.Lower)
			stattest.Caught(t, func(tb testing.TB) { holds(tb, broken) })
		}
	}
}

// small are plans of several kinds, of few respondents.
func small(t testing.TB) map[string]plan.Plan {
	all := map[string]plan.Plan{}
	for _, name := range []string{"categories", "replacement", "set", "krr", "fragments"} {
		all[name] = example.Histograms()[name]
	}
	all["density"], all["poisson"] = example.Density("rr"), example.Density("poisson")
	for name, p := range all {
		p.Crowd.Minimum = 40
		all[name] = example.Design(t, p)
	}
	return all
}

// Every plan's route keeps its promises, and an attack finds something of what one device
// says.
func TestRoutesKeepTheirPromises(t *testing.T) {
	for name, p := range small(t) {
		t.Run(name, func(t *testing.T) {
			findings, err := route(t, p).Attack(1024, seed(t), calm)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings {
				holds(t, f)
				if f.Observer == account.EveryoneColludes && f.Lower < 0.3*f.Claimed.Epsilon {
					t.Errorf("of one device's report: %v of %v", f.Lower, f.Claimed.Epsilon)
				}
			}
			if last := findings[len(findings)-1]; last.Observer != account.ShufflerHonest {
				t.Errorf("the last finding is of %q", last.Observer)
			}
		})
	}
}

// A plan whose devices add half the noise that is promised of, epsilon 2, is caught: at
// 12,000 collections but for one seed in a thousand.
func TestRouteWithHalfTheNoiseIsCaught(t *testing.T) {
	p := example.Density("rr")
	example.Identity(&p, 1)
	p.Budget.LabelEpsilon, p.Budget.Delta, p.Crowd.Minimum = plan.Unprotected, 1e-3, 40
	p = example.Design(t, p)
	r := route(t, p)
	attack := func() Finding {
		findings, err := r.Attack(12_000, seed(t), calm)
		if err != nil {
			t.Fatal(err)
		}
		return findings[len(findings)-1]
	}
	right := attack()
	t.Logf("%v of %v", right.Lower, right.Claimed.Epsilon)
	holds(t, right)

	twin := r.legs[0].protocol.Plan
	density := *twin.Question.Density
	density.Bitsum.FlipProbability /= 4
	twin.Question.Density = &density
	weak, err := protocol.New(twin)
	if err != nil {
		t.Fatal(err)
	}
	r.legs[0].protocol = weak // its devices, and the promise of the others
	if r.legs[0].known, err = r.legs[0].look(r.legs[0].holds, stattest.Rand(t)); err != nil {
		t.Fatal(err)
	}
	found := attack()
	t.Logf("a quarter of the flips: %v (surely %v) of %v", found.Lower, found.Sure, found.Claimed.Epsilon)
	stattest.Caught(t, func(tb testing.TB) { holds(tb, found) })
}

// What went the whole way sealed is what was handed in, for every kind and way.
func TestSealedCollectionsArrive(t *testing.T) {
	plans := small(t)
	several := example.Density("rr")
	several.Route.Mix.Instances = slices.Repeat(several.Route.Mix.Instances, 2)
	plans["several instances"], plans["spread"] = several, example.Histograms()["spread"]
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		p := plans[name]
		if name != "spread" && name != "several instances" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p.Crowd.Minimum = 10
			r := route(t, example.Design(t, p))
			s, err := r.Seal(seed(t), calm)
			if err != nil || s.Devices < 10 || s.Envelopes < s.Devices {
				t.Errorf("%+v: %v", s, err)
			}
		})
	}
}

// A route that loses one message, or counts one twice, is caught.
func TestRouteThatChangesMessagesIsCaught(t *testing.T) {
	r := route(t, small(t)["krr"])
	values := slices.Repeat([]question.Value{r.legs[0].holds[2]}, 40)
	for name, change := range map[string]func(*simulate.Collection){
		"lost":    func(c *simulate.Collection) { lessen(c.Crowds[0].Tally.(*tally.Counts)) },
		"twice":   func(c *simulate.Collection) { c.Crowds[0].Tally.(*tally.Counts).N[0]++ },
		"dropped": func(c *simulate.Collection) { c.Dropped++ },
		"nothing": nil,
	} {
		c, err := simulate.Full(r.legs[0].protocol, r.keys, values, 7, calm)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(&c)
		}
		handed, err := r.legs[0].handed(values, 7)
		if err != nil {
			t.Fatal(err)
		}
		if err := arrived(c, handed); errors.Is(err, errRoute) != (change != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func lessen(c *tally.Counts) {
	for i, n := range c.N {
		if n > 0 {
			c.N[i]--
			return
		}
	}
}

// A plan of version 2, which names nobody who signs its releases, is attacked as any other.
func TestPlansOfVersion2AreAttacked(t *testing.T) {
	p := small(t)["krr"]
	p.Version, p.Analyzer.Releases = 2, ""
	if _, err := route(t, p).Attack(256, 1, calm); err != nil {
		t.Error(err)
	}
}

// What cannot be attacked is refused, by its name.
func TestPlansThatAreNotAttacked(t *testing.T) {
	p := small(t)["krr"]
	p.State = plan.StateName([]byte("state"))
	_, err := NewRoute(p, Rounds{}, 1)
	example.Mentions(t, err, "names a public state: give it too")
	_, err = NewRoute(p, Rounds{State: []byte("another")}, 1)
	example.Mentions(t, err, "another one than the plan names")
	_, err = NewRoute(small(t)["krr"], Rounds{Count: -1}, 1)
	example.Mentions(t, err, "-1 rounds")
}
