package release

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/curator"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Labels makes training sets of tables whose labels alone are private.
type Labels struct {
	Privatize privatize `cmd:"" help:"Write a table for others to train on, with noisy labels in the place of the true ones."`
}

// Ways to make labels noisy.
const (
	byCrowds  = "crowds"
	byCluster = "cluster-rr"
	byUniform = "uniform-rr"
)

// reportOf returns what a plan calls a way.
var reportOf = map[string]string{byCrowds: plan.LabelClusters, byCluster: curator.Resampled, byUniform: plan.LabelEach}

type privatize struct {
	Table   string   `arg:"" help:"A table: a line of column names, then one line a person." type:"path"`
	Label   string   `help:"Column of the labels, which alone is private." required:"" placeholder:"NAME"`
	Classes []string `help:"What a label may be, with commas between: named from elsewhere than the table. Any other counts as none of them." sep:"none" placeholder:"A,B,C"`
	Domain  string   `help:"The same from a file, one a line." type:"path" placeholder:"FILE"`
	Method  string   `help:"crowds: labels of each cluster are counted with noise, and drawn anew from the counts. cluster-rr: some labels are, and the others stay (LDC, Algorithm 1). uniform-rr: each label by itself, by randomized response." enum:"crowds,cluster-rr,uniform-rr" default:"crowds" placeholder:"WAY"`

	Clusters   string   `help:"Table of one column that names the cluster of each row, in the same order: made of what is public, for clusters that labels had part in tell of these." type:"path" placeholder:"FILE" xor:"clusters"`
	ClustersBy []string `name:"clusters-by" help:"Rows with the same in these columns are a cluster; numbers are cut into --parts." placeholder:"COLUMNS" xor:"clusters"`
	Parts      int      `help:"Parts, of as many rows each, that a column of numbers is cut into." default:"4" placeholder:"N"`
	Smallest   int      `help:"Smaller clusters are put together; without it those that hold less than six errors of a count." placeholder:"N"`
	LeastShare float64  `help:"Of cluster-rr: what the share of a label in a cluster is at least, by public knowledge; without it 0.05, or half of an equal share." placeholder:"P"`
	Drop       []string `help:"Columns to leave out of what is published." placeholder:"COLUMNS"`

	Epsilon float64 `help:"Of this release." required:"" placeholder:"E"`
	Delta   float64 `help:"Of this release." default:"1e-7" placeholder:"D"`
	holding
}

func (privatize) Help() string {
	return `Writes a table that others may train on: all columns but one as they are, and noisy
labels. Of any one label it tells no more than --epsilon allows. EVERYTHING ELSE IS
PUBLISHED: leave out what is not public with --drop. You see all labels, and
nothing here protects them from you.

Beside the table (labels.csv) are the weights of the modified loss (matrix.csv), three
lines of Python and of R that train with them (train.py, train.R), and a page.
Clusters follow from public columns; a file of your own (--clusters) must, too.

A ledger of yours charges each release to its people, as confetti release make does.

Example:
  confetti labels privatize people.csv --label class --classes student,staff,guest --clusters-by likes_sweet,likes_salty --people guests --as-of 2026-11 --epsilon 1 --out private`
}

func (c privatize) Run(std terminal.Streams) error {
	classes, err := c.classes()
	if err != nil {
		return err
	}
	t, err := curator.ReadLabelled(c.Table, c.Label, c.Drop)
	if err != nil {
		return err
	}
	text, err := atomicfile.Read(c.Table)
	if err != nil {
		return err
	}
	if _, err := t.Published(c.Method != byUniform); err != nil {
		return fmt.Errorf("%s: %w", c.Table, err)
	}
	ask := curator.Ask{Holder: c.Holder, People: c.People, AsOf: c.AsOf, Epsilon: c.Epsilon, Delta: c.Delta, Label: c.Label, Labels: &plan.Label{Classes: classes, Report: reportOf[c.Method]}}
	clusters := curator.Clusters{Of: make([]int, len(t.Labels))}
	if c.Method != byUniform {
		if clusters, err = c.clusters(t); err != nil {
			return err
		}
		// Of this law it is known what the largest of some noisy counts is too large by.
		ask.Clusters, ask.Labels.Clusters, ask.Law = clusters.Names, len(clusters.Names), plan.LawLaplace
	}
	if c.Method != byCrowds {
		ask.Labels.Records = len(t.Labels)
	}
	if c.Method == byCluster {
		ask.Labels.Randomizer = &plan.Randomizer{Flip: cmp.Or(c.LeastShare, min(0.05, 0.5/float64(len(classes))))}
	}
	p, err := ask.Plan()
	if err != nil {
		return err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return err
	}
	rows := make([]curator.Labelled, len(t.Labels))
	for i, one := range t.Labels {
		rows[i] = curator.Labelled{Cluster: clusters.Of[i], Label: slices.Index(classes, one)}
	}
	set := curator.TrainingSet{Table: t, Label: c.Label, Classes: classes, Clusters: clusters}
	same := func(folder string) error { return set.Asked(filepath.Join(folder, curator.TrainingFile)) }
	return c.publish(std, proto, text, same, func(charged curator.Charged) error {
		r, model, out, err := curator.Relabel(proto, rows, charged.Ledger, rng.New())
		if err != nil {
			return err
		}
		if out.None > int64(len(rows)/20) {
			fmt.Fprintf(std.Err, "note: about %s of %s rows have a label that is none of --classes, by a count with noise\n", terminal.Thousands(int(out.None)), terminal.Thousands(len(rows)))
		}
		set.Relabelled = out
		files, err := set.Files()
		if err != nil {
			return err
		}
		sheet, err := results.Beside(model, results.Public{})
		if err != nil {
			return err
		}
		if err := keep(std, charged.Folder, r, sheet, proto.Plan); err != nil {
			return err
		}
		for name, text := range files {
			if err := atomicfile.Replace(filepath.Join(charged.Folder, name), text, 0o644); err != nil {
				return err
			}
		}
		return nil
	})
}

// classes checks the flags, and returns what a label may be.
func (c privatize) classes() ([]string, error) {
	var faults terminal.Faults
	faults.Require(c.Epsilon > 0 && c.Epsilon <= account.Meaningless, "--epsilon is %v: give a number above 0, up to %v", c.Epsilon, account.Meaningless)
	faults.Require(c.Delta > 0 && c.Delta < 1e-3, "--delta is %v: give a number above 0, far below one in the number of rows", c.Delta)
	faults.Require(len(c.Classes) == 0 || c.Domain == "", "--classes and --domain say the same: give one of them")
	clustered := c.Clusters != "" || len(c.ClustersBy) > 0
	faults.Require(clustered || c.Method == byUniform, "--method %s counts labels in clusters of rows: name them with --clusters or --clusters-by, or take --method %s", c.Method, byUniform)
	faults.Require(!clustered || c.Method != byUniform, "--method %s takes each label by itself: leave out --clusters and --clusters-by", byUniform)
	faults.Require(c.Parts >= 2 && c.Parts <= 100, "--parts is %d: give 2 to 100", c.Parts)
	faults.Require(c.Smallest >= 0, "--smallest is %d: give a number of rows", c.Smallest)
	faults.Require(c.LeastShare == 0 || c.Method == byCluster, "--least-share is of --method %s: leave it out", byCluster)
	faults.Require(c.LeastShare == 0 || c.LeastShare >= 1e-6, "--least-share is %v: give a number from 1e-6 to one over the number of classes: roundings would be a large part of a smaller one", c.LeastShare)
	for _, name := range c.Drop {
		faults.Require(!slices.Contains(c.ClustersBy, name), "--drop and --clusters-by both have %q: each row's cluster would tell what is left out; take it from one of them", name)
	}
	faults = append(faults, terminal.Writable(c.Out))
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	var classes []string
	for _, list := range c.Classes {
		classes = append(classes, distinct(list)...)
	}
	if c.Domain != "" {
		asked, err := flags.Histogram{Kind: []string{"categories"}, Domain: []string{c.Domain}}.Attributes([]string{c.Label})
		if err != nil {
			return nil, err
		}
		classes = asked[0].Values
	}
	faults.Require(len(classes) >= 2, "what a label may be has %d of at least 2: name all with --classes or --domain, from elsewhere than the table: one that is there because one person has it tells of that person", len(classes))
	faults.Require(c.LeastShare*float64(len(classes)) <= 1, "--least-share is %v: give at most one over the number of classes, %.3g", c.LeastShare, 1/float64(max(1, len(classes))))
	return classes, errors.Join(faults...)
}

// sixErrors times the inverse of epsilon is six standard errors of a count with discrete Laplace noise of two numbers.
// Two thirds of the epsilon of cluster-rr are spent on its counts.
const sixErrors = 17

// clusters returns those of the rows.
func (c privatize) clusters(t *curator.LabelledTable) (all curator.Clusters, err error) {
	counts := c.Epsilon
	if c.Method == byCluster {
		counts *= 2. / 3
	}
	smallest := cmp.Or(c.Smallest, int(math.Ceil(sixErrors/counts)))
	if c.Clusters == "" {
		return t.By(c.ClustersBy, c.Parts, smallest)
	}
	return curator.ReadClusters(c.Clusters, len(t.Labels), smallest)
}
