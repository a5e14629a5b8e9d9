package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
)

type experimentHistogram struct {
	dataFlag
	Dataset string `help:"Population, made up or of the data folder: ${populations}; or a PNG file." default:"zipf-words"`
	budgetFlags
	Encoding  string `help:"onehot, asymmetric, a sketch (cms, cs), or central: a curator's Gaussian noise." default:"onehot"`
	Adjacency string `help:"Neighbours differ by a removed respondent, or by a replaced one." enum:"removal,replacement" default:"removal"`
	Fragments int    `help:"Report fragments behind a backstop." default:"1" placeholder:"TAU"`
	Repeats   int    `help:"Reports of each respondent, each with that share of the local epsilon." default:"1"`
	Hashes    int    `help:"Of the sketches cms and cs." default:"1024"`
	Width     int    `help:"Of the sketches cms and cs." default:"65536"`
	Seed      uint64 `help:"The same seed gives the same experiment." default:"1"`
	Runs      int    `help:"Repeat with new noise, and average." default:"1"`
	JSON      bool   `help:"Print one JSON object."`
}

func (experimentHistogram) Help() string {
	return "One cell of the tables of ESA: how far noisy counts of a population are from the truth. Counts are drawn from\ntheir exact law. For a table of your own, see confetti collect simulate --csv.\n\nExample:\n  confetti experiment histogram --dataset zipf-words --epsilon 1 --delta 1e-6 --fragments 16 --json"
}

// measuredEncodings are what --encoding of an experiment may be.
var measuredEncodings = map[string]string{
	"onehot":     experiments.OneHot,
	"asymmetric": experiments.Asymmetric,
	"cms":        experiments.CountMean,
	"cs":         experiments.Count,
	"central":    experiments.Central,
}

func (c experimentHistogram) Run(std streams) error {
	h, err := c.cell()
	if err != nil {
		return err
	}
	report, finish := progress(std.err)
	defer finish()
	report("population", 0, 1)
	p, err := c.population()
	if err != nil {
		return err
	}
	res, err := h.Run(p, report)
	finish()
	if err != nil {
		return inDomain(err)
	}
	if c.JSON {
		return writeJSON(std.out, res)
	}
	return c.show(std, res)
}

// cell is what the flags ask for, checked before anything is read.
func (c experimentHistogram) cell() (experiments.Histogram, error) {
	h := experiments.Histogram{
		Accounting: account.Accounting(c.Accounting), Epsilon: c.Epsilon, Everyone: c.LocalEpsilon, Delta: c.Delta, Adjacency: account.Adjacency(c.Adjacency),
		Fragments: c.Fragments, Repeats: c.Repeats, Runs: c.Runs, Seed: c.Seed,
	}
	errs := []error{c.budgetFlags.check()}
	encoding, known := measuredEncodings[c.Encoding]
	switch h.Encoding = encoding; {
	case !known:
		errs = append(errs, usagef("--encoding is %q: give one of %s", c.Encoding, strings.Join(slices.Sorted(maps.Keys(measuredEncodings)), ", ")))
	case encoding == experiments.CountMean || encoding == experiments.Count:
		h.Hashes, h.Width = c.Hashes, c.Width
	}
	if !slices.Contains(populations(), c.Dataset) && !dataset.IsPicture(c.Dataset) {
		errs = append(errs, usagef("--dataset %s is unknown: choose one of %s, or a PNG file", c.Dataset, strings.Join(populations(), ", ")))
	}
	if c.Data == "" && slices.Contains(dataset.PopulationNames(), c.Dataset) {
		errs = append(errs, usagef("--dataset %s needs the folder of data sets: --data DIR or CONFETTI_DATA", c.Dataset))
	}
	if err := errors.Join(errs...); err != nil {
		return h, err
	}
	if err := h.Validate(); err != nil {
		return h, usageError{err}
	}
	return h, nil
}

// populations are all that have a name.
func populations() []string {
	return append(experiments.MadeUpPopulations(), dataset.PopulationNames()...)
}

func (c experimentHistogram) population() (*dataset.Population, error) {
	return experiments.Population(c.Dataset, c.Seed, func(name string) (*dataset.Population, error) { return dataset.LoadPopulation(c.Data, name) })
}

func (c experimentHistogram) show(std streams, r experiments.HistogramResult) error {
	made := ""
	if r.Synthetic {
		made = " (synthetic)"
	}
	rows := []string{
		fmt.Sprintf("%s%s: %d respondents over %d cells", r.Dataset, made, r.Respondents, r.Cells),
		fmt.Sprintf("error of a count     %.4g respondents (root mean square; with those below zero taken to it %.4g, at most %.4g)", r.Unbiased, r.RMSE, r.Linf),
		"shuffler honest      " + verdict(r.EpsilonCentral, r.Delta, r.Adjacency),
		"everyone colludes    " + verdict(r.EpsilonLocal, 0, r.Adjacency),
		"one fragment alone   " + verdict(r.EpsilonAlone, 0, r.Adjacency),
		"accounted by         " + r.Method,
		fmt.Sprintf("messages per device  %.4g, with dummies %d", r.MessagesPerDevice, r.EnvelopesPerDevice),
		fmt.Sprintf("bytes per device     %d", r.BytesPerDevice),
		fmt.Sprintf("seconds              %.1f", r.Seconds),
	}
	if d := r.Discoveries; d != nil {
		rows = append(rows, fmt.Sprintf("heavy hitters        %.4g cells, of which %.2g %% are held by nobody, and %.4g of the true 100 largest", d.Cells, 100*d.False, d.Top100))
	}
	if _, err := fmt.Fprintln(std.out, strings.Join(rows, "\n")); err != nil {
		return err
	}
	return showTop(std.out, "The most frequent values, with 95 % intervals of all values at once", r.Top)
}
