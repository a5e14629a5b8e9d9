package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/esa"
	"github.com/confetti-dp/confetti/lab/experiments"
)

type experimentHistogram struct {
	flags.DataSets
	Dataset string `help:"Population, made up or of the data folder: ${populations}; or a PNG file." default:"zipf-words"`
	flags.Budget
	Encoding  string `help:"one-hot, one-hot-asymmetric, a sketch (count-mean, count), or central: a curator's Gaussian noise." default:"one-hot"`
	Adjacency string `help:"Neighbours differ by a removed respondent, or by a replaced one." enum:"removal,replacement" default:"removal"`
	Fragments int    `help:"Report fragments behind a backstop." default:"1" placeholder:"TAU"`
	Repeats   int    `help:"Reports of each respondent, each with that share of the local epsilon." default:"1"`
	Hashes    int    `help:"Of the sketches count-mean and count." default:"1024"`
	Width     int    `help:"Of the sketches count-mean and count." default:"65536"`
	Seed      uint64 `help:"The same seed gives the same experiment." default:"1"`
	Runs      int    `help:"Repeat with new noise, and average." default:"1"`
	JSON      bool   `help:"Print one JSON object."`
}

func (experimentHistogram) Help() string {
	return "One cell of the tables of ESA: how far noisy counts of a population are from the truth. Counts are drawn from\ntheir exact law. For a table of your own, see confetti collect simulate --csv.\n\nExample:\n  confetti-lab histogram --dataset zipf-words --epsilon 1 --delta 1e-6 --fragments 16 --json"
}

// encodings are what --encoding of an experiment may be.
var encodings = []string{experiments.OneHot, experiments.Asymmetric, experiments.CountMean, experiments.Count, experiments.Central}

func (c experimentHistogram) Run(std terminal.Streams) error {
	cell, err := c.cell()
	if err != nil {
		return err
	}
	report, finish := terminal.Progress(std.Err)
	defer finish()
	report("population", 0, 1)
	p, err := c.population()
	if err != nil {
		return err
	}
	res, err := esa.Run(cell, p, report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, res)
	}
	return c.show(std, res)
}

// cell returns what the flags ask for, checked before anything is read.
func (c experimentHistogram) cell() (experiments.Cell, error) {
	h := experiments.Histogram{
		Encoding:   c.Encoding,
		Accounting: calibrate.Accounting(c.Accounting), Epsilon: c.Epsilon, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta, Adjacency: account.Adjacency(c.Adjacency),
		Fragments: c.Fragments, Repeats: c.Repeats,
	}
	errs := []error{c.Budget.Check()}
	errs = append(errs, flags.Word("encoding", c.Encoding, encodings))
	if c.Encoding == experiments.CountMean || c.Encoding == experiments.Count {
		h.Hashes, h.Width = c.Hashes, c.Width
	}
	if !slices.Contains(Populations(), c.Dataset) && !dataset.IsPicture(c.Dataset) {
		errs = append(errs, terminal.Usagef("--dataset %s is unknown: choose one of %s, or a PNG file", c.Dataset, strings.Join(Populations(), ", ")))
	}
	if c.Data == "" && slices.Contains(datasets.PopulationNames(), c.Dataset) {
		errs = append(errs, terminal.Usagef("--dataset %s needs the folder of data sets: --data DIR or CONFETTI_DATA", c.Dataset))
	}
	cell := experiments.Cell{Dataset: c.Dataset, Seed: c.Seed, Runs: c.Runs, Histogram: h}
	if err := errors.Join(errs...); err != nil {
		return cell, err
	}
	if err := cell.Validate(); err != nil {
		return cell, terminal.Usage(err)
	}
	return cell, nil
}

// Populations returns all that have a name.
func Populations() []string {
	return append(esa.MadeUp(), datasets.PopulationNames()...)
}

func (c experimentHistogram) population() (*dataset.Population, error) {
	return esa.Population(c.Dataset, c.Seed, func(name string) (*dataset.Population, error) { return datasets.LoadPopulation(c.Data, name) })
}

func (c experimentHistogram) show(std terminal.Streams, r experiments.Result) error {
	made := ""
	if r.Synthetic {
		made = " (synthetic)"
	}
	rows := []string{
		fmt.Sprintf("%s%s: %d respondents over %d cells", r.Dataset, made, r.Respondents, r.Cells),
		fmt.Sprintf("error of a count     %.4g respondents (root mean square; with those below zero taken to it %.4g, at most %.4g)", r.Unbiased, r.RMSE, r.Linf),
		"shuffler honest      " + account.Verdict(r.Epsilon, r.Delta, account.Adjacency(r.Adjacency)),
		"everyone colludes    " + account.Verdict(r.EpsilonLocal, 0, account.Adjacency(r.Adjacency)),
		"one fragment alone   " + account.Verdict(r.EpsilonAlone, 0, account.Adjacency(r.Adjacency)),
		"accounted by         " + r.Method,
		fmt.Sprintf("messages per device  %.4g, with dummies %d", r.MessagesPerDevice, r.EnvelopesPerDevice),
		fmt.Sprintf("bytes per device     %d", r.BytesPerDevice),
		fmt.Sprintf("seconds              %.1f", r.Seconds),
	}
	if d := r.Discoveries; d != nil {
		rows = append(rows, fmt.Sprintf("heavy hitters        %.4g cells, of which %.2g %% are held by nobody, and %.4g of the true 100 largest", d.Cells, 100*d.False, d.Top100))
	}
	if _, err := fmt.Fprintln(std.Out, strings.Join(rows, "\n")); err != nil {
		return err
	}
	return measure.ShowTop(std.Out, "The most frequent values, with 95 % intervals of all values at once", r.Top)
}
