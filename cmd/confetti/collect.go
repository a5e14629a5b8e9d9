package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release/page"
)

type collectCommand struct {
	Simulate collectSimulate `cmd:"" help:"Simulate a collection from your own labelled vectors (.npy, .csv, .parquet)."`
}

type collectSimulate struct {
	File      string  `arg:"" help:"Training records: one row a respondent." type:"path"`
	Label     string  `help:"Column that names the class; for .npy, the path of a second .npy with integers." required:"" placeholder:"NAME"`
	Test      string  `help:"Public test records, in the same form." type:"path" placeholder:"FILE"`
	TestLabel string  `help:"For a .npy of test records: the path of their labels." type:"path" placeholder:"FILE"`
	TestShare float64 `help:"Without --test: share of the records set aside as the test set." default:"0.2"`
	Minimum   int     `help:"Smallest class that may be released; 0 for the smallest there is." placeholder:"N"`
	Normalize bool    `help:"Scale every record to unit length."`
	Out       string  `help:"Also collect through the whole flow, by the law of the totals, and save the release here." type:"path" placeholder:"DIR"`
	Full      bool    `help:"With --out: seal, mix and open every fragment instead."`
	kdeFlags
}

func (collectSimulate) Help() string {
	return "Example:\n  confetti collect simulate people.csv --label class --epsilon 2 --normalize --out page --json"
}

func (c collectSimulate) Run(std streams) error {
	cell, err := c.cell()
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	set, err := c.load()
	if err != nil {
		return err
	}
	counts := set.Train.Counts(len(set.Classes))
	// Classes are counted, not named: of a column that was named by mistake they
	// are what people said.
	switch n := slices.Min(counts); {
	case n == 0:
		return fmt.Errorf("of %d classes some have no training record left after setting test records aside: lower --test-share, name test records with --test, or leave small classes out", len(counts))
	case n < c.Minimum:
		return fmt.Errorf("the smallest of %d classes has %d training records, fewer than --minimum %d: nothing of it would leave the shuffler; lower --minimum or leave small classes out", len(counts), n, c.Minimum)
	}
	if c.Out != "" {
		if err := c.release(std, set, slices.Min(counts)); err != nil {
			return inDomain(err)
		}
	}
	return c.measure(std, cell, set)
}

// check is of the flags by themselves, before anything is read.
func (c collectSimulate) check() error {
	switch {
	case c.Test == "" && c.TestLabel != "":
		return usagef("--test-label names labels of --test, which is missing")
	case c.Test == "" && !(c.TestShare > 0 && c.TestShare < 1):
		return usagef("--test-share is %v: give a number between 0 and 1, or name a file with --test", c.TestShare)
	case c.Minimum < 0:
		return usagef("--minimum is %d: give a number of respondents above 0, or 0 for the smallest class there is", c.Minimum)
	case c.Out == "" && c.Full:
		return usagef("--full says how to collect the release: name its folder with --out")
	case c.Out != "" && !slices.Contains(plan.Bitsums, c.Bitsum):
		return usagef("--bitsum %s is for comparison only: with --out it is one of %s", c.Bitsum, strings.Join(plan.Bitsums, ", "))
	case c.Out != "":
		return writable(c.Out)
	}
	return nil
}

func (c collectSimulate) load() (*dataset.Set, error) {
	train, err := dataset.ReadTable(c.File, c.Label)
	if err != nil {
		return nil, err
	}
	test := train // until some are set aside
	if c.Test != "" {
		label := c.Label
		if c.TestLabel != "" {
			label = c.TestLabel
		}
		if test, err = dataset.ReadTable(c.Test, label); err != nil {
			return nil, err
		}
	}
	set, err := dataset.NewSet(filepath.Base(c.File), train, test)
	if err != nil {
		return nil, err
	}
	if c.Normalize { // before records are dealt, so that an error names a row of the file
		if err := set.Train.Normalize(); err != nil {
			return nil, fmt.Errorf("%s: %w", c.File, err)
		}
		if c.Test != "" {
			if err := set.Test.Normalize(); err != nil {
				return nil, fmt.Errorf("%s: %w", c.Test, err)
			}
		}
	}
	if c.Test == "" {
		set.Test, set.Train = set.Train.Split(replay.New(c.Seed), c.TestShare)
	}
	return set, nil
}

// release runs the whole flow and saves what the analyzer would publish.
func (c collectSimulate) release(std streams, set *dataset.Set, smallest int) error {
	label, err := parseLabelEpsilon(c.LabelEpsilon)
	if err != nil {
		return err
	}
	minimum := c.Minimum
	if minimum == 0 {
		minimum = smallest
		if label != plan.Unprotected {
			minimum = minimum * 9 / 10 // randomized labels scatter the sizes of crowds
		}
	}
	kernel, repetitions := c.choose(set.Dimension())
	col := experiments.Collection{
		Title: "A density for each class of " + set.Name, Kernel: kernel, Repetitions: repetitions, Normalize: c.Normalize,
		Bitsum: c.Bitsum, Accounting: c.Accounting,
		Budget:  plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement", LabelEpsilon: label},
		Minimum: minimum, Instances: 1, Hops: 2, Suite: "x25519", Full: c.Full, Seed: c.Seed,
	}
	report, finish := progress(std.err)
	out, err := col.Run(set, report)
	finish()
	if err != nil {
		return err
	}
	out.Release.Provenance.Software = version()
	out.Release.Provenance.Command = "confetti collect simulate"
	if err := saveRelease(c.Out, out.Release, out.Plan); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "page: %s\n", filepath.Join(c.Out, page.PageFile))
	return nil
}
