package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/release"
)

func ofDensity(c experiments.Cell) bool { return c.Density.Bitsum != "" }

// classified are cells whose accuracy was measured for the classifier alone.
func classified(c experiments.Cell) bool {
	d := c.Density
	return ofDensity(c) && !d.CostOnly && d.Queries == 0 && d.Words == 0
}

func costs(c experiments.Cell) bool { return ofDensity(c) && c.Density.CostOnly }

func queried(c experiments.Cell) bool {
	return ofDensity(c) && c.Density.Queries == 1000 && printedKernel(c.Density.Kernel.Name) == "gaussian"
}

var kernelWords = map[string]string{"gaussian": "Gaussian", "ip-identity": "inner product", "ip-signs": "inner product, signs", "ip-rotated": "inner product, rotated", "gaussian-paired": "Gaussian, paired", "gaussian-projected": "Gaussian, projected", "laplacian-sign": "Laplacian", "exponential-sign": "exponential"}

// printedKernel returns the kernel under whose name the paper has a map's numbers.
func printedKernel(kernel string) string {
	if kernel == "gaussian-projected" {
		return "gaussian"
	}
	return kernel
}

// pooled are cells of densities over all seeds that they were measured with: of a seed the one of most runs, since those of
// fewer are among them. What has no accuracy is left as it is.
func pooled(c Cells) (out Cells) {
	at := map[string]int{}
	for _, m := range c.where(classified) { // most runs first
		same := m.Cell
		same.Seed, same.Runs = 0, 0
		key := same.Key()
		i, ok := at[key]
		if !ok {
			at[key] = len(out)
			r := *m.Result
			accuracies := *m.Result.Accuracies
			r.Accuracies, m.Result = &accuracies, &r
			out = append(out, m)
			at[fmt.Sprint(key, m.Cell.Seed)] = len(out) - 1
			continue
		}
		if _, counted := at[fmt.Sprint(key, m.Cell.Seed)]; counted {
			continue
		}
		at[fmt.Sprint(key, m.Cell.Seed)] = i
		of, more := out[i].Result.Accuracies, m.Result.Accuracies
		n, k := float64(out[i].Cell.Runs), float64(m.Cell.Runs)
		mean := (n*of.Accuracy + k*more.Accuracy) / (n + k)
		squares := (n-1)*of.AccuracyStd*of.AccuracyStd + (k-1)*more.AccuracyStd*more.AccuracyStd + n*(of.Accuracy-mean)*(of.Accuracy-mean) + k*(more.Accuracy-mean)*(more.Accuracy-mean)
		of.Accuracy, of.AccuracyStd = mean, math.Sqrt(squares/(n+k-1))
		of.AccuracyNoPrivacy = (n*of.AccuracyNoPrivacy + k*more.AccuracyNoPrivacy) / (n + k)
		out[i].Cell.Runs += m.Cell.Runs
	}
	return append(out, c.where(func(x experiments.Cell) bool { return !classified(x) })...)
}

// runsOf says how many runs stand behind cells.
func runsOf(c Cells) string {
	least, most := 0, 0
	for _, m := range c {
		if least == 0 || m.Cell.Runs < least {
			least = m.Cell.Runs
		}
		most = max(most, m.Cell.Runs)
	}
	switch {
	case most == 1:
		return "one run"
	case least == most:
		return fmt.Sprintf("%d runs", most)
	}
	return fmt.Sprintf("%d to %d runs", least, most)
}

// added returns how a cell's bits are added up and accounted for, whatever its map; without a proof by the paper all the same.
func added(m experiments.Measured) protocol {
	m.Cell.Density.Kernel.Name, m.Unproved = "", ""
	return summed(m)
}

// localOf returns a local epsilon in words; of what was kept without it (0) a dash.
func localOf(e *float64) string {
	if e != nil && *e == 0 {
		return none
	}
	if e == nil || *e > account.Meaningless {
		return "none that means anything"
	}
	return number(*e)
}

func epsilonsOf(c Cells) (all []float64) {
	for _, m := range c {
		if !slices.Contains(all, m.Cell.Density.Epsilon) {
			all = append(all, m.Cell.Density.Epsilon)
		}
	}
	slices.Sort(all)
	return all
}

// datasets returns those of cells, in the order of their names.
func datasets(c Cells) (all []string) {
	for _, m := range c {
		if !slices.Contains(all, m.Cell.Dataset) {
			all = append(all, m.Cell.Dataset)
		}
	}
	slices.Sort(all)
	return all
}

// stem returns a name as files have it.
func stem(name string) string {
	return strings.NewReplacer("_", "-", "@", "-", " ", "-").Replace(name)
}

var setWords = map[string]string{
	"agnews": "AG news (12,000)", "agnews_lsa256": "AG news (40,000)", "agnews_lsa256@30000": "AG news, 30,000 a class", "sst2": "SST-2", "dbpedia14": "DBPedia-14", "dbpedia14@40000": "DBPedia-14, 40,000 a class",
	"lending_club": "Lending Club", "sst2_glue": "SST-2 (GLUE)", "sst2_glue@33674": "SST-2 (GLUE), 33,674 a class", "agnews_mpnet@30000": "AG news, sentences, 30,000 a class", "dbpedia14_mpnet@40000": "DBPedia-14, sentences, 40,000 a class", "sst2_glue_mpnet@33674": "SST-2, sentences, 33,674 a class",
	"agnews_mpnet": "AG news (40,000) by the sentence encoder", "dbpedia14_mpnet": "DBPedia-14 by the sentence encoder", "sst2_glue_mpnet": "SST-2 (GLUE) by the sentence encoder", "agnews_glove": "AG news (40,000) by means of GloVe's vectors", "mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "cifar-like": "CIFAR-10's size (made-up vectors)", "dbpedia-like": "made up in DBPedia's size", "cifar10_subset": "CIFAR-10, a fifth",
}

func called(set string) string { return cmp.Or(setWords[set], set) }

// printedOf is the paper's table of a data set, or of that which it stands in for.
var printedOf = map[string]string{
	"agnews_lsa256": "table3", "agnews_lsa256@30000": "table3", "agnews_mpnet@30000": "table3", "sst2": "table4", "sst2_glue": "table4", "sst2_glue@33674": "table4", "sst2_glue_mpnet@33674": "table4", "dbpedia14": "table2", "dbpedia14@40000": "table2", "dbpedia14_mpnet@40000": "table2", "cifar-like": "table5", "fashion-mnist": "table5",
}

// standsFor names, in legends, the paper's data where ours are others.
var standsFor = map[string]string{"cifar-like": " of CIFAR-10", "fashion-mnist": " of CIFAR-10"}

// order is that of protocols in legends.
var order = []protocol{rotated, rrExact, threeExact, pureExact, curator, holder, numbers, rrPaper, rrUnproved, threePaper, threeAuthors, purePaper, rrLocal}

// rank returns the place of a protocol in legends.
func rank(m experiments.Measured) int {
	return slices.IndexFunc(order, func(p protocol) bool { return p.words == summed(m).words })
}

// sorted are cells by protocol and epsilon, each but once.
func sorted(c Cells) Cells {
	out := slices.Clone(c)
	slices.SortStableFunc(out, func(a, b experiments.Measured) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Cell.Density.Epsilon, b.Cell.Density.Epsilon))
	})
	return slices.CompactFunc(out, func(a, b experiments.Measured) bool {
		return rank(a) == rank(b) && a.Cell.Density.Epsilon == b.Cell.Density.Epsilon
	})
}

// missed says how far densities are off, by sums and epsilon: a table for each data set that has such numbers.
func missed(c Cells, what string, said func(*experiments.Result) string) (tables []release.Table) {
	at := slices.DeleteFunc(c.where(queried), func(m experiments.Measured) bool { return said(m.Result) == "" })
	for _, set := range datasets(at) {
		of := sorted(at.where(func(x experiments.Cell) bool { return x.Dataset == set }))
		epsilons := epsilonsOf(of)
		t := release.Table{Title: called(set) + ", " + what + ", " + runsOf(of), Columns: columns("sums and accounting")}
		for _, e := range epsilons {
			t.Columns = append(t.Columns, release.Column{Title: fmt.Sprintf("epsilon %g", e)})
		}
		for from := 0; from < len(of); {
			words, cells := summed(of[from]).words, map[float64]string{}
			for ; from < len(of) && summed(of[from]).words == words; from++ {
				cells[of[from].Cell.Density.Epsilon] = said(of[from].Result)
			}
			line := []string{words}
			for _, e := range epsilons {
				line = append(line, cmp.Or(cells[e], none))
			}
			t.Rows = append(t.Rows, row(line...))
		}
		tables = append(tables, t)
	}
	return tables
}
