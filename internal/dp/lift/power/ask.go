package power

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/plan"
)

// Asked is an experiment, how many people it takes in a look, and what is said of it.
type Asked struct {
	Plan    plan.Experiment // but for its seed
	Minimum int
	Needed  int // people, in all looks together, for the lift that is aimed at; 0: none is
	Says    []string
}

// usualPeople are who a range is chosen for where nobody says how many.
const usualPeople = 40_000

// Ask fills in of an experiment what follows from what is known of each metric, for answers that go a route, of at least so
// many people in each look; 0: as many as the aim needs, of a lift of 0 none. A metric of which nothing is known has its
// range.
func Ask(e plan.Experiment, known []Known, aim Aim, route plan.Route, b plan.Budget, minimum int) (Asked, error) {
	e.Metrics = slices.Clone(e.Metrics)
	names := slices.Clone(e.Metrics)
	a := Asked{Plan: e, Minimum: minimum}
	noise := func(people int) float64 { return lift.Deviation(e, route, b, people) }
	people := minimum
	if people == 0 {
		people = usualPeople
	}
	shapes := make([]Shape, len(known))
	fit := func() (err error) {
		for i := range known {
			if known[i].Rows == nil {
				continue
			}
			if e.Metrics[i], shapes[i], err = known[i].Fit(names[i], people, noise(people)); err != nil {
				return fmt.Errorf("%s: %w", names[i].Name, err)
			}
		}
		return nil
	}
	if err := fit(); err != nil {
		return a, err
	}
	if minimum > 0 && minimum < lift.Fewest {
		a.Says = append(a.Says, fmt.Sprintf("of fewer than %d people in all looks together no lift is shown, and a look may be of %d", lift.Fewest, minimum))
	}
	if aim.Lift == 0 || known[0].Rows == nil {
		return a, nil
	}
	need, err := needed(e, 0, shapes[0], aim, noise)
	if err != nil {
		return a, err
	}
	if minimum == 0 { // ranges for as many as it will be
		people = max(lift.Fewest, need.People/e.Looks)
		if err := fit(); err != nil {
			return a, err
		}
		if need, err = needed(e, 0, shapes[0], aim, noise); err != nil {
			return a, err
		}
		a.Minimum = max((need.People+e.Looks-1)/e.Looks, lift.Fewest)
	}
	a.Needed = need.People
	says := fmt.Sprintf("people needed: %d, for a lift of %.3g %% of %s in %.0f of 100 experiments", need.People, 100*aim.Lift, names[0].Name, 100*aim.Power)
	if e.Looks > 1 {
		says += fmt.Sprintf(", in %d looks of %d", e.Looks, a.Minimum)
	}
	without := fmt.Sprintf("%d by a plain test", need.Plain)
	if known[0].Error == nil { // cells of a release have noise, of which what is left far out would be mostly made
		without += fmt.Sprintf(", %d with what was known before", need.Adjusted)
	}
	a.Says = append(a.Says, says, fmt.Sprintf("without privacy: %s; noise makes %.0f %% of the interval", without, 100*need.Noise))
	if minimum == 0 && need.People < lift.Fewest*e.Looks {
		a.Says = append(a.Says, fmt.Sprintf("of fewer than %d people no interval is known to hold: each look asks as many", lift.Fewest))
	}
	return a, nil
}
