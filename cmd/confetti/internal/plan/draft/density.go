package draft

import (
	"errors"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/plan"
)

type densityPlan struct {
	parties
	Title     string   `help:"What the respondents are asked." default:"A density for each class"`
	Dimension int      `help:"Length of a respondent's vector." required:"" placeholder:"D"`
	Classes   []string `help:"Names of the classes." required:"" placeholder:"A"`
	Normalize bool     `help:"Scale vectors to unit length on the device."`
	flags.KernelChoice
	flags.Mechanism
}

func (densityPlan) Help() string {
	return "Example:\n  confetti plan new density plan.toml --dimension 256 --classes Business,Sports --epsilon 2 --minimum 3000 --keys keys"
}

func (c densityPlan) Run(std terminal.Streams) error {
	p, err := c.draft()
	if err != nil {
		return err
	}
	return c.write(std, p, "dimension", "repetitions", "bitsum")
}

// draft returns the plan as asked for, without keys and noise.
func (c densityPlan) draft() (plan.Plan, error) {
	label, labelErr := flags.ParseLabelEpsilon(c.LabelEpsilon)
	errs := terminal.Faults{c.Budget.Check(), c.KernelChoice.Check(), labelErr, c.parties.check()}
	errs.Require(c.Dimension >= 1 && c.Dimension <= kernelmap.MaxDimension, "--dimension is %d: give 1 to %d", c.Dimension, kernelmap.MaxDimension)
	errs.Require(len(c.Classes) >= 1 && len(c.Classes) <= plan.MaxClasses, "--classes names %d: give 1 to %d", len(c.Classes), plan.MaxClasses)
	errs.Require(slices.Contains(plan.Bitsums, c.Bitsum), "--bitsum is %q: a plan's is one of %s", c.Bitsum, strings.Join(plan.Bitsums, ", "))
	if err := errors.Join(errs...); err != nil {
		return plan.Plan{}, err
	}
	kernel, repetitions := c.Choose(c.Dimension)
	kernel.Seed = freshSeed()
	return c.plan(c.Title, plan.Question{Kind: "density", Density: &plan.Density{
		Dimension: c.Dimension, Normalize: c.Normalize,
		Kernel: kernel, Repetitions: repetitions,
		Bitsum: plan.Bitsum{Name: c.Bitsum, Accounting: c.Accounting},
	}}, c.Classes, plan.Budget{Epsilon: c.Epsilon, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta, Adjacency: "replacement", LabelEpsilon: label})
}
