// Package experiment is confetti experiment: the papers' measurements.
package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/experiments"
	"github.com/confetti-dp/confetti/internal/experiments/kde"
	"github.com/confetti-dp/confetti/plan"
)

type Command struct {
	List      experimentList      `cmd:"" help:"Name the measurements."`
	Run       experimentRun       `cmd:"" help:"Make a figure or a table of the paper, or one of ours."`
	KDE       experimentKDE       `cmd:"" name:"kde" help:"Accuracy, error and cost of private kernel densities on a data set."`
	Histogram experimentHistogram `cmd:"" help:"Error and cost of private counts of a population."`
	Learn     experimentLearn     `cmd:"" help:"Accuracy and cost of a model learned from single bits in secret rows."`
	Labels    experimentLabels    `cmd:"" help:"Accuracy of a model learned from private labels of public features."`
	SGD       experimentSGD       `cmd:"" name:"sgd" help:"Accuracy of a model that learns from private gradients in rounds."`
	LTN       experimentLTN       `cmd:"" name:"ltn" help:"Accuracy of what is learned from private features and labels, though everyone colludes."`
}

type experimentKDE struct {
	flags.DataSets
	Dataset string `help:"agnews, agnews_lsa256, sst2, mnist, fashion-mnist, or synthetic." default:"synthetic"`
	KDEFlags
}

// KDEFlags describe one cell of the measurements of kernel densities.
type KDEFlags struct {
	flags.Mechanism
	flags.KernelChoice
	Authors    bool   `help:"With --bitsum 3nb --accounting paper: 0.8 of a round's epsilon for the noise, as in the program of the paper's authors, where the paper prints 0.99."`
	Classifier string `help:"Whose accuracy is the headline: highest-density, or nearest-mean for inner products; both are reported." default:"highest-density"`
	Seed       uint64 `help:"The same seed gives the same experiment." default:"1"`
	Runs       int    `help:"Repeat with new features and noise, and average." default:"1"`
	JSON       bool   `help:"Print one JSON object."`
}

func (experimentKDE) Help() string {
	return "Bitsums: rr and 3nb (shuffled), central (a curator's Gaussian noise), local (rr without a shuffler), none.\n\nExample:\n  confetti experiment kde --data DIR --dataset agnews --kernel gaussian --bitsum rr --epsilon 2 --delta 1e-5 --json"
}

func (c experimentKDE) Run(std terminal.Streams) error {
	cell, err := c.Cell()
	if err != nil {
		return err
	}
	set, err := source{c.DataSets, c.Dataset, c.Seed}.load()
	if err != nil {
		return err
	}
	return c.measure(std, cell, set)
}

// Cell is what the flags ask for, checked before anything is read.
func (c KDEFlags) Cell() (experiments.Cell, error) {
	label, labelErr := flags.ParseLabelEpsilon(c.LabelEpsilon)
	d := experiments.Density{
		Bitsum: c.Bitsum, Accounting: account.Accounting(c.Accounting), Epsilon: c.Epsilon, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta,
		Repetitions: c.Repetitions, NearestMean: c.Classifier == experiments.NearestMean,
	}
	if c.Authors {
		if c.Bitsum != "3nb" || d.Accounting != account.PaperAccounting {
			return experiments.Cell{}, terminal.Usagef("--authors is of --bitsum 3nb --accounting paper: give both, or leave it out")
		}
		d.Accounting = experiments.AuthorsAccounting
	}
	d.Kernel, _ = c.Choose(0)
	if label != plan.Unprotected {
		d.LabelEpsilon = float64(label)
	}
	cell := experiments.Cell{Seed: c.Seed, Runs: c.Runs, Density: d}
	classifier := flags.Word("classifier", c.Classifier, []string{experiments.HighestDensity, experiments.NearestMean})
	if err := errors.Join(c.Budget.Check(), c.KernelChoice.Check(), labelErr, classifier); err != nil {
		return cell, err
	}
	if err := cell.Validate(); err != nil {
		return cell, terminal.Usage(err)
	}
	return cell, nil
}

// measure runs the cell, and prints what came out.
func (c KDEFlags) measure(std terminal.Streams, cell experiments.Cell, set *dataset.Set) error {
	report, finish := terminal.Progress(std.Err)
	res, err := kde.Run(cell, set, c.Classifier, report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	return c.Show(std, cell, set, res)
}

// Show prints what came out.
func (c KDEFlags) Show(std terminal.Streams, cell experiments.Cell, set *dataset.Set, res experiments.Result) error {
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
	if res.ExactClassifier != "" {
		rows = slices.Insert(rows, 3, fmt.Sprintf("best without privacy %.4f, of classifiers that see the records: %s", res.AccuracyExact, res.ExactClassifier))
	}
	_, err := fmt.Fprintln(std.Out, strings.Join(rows, "\n"))
	return err
}
