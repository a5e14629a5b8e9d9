// Package experiment implements the commands of confetti-lab: the papers' measurements. Used by
// lab/cmd/confetti-lab.
package experiment

import (
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
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
	Strings   experimentStrings   `cmd:"" name:"strings" help:"How frequent strings that nobody listed are found, beside rivals, or among devices that lie."`
	Tables    experimentTables    `cmd:"" help:"Make up people whose columns tell of each other, for tables of every two."`
	Crosstabs experimentCrosstabs `cmd:"" help:"How exact tables of every two columns are, beside rivals."`
}

type experimentKDE struct {
	flags.DataSets
	Dataset string `help:"agnews, agnews_lsa256, sst2, mnist, fashion-mnist, or synthetic." default:"synthetic"`
	kdeFlags
}

func (experimentKDE) Help() string {
	return "Bitsums: rr and 3nb (shuffled), central (a curator's Gaussian noise), local (rr without a shuffler), none.\n\nExample:\n  confetti-lab kde --data DIR --dataset agnews --kernel gaussian --bitsum rr --epsilon 2 --delta 1e-5 --json"
}

func (c experimentKDE) Run(std terminal.Streams) error {
	cell, err := c.cell()
	if err != nil {
		return err
	}
	set, err := source{c.DataSets, c.Dataset, c.Seed}.load()
	if err != nil {
		return err
	}
	return c.measure(std, cell, set)
}
