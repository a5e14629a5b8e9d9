package experiment

import (
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/lab/labels"
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
through the shuffler (crowds), summed through it together with the features (xy), or told
one by one through randomized response, nobody trusted (rr); and the ways of the paper
(LDC), of which cluster-rr and dp-sgd trust a curator. Beside it: the same learner, told
every label.

Example:
  confetti-lab labels --data DIR --dataset mnist --method crowds --epsilon 0.25 --delta 1e-6 --seed 1 --json`
}

func (c experimentLabels) Run(std terminal.Streams) error {
	cell := labels.Cell{Dataset: c.Dataset, Method: c.Method, Epsilon: c.Epsilon, Delta: c.Delta, Clusters: c.Clusters, Seed: c.Seed}
	if err := flags.Word("method", c.Method, labels.Methods()); err != nil {
		return err
	}
	return measured(std, source{c.DataSets, c.Dataset, c.Seed}, cell, c.JSON, labels.Run, showLabels)
}

func showLabels(r labels.Result) (rows []string) {
	line := func(what, format string, a ...any) {
		rows = append(rows, fmt.Sprintf("%-20s ", what)+fmt.Sprintf(format, a...))
	}
	line("accuracy", "%.4f", r.Accuracy)
	line("without privacy", "%.4f", r.AccuracyNoPrivacy)
	wrong := make([]string, len(r.Wrong))
	for i, w := range r.Wrong {
		wrong[i] = fmt.Sprintf("%.3f", w)
	}
	if len(wrong) > 0 { // which the paper's ways do not say, nor how large clusters are
		line("wrong, by class", "%s", strings.Join(wrong, " "))
	}
	if r.Largest > 0 {
		line("public clusters", "%d, of %d to %d respondents", r.Clusters, r.Smallest, r.Largest)
	}
	honest := "shuffler honest"
	if r.Trust == string(account.Central) {
		honest = "curator honest"
	}
	line(honest, "%s", account.Verdict(r.Central, r.Delta, account.Label))
	line("everyone colludes", "%s", account.Verdict(r.Local, 0, account.Label))
	line("relied upon", "%s", account.Trust(r.Trust).Words())
	line("seconds", "%.1f", r.Seconds)
	return rows
}

// Labelled names the ways that labels are told.
func Labelled() string { return strings.Join(labels.Methods(), ", ") }
