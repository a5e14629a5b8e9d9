package experiment

import (
	"errors"
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/kde"
	"github.com/confetti-dp/confetti/plan"
)

// kdeFlags describe one cell of the measurements of kernel densities.
type kdeFlags struct {
	flags.Mechanism
	flags.KernelChoice
	Authors    bool   `help:"With --bitsum 3nb --accounting paper: 0.8 of a round's epsilon for the noise, as in the program of the paper's authors, where the paper prints 0.99."`
	Classifier string `help:"Whose accuracy is the headline: highest-density, or nearest-mean for inner products; both are reported." default:"highest-density"`
	Seed       uint64 `help:"The same seed gives the same experiment." default:"1"`
	Runs       int    `help:"Repeat with new features and noise, and average." default:"1"`
	JSON       bool   `help:"Print one JSON object."`
}

// cell returns what the flags ask for, checked before anything is read.
func (c kdeFlags) cell() (experiments.Cell, error) {
	label, labelErr := flags.ParseLabelEpsilon(c.LabelEpsilon)
	d := experiments.Density{
		Bitsum: c.Bitsum, Accounting: calibrate.Accounting(c.Accounting), Epsilon: c.Epsilon, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta,
		Repetitions: c.Repetitions, NearestMean: c.Classifier == measure.NearestMean,
	}
	if c.Authors {
		if !experiments.Programmed(c.Bitsum) || d.Accounting != calibrate.Paper {
			return experiments.Cell{}, terminal.Usagef("--authors is of --bitsum 3nb --accounting paper: give both, or leave it out")
		}
		d.Accounting = experiments.AuthorsAccounting
	}
	d.Kernel, _ = c.Choose(0)
	if label != plan.Unprotected {
		d.LabelEpsilon = float64(label)
	}
	cell := experiments.Cell{Seed: c.Seed, Runs: c.Runs, Density: d}
	classifier := flags.Word("classifier", c.Classifier, []string{measure.HighestDensity, measure.NearestMean})
	if err := errors.Join(c.Budget.Check(), c.KernelChoice.Check(), labelErr, classifier); err != nil {
		return cell, err
	}
	if err := cell.Validate(); err != nil {
		return cell, terminal.Usage(err)
	}
	return cell, nil
}

// measure runs the cell, and prints what came out.
func (c kdeFlags) measure(std terminal.Streams, cell experiments.Cell, set *dataset.Set) error {
	report, finish := terminal.Progress(std.Err)
	res, err := kde.Run(cell, set, c.Classifier, report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	return c.show(std, cell, set, res)
}

// show prints what came out.
func (c kdeFlags) show(std terminal.Streams, cell experiments.Cell, set *dataset.Set, res experiments.Result) error {
	if c.JSON {
		return terminal.WriteJSON(std.Out, res)
	}
	epsilon := "none: no guarantee"
	if res.Epsilon != nil {
		epsilon = fmt.Sprintf("%s; %s", account.Verdict(res.Epsilon, res.Delta, account.Adjacency(res.Adjacency)), res.Method)
	}
	labels := "not protected"
	if cell.Density.LabelEpsilon > 0 {
		labels = fmt.Sprintf("epsilon %g, local", cell.Density.LabelEpsilon)
		if res.AccuracyDebiased > 0 {
			labels += fmt.Sprintf("; with the noise taken out accuracy %.4f", res.AccuracyDebiased)
		}
	}
	nearest := ""
	if res.AccuracyNearestMean > 0 {
		nearest = fmt.Sprintf(", nearest mean %.4f", res.AccuracyNearestMean)
	}
	spread := ""
	if res.Runs > 1 {
		spread = fmt.Sprintf(" (standard deviation %.4f over %d runs)", res.AccuracyStd, res.Runs)
	}
	rows := []string{
		set.String(),
		fmt.Sprintf("accuracy             %.4f%s", res.Accuracy, spread),
		fmt.Sprintf("without privacy      %.4f, with the same kernel", res.AccuracyNoPrivacy),
		fmt.Sprintf("classifier           %s (highest density %.4f%s)", res.Classifier, res.AccuracyHighestDensity, nearest),
		"features             " + epsilon,
		"everyone colludes    " + account.Verdict(res.EpsilonLocal, 0, account.Replacement),
		"labels               " + labels,
		fmt.Sprintf("error of one bitsum  %.4g respondents (smallest class %d)", res.RMSEBitsum, res.Users),
	}
	if res.KDERMSE > 0 {
		rows = append(rows, fmt.Sprintf("error of a density   %.4g", res.KDERMSE))
	}
	rows = append(rows,
		fmt.Sprintf("messages per device  %.4g", res.MessagesPerDevice),
		fmt.Sprintf("seconds              %.1f", res.Seconds))
	_, err := fmt.Fprintln(std.Out, strings.Join(rows, "\n"))
	return err
}
