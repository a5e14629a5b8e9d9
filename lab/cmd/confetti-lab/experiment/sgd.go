package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/sgd"
)

type experimentSGD struct {
	flags.DataSets
	Dataset       string  `help:"mnist, fashion-mnist, another set of the data folder, or synthetic." default:"synthetic"`
	Architecture  string  `help:"linear (on public features), or ESA's networks: xiii of 26,010 numbers for images of 28x28, xiv for images of 32x32, of which the last layer is learned." default:"linear"`
	Report        string  `help:"What a device says of its gradient: direction, cap, vector; or central (a curator's noise, Poisson sampling) and none." default:"direction"`
	UsersPerRound string  `help:"Respondents of each round, dealt into as many cohorts as there are; or all." default:"all" placeholder:"M"`
	Rounds        int     `help:"Rounds in all." default:"15"`
	Epsilon       float64 `help:"Central epsilon of all rounds that a respondent answers; 0: what --local-epsilon gives."`
	LocalEpsilon  float64 `help:"Local epsilon of one direction; 0: what --epsilon allows."`
	Delta         float64 `help:"Delta beside --epsilon." default:"1e-6"`
	Bits          int     `help:"Of a vector: rows that a device answers in a round, on average; 0: one for each number."`
	flags.Route
	Liars      float64 `help:"Of vectors, the share of respondents who lie as far as nobody finds." placeholder:"SHARE"`
	Lie        string  `help:"Where they pull: against what the others say, or back from what these said in the first round; to each class's next one, or all to one class." placeholder:"against|back|next|one"`
	Examples   int     `help:"Examples of a round, which stand for all its respondents: their directions are drawn by the normal limit of their sum; 0: one for each."`
	Population int     `help:"Respondents that all examples stand for; 0: one each."`
	Directions int     `help:"Public directions that a linear model of images has; 0: 351."`
	Clip       float64 `help:"Length that gradients are clipped to; 0: the architecture's."`
	Rate       float64 `help:"Length of a step; 0: the architecture's."`
	Momentum   float64 `help:"Of the steps (Nesterov)." default:"0.9"`
	Average    float64 `help:"Weight of earlier rounds' models in the answer; 0: the last one is."`
	Seed       uint64  `help:"The same seed gives the same experiment." default:"1"`
	JSON       bool    `help:"Print one JSON object."`
}

func (experimentSGD) Help() string {
	return `Learns a model from gradients in rounds (ESA, section VI). Every device's report is
drawn as devices make it; what a respondent answers is composed over its rounds.

Example:
  confetti-lab sgd --data DIR --dataset mnist --architecture linear --report vector --users-per-round all --rounds 15 --epsilon 0.25 --delta 1e-6 --seed 1 --json`
}

func (c experimentSGD) Run(std terminal.Streams) error {
	cell, err := c.cell()
	if err != nil {
		return err
	}
	return measured(std, source{c.DataSets, c.Dataset, c.Seed}, cell, c.JSON, sgd.Run, showSGD)
}

// cell returns what the flags ask for.
func (c experimentSGD) cell() (sgd.Cell, error) {
	cell := sgd.Cell{Dataset: c.Dataset, Seed: c.Seed, Gradient: experiments.Gradient{
		Architecture: c.Architecture, Report: c.Report, Rounds: c.Rounds, Epsilon: c.Epsilon, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta,
		Bits: c.Bits, Directions: c.Directions, Clip: c.Clip, Rate: c.Rate, Momentum: c.Momentum, Average: c.Average,
		Examples: c.Examples, Population: c.Population, NoiseBy: c.Route.Adds("gradient"), Liars: c.Liars, Lie: c.Lie,
	}}
	if cell.Liars > 0 && cell.Lie == "" {
		cell.Lie = experiments.Lies[0]
	}
	err := c.Route.Check()
	if err != nil {
		return cell, err
	}
	if c.UsersPerRound != "all" {
		if cell.Users, err = strconv.Atoi(c.UsersPerRound); err != nil || cell.Users < 1 {
			return cell, terminal.Usagef("--users-per-round is %q: give a number, or all", c.UsersPerRound)
		}
	}
	return cell, errors.Join(flags.Word("architecture", c.Architecture, experiments.Architectures), flags.Word("report", c.Report, experiments.GradientReports))
}

func showSGD(r sgd.Result) []string {
	rows := []string{
		fmt.Sprintf("accuracy             %.4f after %d rounds of %d respondents", r.Accuracy, r.Rounds, slices.Max([]int{r.Users, 1})),
		fmt.Sprintf("model                %s, %d numbers; a respondent answers %d rounds", r.Architecture, r.Learned, r.Answers),
	}
	if r.Epsilon != nil {
		relies := map[account.Trust]string{account.Central: "curator honest       ", account.AggregatorHonest: "one aggregator       ", account.AggregatorsHonest: "both aggregators     "}[r.Trust]
		if relies == "" {
			relies = "shuffler honest      "
		}
		rows = append(rows, relies+account.Verdict(r.Epsilon, r.Delta, account.Adjacency(r.Adjacency))+"; "+r.Method)
	}
	if r.LocalTotal != nil {
		rows = append(rows, "everyone colludes    "+account.Verdict(r.LocalTotal, 0, account.Adjacency(r.Adjacency)))
	}
	rows = append(rows, fmt.Sprintf("noise                %.4g of each number of a round's mean gradient", r.Noise))
	if r.NoiseRatio > 0 {
		rows[len(rows)-1] += fmt.Sprintf(", %.3g of a curator's", r.NoiseRatio)
	}
	for _, p := range r.Curve {
		rows = append(rows, fmt.Sprintf("  after round %-8d %.4f", p.Round, p.Accuracy))
	}
	rows = append(rows, fmt.Sprintf("seconds              %.1f", r.Seconds))
	return rows
}
