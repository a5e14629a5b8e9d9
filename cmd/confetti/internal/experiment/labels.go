package experiment

import (
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/flags"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/experiments/labels"
)

type experimentLabels struct {
	flags.DataSets
	Dataset  string  `help:"mnist, fashion-mnist, another set of the data folder, or synthetic." default:"synthetic"`
	Method   string  `help:"How labels are told: ${labelled}." default:"crowds"`
	Epsilon  float64 `help:"Privacy of a label; its features are public." default:"1"`
	Delta    float64 `help:"Delta beside --epsilon." default:"1e-6"`
	Clusters int     `help:"Public clusters; 0: by a rule from public numbers." default:"0"`
	Seed     uint64  `help:"The same seed gives the same experiment." default:"1"`
	JSON     bool    `help:"Print one JSON object."`
}

func (experimentLabels) Help() string {
	return `Learns a classifier of public features from private labels: counted in public clusters
through the shuffler (crowds), or told one by one through randomized response, nobody
trusted (rr). Beside it: the same learner, told every label.

Example:
  confetti experiment labels --data DIR --dataset mnist --method crowds --epsilon 0.25 --delta 1e-6 --seed 1 --json`
}

func (c experimentLabels) Run(std terminal.Streams) error {
	cell := labels.Cell{Dataset: c.Dataset, Method: c.Method, Epsilon: c.Epsilon, Delta: c.Delta, Clusters: c.Clusters, Seed: c.Seed}
	if err := flags.Word("method", c.Method, labels.Methods()); err != nil {
		return err
	}
	if err := cell.Validate(); err != nil {
		return terminal.Usage(err)
	}
	set, err := experimentKDE{DataSets: c.DataSets, Dataset: c.Dataset, KDEFlags: KDEFlags{Seed: c.Seed}}.load()
	if err != nil {
		return err
	}
	report, finish := terminal.Progress(std.Err)
	res, err := labels.Run(cell, set, report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, res)
	}
	return showLabels(std, set.String(), res)
}

func showLabels(std terminal.Streams, set string, r labels.Result) error {
	rows := []string{set}
	line := func(what, format string, a ...any) {
		rows = append(rows, fmt.Sprintf("%-20s ", what)+fmt.Sprintf(format, a...))
	}
	line("accuracy", "%.4f", r.Accuracy)
	line("without privacy", "%.4f", r.AccuracyNoPrivacy)
	wrong := make([]string, len(r.Wrong))
	for i, w := range r.Wrong {
		wrong[i] = fmt.Sprintf("%.3f", w)
	}
	line("wrong, by class", "%s", strings.Join(wrong, " "))
	if r.Clusters > 0 {
		line("public clusters", "%d, of %d to %d respondents", r.Clusters, r.Smallest, r.Largest)
	}
	line("shuffler honest", "%s", account.Verdict(r.Central, r.Delta, account.Label))
	line("everyone colludes", "%s", account.Verdict(r.Local, 0, account.Label))
	line("relied upon", "%s", account.Trust(r.Trust).Words())
	line("seconds", "%.1f", r.Seconds)
	_, err := fmt.Fprintln(std.Out, strings.Join(rows, "\n"))
	return err
}

// Labelled names the ways that labels are told.
func Labelled() string { return strings.Join(labels.Methods(), ", ") }
