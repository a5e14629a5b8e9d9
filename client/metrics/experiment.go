package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
)

// maxArms bounds the arms of an experiment.
const maxArms = 8

// validateExperiment reports what is wrong with the arms and outcomes of an experiment, or that another kind has some.
func (m Metric) validateExperiment(require func(bool, string, ...any)) {
	if m.Kind != "experiment" {
		require(len(m.Arms) == 0 && len(m.Outcomes) == 0, "arms and outcomes are of an experiment")
		return
	}
	require(len(m.Arms) >= 2 && len(m.Arms) <= maxArms, "an experiment has 2 to %d arms", maxArms)
	require(len(m.Outcomes) >= 2, "an experiment has 2 outcomes or more, and the first is that of a device on which none happened")
	var ps plan.Problems
	ps.Names("arms", m.Arms)
	ps.Names("outcomes", m.Outcomes)
	for _, p := range ps {
		require(false, "%s", p)
	}
	m.validatePairs(m.Arms, m.Outcomes, require)
}

// saysExperiment returns in words what an experiment asks.
func (m Metric) saysExperiment() string {
	return fmt.Sprintf("your device draws one of %s and keeps it until the end, and says with it what happened then: %s. Where nothing of it was shown it says none, and who did not agree for the whole period unset. Who has left the app does not answer, and is not in it", strings.Join(m.Arms, ", "), strings.Join(m.Outcomes, ", "))
}

// arm is what a device has drawn in an experiment.
type arm struct {
	Arm   string    `json:"arm"`            // "": the app showed the first one without a draw, and the device says none for good
	Since time.Time `json:"since,omitzero"` // of when it was shown first; zero where it was not yet
}

// draw draws an arm of each experiment that the person has agreed to and that has none. The draw comes before anything is shown.
func (s *state) draw(listed map[string]Metric) {
	for name, m := range listed {
		if _, drawn := s.Arms[name]; drawn || m.Kind != "experiment" || s.Agreed[name].To != m.hash() {
			continue
		}
		if s.Arms == nil {
			s.Arms = map[string]arm{}
		}
		s.Arms[name] = arm{Arm: m.Arms[rng.New().IntN(len(m.Arms))]}
	}
}

// showed notes which experiments showed their first arm without a draw: these devices say none until the end.
func (s *state) showed(names map[string]bool, listed map[string]Metric) {
	for name := range names {
		if listed[name].Kind != "experiment" {
			continue
		}
		if s.Arms == nil {
			s.Arms = map[string]arm{}
		}
		s.Arms[name] = arm{}
	}
}

// drawn returns the arm that a device says, of what was shown before a time; "" where it says none.
func (s *state) drawn(m Metric, until time.Time) string {
	a := s.Arms[m.Name]
	if a.Since.IsZero() || !a.Since.Before(until) || !slices.Contains(m.Arms, a.Arm) {
		return ""
	}
	return a.Arm
}

// leave forgets the arms that were never shown. Of the others the device says none for good: whoever said no is shown the
// first arm from then on, and not the one that was drawn.
func (s *state) leave() {
	for name, a := range maps.Clone(s.Arms) {
		if a.Arm != "" && a.Since.IsZero() {
			delete(s.Arms, name)
		} else {
			s.Arms[name] = arm{}
		}
	}
}

// Arm returns which arm of an experiment the app shows, and notes that it did. It is the first one before the person has agreed,
// after a no and after the end of the metric. A device that showed it without a draw says none for good.
func (a *App) Arm(name string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m, listed := a.metrics[name]
	switch {
	case a.metrics == nil:
		a.shown(name)
		return "", errClosed
	case !listed:
		return "", refuse("unknown-metric", "metrics: %s is no metric of %s", plan.Quoted(name), a.registry.App)
	case m.Kind != "experiment":
		return "", refuse("wrong-type", "metrics: %s is a %s, and has no arms", name, m.Kind)
	}
	now := a.options.Now()
	drawn, some := a.arms[name]
	switch {
	case m.Ended(now):
		return m.Arms[0], nil
	case !some || off():
		a.shown(name)
		return m.Arms[0], nil
	case !slices.Contains(m.Arms, drawn.Arm):
		return m.Arms[0], nil
	}
	if before := a.pending[name]; drawn.Since.IsZero() && before.Since.IsZero() {
		before.Some, before.Since = true, now
		a.pending[name] = before
	}
	return drawn.Arm, nil
}

// shown notes that an experiment showed its first arm without a draw. The caller holds mu.
func (a *App) shown(name string) {
	if a.first == nil {
		a.first = map[string]bool{}
	}
	a.first[name] = true
}

// Experiment shows an arm that the device drew, and keeps what happened with it.
type Experiment[A, O ~string] struct {
	App   *App
	Name  string
	First A // what is shown where nothing is drawn
}

// Arm returns which arm the app shows.
func (e Experiment[A, O]) Arm() A {
	drawn, err := e.App.Arm(e.Name)
	if err != nil {
		return e.First
	}
	return A(drawn)
}

// Outcome keeps that this happened. Of several in a period the one that is listed last counts.
func (e Experiment[A, O]) Outcome(o O) {
	_ = e.App.count(e.Name, false, value{Text: string(o)}, "experiment")
}
