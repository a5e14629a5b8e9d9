package up

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

// What a trial has that is made without being told otherwise.
const (
	usuallyOpen    = 15 * time.Minute
	usuallyDevices = 200
)

// closes returns how long the collection of a new trial is open.
func (c Command) closes() time.Duration {
	if c.Closes != nil {
		return *c.Closes
	}
	return usuallyOpen
}

// devices returns how many get a token in a new trial. A poll has a place for each phone.
func (c Command) devices() int {
	n := usuallyDevices
	if c.Devices != nil {
		n = *c.Devices
	}
	return max(n, c.places)
}

// another refuses flags that a trial was made without: its plan is signed, and its tokens are drawn. What is said again as
// it was is no error.
func (c Command) another(t trial.Folder, signed plan.Signed) error {
	first := signed
	if signed.Study != nil {
		var err error
		if first, err = plans.ReadSigned(t.Round(1)); err != nil {
			return err
		}
	}
	var faults terminal.Faults
	refuse := func(flag string, given, has any) {
		faults.Require(false, "--%s is %v, and the trial in %s was made with %v: leave --%s out to go on with that one, or start another in another folder", flag, given, t, has, flag)
	}
	if open := first.Plan.Times.Closes.Sub(first.Plan.Times.Opens); c.Closes != nil && *c.Closes != open {
		refuse("closes", *c.Closes, open)
	}
	if c.Devices != nil {
		text, err := atomicfile.Read(t.Path(trial.Devices))
		if err != nil {
			return err
		}
		if n := strings.Count(string(text), "\n"); c.devices() != n {
			refuse("devices", c.devices(), n)
		}
	}
	if kind := signed.Plan.Route.Kind; c.Route != "" && c.Route != kind {
		refuse("route", c.Route, kind)
	}
	if c.Rounds > 0 {
		has := "one round alone"
		if s := signed.Study; s != nil {
			has = roundsOf(s.Rounds, s.Takes, s.Withheld, s.Merged)
		}
		terms, n := c.Settle(signed.Plan, c.Rounds)
		if given := roundsOf(n, terms.Takes, terms.Withheld, terms.Merged); given != has {
			refuse("rounds", given, has)
		}
	}
	if c.State != "" {
		if err := sameState(c.State, signed); err != nil {
			return errors.Join(append(faults, err)...)
		}
	}
	return errors.Join(faults...)
}

// roundsOf says in words how a study goes on.
func roundsOf(rounds int, takes, withheld string, merged bool) string {
	words := fmt.Sprintf("%d (--takes %s --withheld %s", rounds, takes, withheld)
	if merged {
		words += " --merged"
	}
	return words + ")"
}

// sameState refuses a public state that is not the one of the trial's plan.
func sameState(path string, signed plan.Signed) error {
	if signed.Study != nil {
		return terminal.Usagef("--state: the rounds of a study find theirs by themselves: leave it out")
	}
	if signed.Plan.State == "" {
		return terminal.Usagef("--state: the plan of the trial names no public state: leave it out")
	}
	text, err := atomicfile.Read(path)
	if err != nil {
		return err
	}
	if plan.StateName(text) != signed.Plan.State {
		return terminal.Usagef("--state: %s is another public state than %s, which the plan of the trial names: leave it out, or start another trial in another folder", path, plan.Short(signed.Plan.State))
	}
	return nil
}
