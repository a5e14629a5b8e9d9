package collect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
)

// checkOnce refuses what says nothing of a question that is asked in one round; flags are its own, beside those
// of every collection.
func (c collectSimulate) checkOnce(given *kong.Context, errs terminal.Faults, question string, flags ...string) error {
	errs.Require(c.Minimum >= 0 && c.Minimum <= plan.MaxCrowd, "--minimum is %d: give 1 to %d respondents, or 0 for all", c.Minimum, plan.MaxCrowd)
	for _, p := range given.Path {
		if p.Flag != nil {
			errs.Require(slices.Contains(flags, p.Flag.Name) || slices.Contains(questionless, p.Flag.Name), "--%s says nothing of %s: leave it out", p.Flag.Name, question)
		}
	}
	errs.Require(c.LocalEpsilon == 0, "--local-epsilon: a device's own noise promises nothing where everyone colludes: leave it out")
	if c.Out != "" {
		errs = append(errs, terminal.Writable(c.Out))
	}
	return errors.Join(errs...)
}

// tell publishes what came of such a question with the notes of its table, and prints rows, what follows of every
// one, and the largest counts under a title; "" has none.
func (c collectSimulate) tell(std terminal.Streams, given *kong.Context, out collection.Told, notes, rows []string, title string) error {
	out.Release.Remarks = append(out.Release.Remarks, notes...)
	if c.Out != "" {
		if err := c.publish(std, given, &out.Release, out.Plan, out.Model, out.Public); err != nil {
			return err
		}
	}
	r := out.Result
	if c.JSON {
		return terminal.WriteJSON(std.Out, r)
	}
	rows = append(append(rows, verdicts(out.Release)...), sent(out.Plan, r)...)
	rows = append(rows, fmt.Sprintf("seconds              %.1f", r.Seconds))
	if _, err := fmt.Fprintln(std.Out, strings.Join(rows, "\n")); err != nil || title == "" {
		return err
	}
	return measure.ShowTop(std.Out, title, r.Top)
}
