package experiment

import (
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/lab/learn"
	"github.com/confetti-dp/confetti/plan"
)

type experimentLearn struct {
	flags.DataSets
	Dataset  string  `help:"${learnable}." default:"synthetic"`
	Features string  `help:"Of images gradients or pixels, of texts lsa or hashed, of loans columns or fourier; the first if left out." placeholder:"NAME"`
	Bits     int     `help:"That a device answers in all rounds together, on average; none where the length of vectors is proved. Without flag, 8192." placeholder:"B"`
	Rounds   int     `help:"The first learns from sums, later ones from gradients." default:"1"`
	Takes    string  `help:"all: devices answer every round; one: each answers one round, with the whole budget." enum:"one,all" default:"all"`
	Epsilon  float64 `help:"Privacy of a whole record, its label inside." default:"1"`
	Delta    float64 `help:"Probability that the promise may fail by." default:"1e-5"`
	Public   string  `help:"What features are made from: synthetic inputs, or inputs of the data set without labels (unlabelled), whose owners do not answer." placeholder:"NAME"`
	flags.Route
	Seed  uint64 `help:"The same seed gives the same experiment." default:"1"`
	Model string `help:"Write what was learned to this file, for confetti predict." type:"path" placeholder:"FILE"`
	JSON  bool   `help:"Print one JSON object."`
}

func (experimentLearn) Help() string {
	return "Learns a classifier (of loans, a regression) from single bits that devices answer in secret rows, or with --route sum\n--noise aggregators from whole vectors of proved length. Every bit is drawn. Beside it: the same learner with a curator's Gaussian noise, and without noise.\n\nExample:\n  confetti-lab learn --data DIR --dataset mnist --bits 8192 --rounds 5 --epsilon 1 --delta 1e-5 --json"
}

func (c experimentLearn) Run(std terminal.Streams) error {
	noise := c.Route.Adds("vector")
	if c.Bits == 0 && (noise == "" || noise == plan.NoiseDevices) {
		c.Bits = 8192
	}
	setting, err := learn.Setting{Dataset: c.Dataset, Features: c.Features, Public: c.Public, Bits: c.Bits, Rounds: c.Rounds, Takes: c.Takes,
		Epsilon: c.Epsilon, Delta: c.Delta, Seed: c.Seed, Noise: noise}.Complete()
	if err != nil {
		return terminal.Usage(err)
	}
	if err := c.Route.Check(); err != nil {
		return err
	}
	if err := flags.CheckBudget(c.Epsilon, c.Delta); err != nil {
		return err
	}
	if c.Dataset != "synthetic" && c.Data == "" {
		return terminal.Usagef("--dataset %s needs the folder of data sets: --data DIR or CONFETTI_DATA", c.Dataset)
	}
	report, finish := terminal.Progress(std.Err)
	res, model, err := learn.Run(setting, c.Data, report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	if c.Model != "" {
		if model == nil {
			return fmt.Errorf("features %s have no file: leave out --model, or take others", setting.Features)
		}
		text, err := model.Marshal()
		if err == nil {
			err = atomicfile.Replace(c.Model, text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, res)
	}
	return showLearned(std, res)
}

func showLearned(std terminal.Streams, r learn.Result) error {
	rows := []string{fmt.Sprintf("%s, %s in %d dimensions from %s inputs: %d respondents", r.Dataset, r.Features, r.Dimension, r.Public, r.Respondents)}
	line := func(what, value string) { rows = append(rows, fmt.Sprintf("%-20s %s", what, value)) }
	three := func(what string, drawn, exact, central float64, more string) {
		line(what, fmt.Sprintf("%.4f%s", drawn, more))
		line("with a curator", fmt.Sprintf("%.4f", central))
		line("without privacy", fmt.Sprintf("%.4f", exact))
	}
	switch {
	case r.Accuracies != nil:
		a := r.Accuracies
		three("accuracy", a.Accuracy, a.NoPrivacy, a.Central, fmt.Sprintf(" (%.4f to %.4f)", a.Interval[0], a.Interval[1]))
	case r.Fits != nil:
		three("variance explained", r.Fits.R2, r.Fits.NoPrivacy, r.Fits.Central, fmt.Sprintf("; prediction intervals of 95 %% hold %.1f %%", 100*r.Fits.Coverage))
	case r.Ranks != nil:
		three("area under the curve", r.Ranks.AUC, r.Ranks.NoPrivacy, r.Ranks.Central, "")
	}
	observer, sent := account.ShufflerHonest, fmt.Sprintf("%d envelopes", r.EnvelopesPerDevice)
	if r.Noise != "" {
		observer, sent = account.OneAggregator, "two shares a round"
	}
	line(observer, account.Verdict(&r.Epsilon, r.Delta, account.Replacement))
	if r.NumbersProved > 0 {
		line("a device proves", fmt.Sprintf("the length of %d numbers in two shares, in each of %d rounds", r.NumbersProved, r.Rounds))
	} else {
		line("a device answers", fmt.Sprintf("%d bits in %s, in %d rounds together", r.BitsPerDevice, sent, r.Rounds))
	}
	line("error of the sums", fmt.Sprintf("%.3f of what the formula has", r.NoiseRatio))
	line("seconds", fmt.Sprintf("%.1f", r.Seconds))
	_, err := fmt.Fprintln(std.Out, strings.Join(rows, "\n"))
	return err
}

// Learnable names what can be learned from.
func Learnable() string { return strings.Join(learn.Datasets(), ", ") }
