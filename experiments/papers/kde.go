package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/shuffle"
	"github.com/confetti-dp/confetti/dp/account/theorems"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/experiments/kde"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/page"
)

func kdePaper() Paper {
	p := Paper{
		Name: "kde", specs: kde.Specs, Title: "KDE: every table and figure",
		text: `*Shuffled differential privacy over kernel densities* asks each respondent for the bits of random features and adds them up behind a shuffler. Accuracies are percent, ± the deviation over runs, of the class of highest density. *Printed* is
the paper's. *The paper's* accounting is Theorem 3.2 with advanced composition; where its lemma for randomized response does not hold at this size, the formula is used all the same, as the paper does, and **promises nothing** (*no proof*). *Authors' code* spends 0.8 of a round's
epsilon on 3NB's noise, where Appendix A.2 prints 0.99. *Exact* is our accounting of the same protocol, *ours* one bit of each rotated coordinate by randomized response. A curator adds Gaussian noise to the same sums. No row has a local
epsilon that means anything: hundreds of bits share it. The inner product is of the coordinates as they are, as in the authors' code.

    confetti experiment run kde --all --data DIR --out results      # goes on where it was stopped

Data: agnews_lsa256 is AG news as 256 latent directions of words, where the paper has sentence embeddings of 768 dimensions; what is said to have so many a class (AG news, 30,000 a class) has as many respondents in each class as the paper, each real record held by several of them, and as many Fourier features as the paper, 768. Figures have 3 runs of Gaussian densities and 5 of inner products where the paper has 5; tables 5, or as many as they say. How
and why numbers differ, and what goes beyond the paper: [results.md](../results.md).`,
	}
	table := func(name, set, ours string, sets ...string) item {
		return item{
			name: "Table " + name, title: "the labels' epsilon, " + set, text: ours,
			show: func(c Cells) (tables []release.Table, _ []page.Chart) {
				for _, s := range sets {
					tables = append(tables, byLabels("table"+name, s, c)...)
				}
				return tables, nil
			},
		}
	}
	wordTable := func(name string, epsilon float64) item {
		return item{
			name: "Table " + name, title: fmt.Sprintf("classes in words, epsilon %g, labels at 5", epsilon),
			text: "Three words of highest density in each class, and in brackets those whose density exceeds that in the other classes by most. The paper's words are of GloVe's vocabulary and cannot be compared one by one; it has no measure of them either. Ours are the vocabulary of the data set, and, where texts are means of GloVe's vectors (25 numbers a word, where the paper embeds GloVe's words as it does texts), its 11,925 words.",
			show: func(c Cells) ([]release.Table, []page.Chart) { return decoded(epsilon, c), nil },
		}
	}
	accuracy := func(name string, labels float64) item {
		return item{
			name: "Figure " + name, title: fmt.Sprintf("accuracy against epsilon, labels at %g", labels),
			text: "On AG news with as many respondents as there are records, and on no other of the paper's sets. The paper's figure carries no numbers that could be drawn in; where its tables have some at this epsilon of labels, they are the crosses, of 30,000 respondents a class and 768 dimensions where the lines have 9,600 and 256.",
			show: func(c Cells) ([]release.Table, []page.Chart) { return nil, accuracies("figure"+name, labels, c) },
		}
	}
	p.items = []item{
		{name: "Table 1", title: "classes in words, epsilon 3.2, labels at 5", text: "Some classes of Table 8, which is below in whole."},
		table("2", "DBPedia-14", "DBPedia-14 by latent directions of public texts, where the paper has sentence embeddings: inner products of records as they are have 0.898 without privacy, where the paper's tend to 0.93. Two runs; what has a dash was not measured, being of 560,000 respondents at five levels of labels, minutes of a core each.", "dbpedia14@40000", "dbpedia14", "mnist"),
		beside(table("3", "AG News", "At the paper's size: 30,000 respondents a class, 768 Fourier features, delta 1e-6.", "agnews_lsa256@30000"), again),
		table("4", "SST2", "The printed rows of inner products repeat DBPedia-14's to the digit, and are left out. At the paper's size (GLUE's 67,349 phrases without the 10,000 that are public, repeated) in two runs, by its own accounting; phrases of SST-2, 20,200 a class, in three and by all of them.", "sst2_glue@33674", "sst2"),
		table("5", "CIFAR-10", "The paper's 6,144 contrastive features are not to be had: made-up ones of that size. A *curator of bits* has the rounded bits, of which a record may move each: a root of 6,144 of sensitivity, against which the accountant of RR knows that a unit vector moves all bits' probabilities together by one at most. *Who holds the records* adds up the features themselves and has that sensitivity too. *Gaussian, projected* has 2,048 features of a projection to 256 directions, where the paper has 6,144: the paper's contrast, that Gaussian densities bear noise which inner products do not, is there. One run.", "cifar-like", "fashion-mnist"),
		wordTable("6", 5.7), wordTable("7", 4.4), wordTable("8", 3.2),
		accuracy("1", 5),
		{
			name: "Figure 2", title: "messages", text: "Randomized response sends a bit a channel. The paper draws 3NB at \"a few times\" that, and leaves Pure out. What the printed constants ask for, and why, is said in [results.md](../results.md#figure-2-messages).",
			show: func(c Cells) ([]release.Table, []page.Chart) {
				return nil, overEpsilon(c, "figure2", "Messages that a device sends", "messages a device (mean)", costs, func(r *experiments.Result) (float64, float64) { return r.MessagesPerDevice, 0 })
			},
		},
		{
			name: "Figure 3", title: "error of Gaussian densities", text: "Root mean square at the first 1,000 test records, against the exact density. What is below 0.0223 is the error of 256 random features, which no accounting changes.",
			show: func(c Cells) ([]release.Table, []page.Chart) {
				return nil, overEpsilon(c, "figure3", "Error of Gaussian densities", "root mean square error of a density", queried, func(r *experiments.Result) (float64, float64) { return r.KDERMSE, 0 })
			},
		},
		{
			name: "Figure 4", title: "the shuffler against none", text: "Labels at epsilon 5. Without a shuffler each bit protects itself, and all rounds share the budget. Of inner products that is better than the lemma's RR with a shuffler, whose constants cost more than a shuffler gives at this size: our local accountant, too, knows that a unit vector does not move all bits. An earlier picture and its numbers are in [results.md](../results.md#figure-4-the-shuffler).",
			show: func(c Cells) ([]release.Table, []page.Chart) {
				return nil, accuracies("figure4", 5, c.where(func(x experiments.Cell) bool {
					return x.Density.Bitsum == experiments.Local || x.Density.Bitsum == "rr" && x.Density.Kernel.Name != "ip-rotated"
				}), experiments.Local)
			},
		},
		accuracy("5", 10), accuracy("6", 7),
		{name: "Figure 7", title: "accuracy against epsilon, labels at 5", text: "The paper repeats its Figure 1, which is above."},
		accuracy("8", 3),
		{
			name: "Beyond the tables", title: "what the accountant and the rotation bring, apart", text: "The same bits of inner products, added up by the same protocols, with the noise of either accounting, labels as they are. At epsilon 0.5 the accountant makes 80 of RR's 26, and the rotation 85 of these; of 3NB's 46 the rotation makes 83, and the accountant 84 of these.",
			show: func(c Cells) ([]release.Table, []page.Chart) {
				return crossed(c.where(func(x experiments.Cell) bool {
					return x.Density.Bitsum == "rr" || x.Density.Bitsum == "3nb" && x.Density.Accounting != experiments.AuthorsAccounting
				}), "agnews_lsa256", []string{"ip-identity", "ip-rotated"}, 0), nil
			},
		},
		{
			name: "Appendix B.2", title: "bits and the numbers that they are of", text: "Features on a grid of 1,024 steps in the place of bits: with Gaussian noise of one who holds the records, and with a discrete Gaussian of each device's own where nothing but sums is revealed (distributed discrete Gaussian; some 25 bits a channel). The paper expects little of numbers, as rounding is of low order beside the sampling of features. So it is for Gaussian densities. The coordinates of a vector are not sampled: rounding numbers of about 1/16 to bits costs 5 points by itself (80.5 for 85.1), which numbers save and rotating before rounding gives back (84.9). And a curator's noise on bits pays for each of them moving alone, where the numbers move together: RR's accountant knows that of bits too.",
			show: func(c Cells) ([]release.Table, []page.Chart) {
				return crossed(c.where(func(x experiments.Cell) bool {
					return x.Density.Bitsum != "3nb" && (x.Density.Bitsum != "rr" || x.Density.Accounting == account.ExactAccounting)
				}), "agnews_lsa256", []string{"gaussian", "ip-identity"}, 0), nil
			},
		},
		{
			name: "Theorem 3.3", title: "the error at any point, and projections", text: "The theorem's error holds at the worst point. Each release of densities prints that of its own sums, with the constants of its features in the place of powers of R and S, and `densities.csv` has intervals that hold for all its points at once. The remark after the theorem projects values first (kernel `gaussian-projected`): a device then spends d log d + I m on them and not I d.",
			show: func(Cells) ([]release.Table, []page.Chart) { return anywhere(), nil },
		},
		{
			name: "Appendix A.1.7", title: "variants of Theorem 3.2", text: "Three remarks, two of them about proofs. Pure sums compose to epsilon without a delta by basic composition: that is *Pure, the paper's* in the figures. The absolute error of RR in the place of its root mean square is Lemma 4.8's, which *RR, the paper's* uses. Biased sums add their bias: ours are debiased (Algorithm 2 as printed adds RR's messages as they are), and Pure's is divided out.",
			show: nil,
		},
	}
	for i, it := range p.items {
		if it.show != nil {
			p.items[i].show = func(c Cells) ([]release.Table, []page.Chart) { return it.show(pooled(c)) }
		}
	}
	return p
}

// beside is an item with further tables.
func beside(it item, more func(Cells) []release.Table) item {
	show := it.show
	it.show = func(c Cells) ([]release.Table, []page.Chart) {
		tables, figures := show(c)
		return append(tables, more(c)...), figures
	}
	return it
}

func ofDensity(c experiments.Cell) bool { return c.Density.Bitsum != "" }

// classified are cells whose accuracy was measured for the classifier alone.
func classified(c experiments.Cell) bool {
	d := c.Density
	return ofDensity(c) && !d.CostOnly && d.Queries == 0 && d.Words == 0
}

func costs(c experiments.Cell) bool { return ofDensity(c) && c.Density.CostOnly }

func queried(c experiments.Cell) bool {
	return ofDensity(c) && c.Density.Queries == 1000 && c.Density.Kernel.Name == "gaussian"
}

var kernelWords = map[string]string{"gaussian": "Gaussian", "ip-identity": "inner product", "ip-signs": "inner product, signs", "ip-rotated": "inner product, rotated", "gaussian-paired": "Gaussian, paired", "gaussian-projected": "Gaussian, projected"}

// printedKernel is the kernel under whose name the paper has a map's numbers.
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

// again is a printed cell by the paper's accounting at its delta, and at that of its authors' program.
func again(c Cells) []release.Table {
	const set, epsilon = "agnews_lsa256@30000", 4.5
	t := release.Table{
		Title:   "The cell of Gaussian densities and RR at epsilon 4.5, labels as they are",
		Columns: columns("delta", "printed", "the paper's accounting (no proof)", "runs"),
		Note:    "The paper says 1e-6 of news; its authors' program has 1e-5 for all data.",
	}
	for _, delta := range []float64{1e-6, 1e-5} {
		m, ok := c.one(func(x experiments.Cell) bool {
			d := x.Density
			return classified(x) && x.Dataset == set && d.Kernel.Name == "gaussian" && d.Bitsum == "rr" && d.Accounting == account.PaperAccounting && d.Epsilon == epsilon && d.Delta == delta && d.LabelEpsilon == 0
		})
		if mean, std, printed := kde.Printed("table3", "gaussian", "rr", epsilon, 0); ok && printed {
			t.Rows = append(t.Rows, row(fmt.Sprint(delta), percent(mean/100, std/100), percent(m.Result.Accuracy, m.Result.AccuracyStd), fmt.Sprint(m.Cell.Runs)))
		}
	}
	return []release.Table{t}
}

// added is how a cell's bits are added up and accounted for, whatever its map; without a proof by the paper all the same.
func added(m experiments.Measured) protocol {
	m.Cell.Density.Kernel.Name, m.Unproved = "", ""
	return summed(m)
}

// crossed has a row for each map of inner products and each way to add up, and a column for each epsilon.
func crossed(c Cells, set string, maps []string, labels float64) []release.Table {
	of := c.where(func(x experiments.Cell) bool {
		return classified(x) && x.Dataset == set && x.Density.LabelEpsilon == labels && !x.Density.NearestMean && x.Density.Delta == kde.Delta(set)
	})
	epsilons := epsilonsOf(of)
	t := release.Table{Title: called(set) + ", accuracy in percent", Columns: columns("map", "sums and accounting")}
	for _, e := range epsilons {
		t.Columns = append(t.Columns, release.Column{Label: fmt.Sprintf("epsilon %g", e)})
	}
	t.Columns = append(t.Columns, release.Column{Label: "the same bits without privacy"})
	for _, kernel := range maps {
		at := of.where(func(x experiments.Cell) bool { return x.Density.Kernel.Name == kernel })
		for _, p := range order {
			cells, any, open := row(cmp.Or(kernelWords[kernel], kernel), p.words), false, none
			for _, e := range epsilons {
				text := none
				if i := slices.IndexFunc(at, func(m experiments.Measured) bool { return m.Cell.Density.Epsilon == e && added(m).words == p.words }); i >= 0 {
					m := at[i]
					if any, text = true, percent(m.Result.Accuracy, m.Result.AccuracyStd); m.Unproved != "" {
						text += " (no proof)"
					}
					if p != holder && p != numbers { // the same bits without noise
						open = percent(m.Result.AccuracyNoPrivacy, 0)
					}
				}
				cells = append(cells, words(text))
			}
			if any {
				t.Rows = append(t.Rows, append(cells, words(open)))
			}
		}
	}
	return []release.Table{t}
}

// anywhere is how far densities may be off at the worst point, by the paper's theorem and by the features' own spread, where
// one channel's sum of so many respondents has the error of the exact accounting's randomized response.
func anywhere() []release.Table {
	t := release.Table{
		Title:   "Root mean square error of a density at the worst point: 30,000 respondents, d = 768, 768 features, RR at epsilon 2, delta 1e-6",
		Columns: columns("features", "beta", "Theorem 3.2", "ours"),
		Note:    "Ours is what each release of densities prints, with the errors of its own sums. Beta is what averaging more features does not take away: of projections the root mean square over public rotations, in closed form but for one integral; Theorem 3.2 counts it twice.",
	}
	const n, d = 30_000, 768
	e, _, err := shuffle.CalibrateRR(account.Target{Users: n, Rounds: d, Epsilon: 2, Delta: 1e-6}, account.ExactAccounting)
	if err != nil {
		return []release.Table{t}
	}
	sum := math.Sqrt(n*e.Flip*(1-e.Flip)) / (1 - 2*e.Flip)
	for _, m := range []int{0, 64, 128, 256, 384} {
		spec, name := encode.Spec{Kernel: encode.Gaussian, Dimension: d, Repetitions: d, Bandwidth: 1}, "Gaussian"
		if m > 0 {
			spec.Kernel, spec.Projection, name = encode.GaussianProjected, m, fmt.Sprintf("Gaussian of a projection to %d directions", m)
		}
		f, err := encode.New(spec)
		if err != nil {
			return []release.Table{t}
		}
		beta := f.Spread().Beta
		theorem, err := theorems.KDESupRMSE(beta, f.Bound(), f.Sparsity(), f.Repetitions(), sum, n)
		if err != nil {
			return []release.Table{t}
		}
		t.Rows = append(t.Rows, row(name, number(beta), number(theorem), number(f.SupRMSE(sum, n))))
	}
	return []release.Table{t}
}

// byLabels is one of Tables 2 to 5: labels as they are with every way, and all levels of labels by the paper's
// numbers, its accounting and the exact one.
func byLabels(name, set string, c Cells) []release.Table {
	of := c.where(func(x experiments.Cell) bool {
		return classified(x) && x.Dataset == set && x.Density.Delta == kde.Delta(set)
	})
	first := release.Table{
		Title:   called(set) + ", labels as they are",
		Columns: columns("kernel", "sums", "epsilon", "printed", "the paper's accounting", "authors' code", "exact", "ours", "curator of bits", "who holds the records", "without privacy"),
	}
	levels := release.Table{
		Title:   called(set) + ", by the labels' epsilon: printed / the paper's accounting / exact",
		Columns: columns("kernel", "sums", "epsilon", "as they are", "7", "5", "3", "1"),
	}
	if ours := rotatedBy(of); ours != "" {
		levels.Note = "*Ours* at the same levels: " + ours + "."
	}
	for _, kernel := range []string{"gaussian", "gaussian-projected", "ip-identity"} {
		for _, sums := range []string{"rr", "3nb"} {
			for _, epsilon := range epsilonsOf(of) {
				get := func(bitsum string, by account.Accounting, labels float64) (experiments.Measured, bool) {
					return of.one(func(x experiments.Cell) bool {
						d := x.Density
						return d.Bitsum == bitsum && d.Epsilon == epsilon && d.LabelEpsilon == labels && (d.Kernel.Name == kernel || by == "") && (d.Accounting == by || by == "" && d.Kernel.Name == "ip-rotated")
					})
				}
				text := func(bitsum string, by account.Accounting, labels float64) string {
					m, ok := get(bitsum, by, labels)
					if !ok {
						return none
					}
					s := percent(m.Result.Accuracy, m.Result.AccuracyStd)
					if m.Unproved != "" {
						s += " (no proof)"
					}
					return s
				}
				printed := func(labels float64) string {
					mean, std, ok := kde.Printed(name, printedKernel(kernel), sums, epsilon, labels)
					if !ok {
						return none
					}
					return percent(mean/100, std/100)
				}
				head := []string{kernelWords[kernel], map[string]string{"rr": "RR", "3nb": "3NB"}[sums], fmt.Sprint(epsilon)}
				authors := none
				if sums == "3nb" {
					authors = text(sums, experiments.AuthorsAccounting, 0)
				}
				open := none
				if m, ok := get(sums, account.ExactAccounting, 0); ok {
					open = percent(m.Result.AccuracyNoPrivacy, 0)
				}
				shown := row(append(head[:3:3], printed(0), text(sums, account.PaperAccounting, 0), authors, text(sums, account.ExactAccounting, 0), text("rr", "", 0), text(experiments.Curator, account.ExactAccounting, 0), text(experiments.Holder, account.ExactAccounting, 0), open)...)
				if shown[4].Text != none || shown[6].Text != none {
					first.Rows = append(first.Rows, shown)
				}
				levelled := 0
				for _, l := range []float64{0, 7, 5, 3, 1} {
					if _, ok := get(sums, account.ExactAccounting, l); ok {
						levelled++
					}
					head = append(head, printed(l)+" / "+strings.TrimSuffix(text(sums, account.PaperAccounting, l), " (no proof)")+" / "+text(sums, account.ExactAccounting, l))
				}
				if levelled > 1 || printed(0) != none && kernel == printedKernel(kernel) {
					levels.Rows = append(levels.Rows, row(head...))
				}
			}
		}
	}
	if len(of) == 0 {
		return nil
	}
	return []release.Table{first, levels}
}

// rotatedBy is the accuracy of rotated bits by epsilon and level of labels.
func rotatedBy(c Cells) string {
	var parts []string
	for _, epsilon := range epsilonsOf(c) {
		var at []string
		for _, l := range []float64{0, 7, 5, 3, 1} {
			if m, ok := c.one(func(x experiments.Cell) bool {
				return x.Density.Kernel.Name == "ip-rotated" && x.Density.Epsilon == epsilon && x.Density.LabelEpsilon == l
			}); ok {
				at = append(at, percent(m.Result.Accuracy, m.Result.AccuracyStd))
			}
		}
		if len(at) > 0 {
			parts = append(parts, fmt.Sprintf("%s at epsilon %g", strings.Join(at, ", "), epsilon))
		}
	}
	return strings.Join(parts, "; ")
}

// localOf is a local epsilon in words; of what was kept without it (0) a dash.
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

// datasets are those of cells, in the order of their names.
func datasets(c Cells) (all []string) {
	for _, m := range c {
		if !slices.Contains(all, m.Cell.Dataset) {
			all = append(all, m.Cell.Dataset)
		}
	}
	slices.Sort(all)
	return all
}

// stem is a name as files have it.
func stem(name string) string {
	return strings.NewReplacer("_", "-", "@", "-", " ", "-").Replace(name)
}

var setWords = map[string]string{
	"agnews": "AG news (12,000)", "agnews_lsa256": "AG news (40,000)", "agnews_lsa256@30000": "AG news, 30,000 a class", "sst2": "SST-2", "dbpedia14": "DBPedia-14", "dbpedia14@40000": "DBPedia-14, 40,000 a class",
	"lending_club": "Lending Club", "sst2_glue": "SST-2 (GLUE)", "sst2_glue@33674": "SST-2 (GLUE), 33,674 a class", "agnews_glove": "AG news (40,000) by means of GloVe's vectors", "mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "cifar-like": "made up in CIFAR-10's size", "dbpedia-like": "made up in DBPedia's size", "cifar10_subset": "CIFAR-10, a fifth",
}

func called(set string) string { return cmp.Or(setWords[set], set) }

// accuracies are a figure for each data set and kernel. needs names a bitsum that a set must have been measured by.
func accuracies(name string, labels float64, c Cells, needs ...string) (out []page.Chart) {
	at := c.where(func(x experiments.Cell) bool { return classified(x) && x.Density.LabelEpsilon == labels })
	for _, set := range datasets(at) {
		for _, kernel := range []string{"gaussian", "ip-identity"} {
			of := at.where(func(x experiments.Cell) bool {
				return x.Dataset == set && (x.Density.Kernel.Name == kernel || x.Density.Kernel.Name == "ip-rotated") && (x.Density.Bitsum != experiments.Local || slices.Contains(needs, experiments.Local))
			})
			if !has(of, kernel, needs) {
				continue
			}
			f := newChart(name+"-"+stem(set)+"-"+stem(kernel), fmt.Sprintf("%s, %s, labels at epsilon %g", called(set), kernelWords[kernel], labels),
				fmt.Sprintf("Accuracy on %s against epsilon.", called(set)), release.Axis{Label: "epsilon of the features", Log: true}, release.Axis{Label: "accuracy (share of test records)"})
			for _, m := range sorted(of) {
				f.add(summed(m), m.Cell.Density.Epsilon, m.Result.Accuracy, m.Result.AccuracyStd)
			}
			for _, m := range sorted(of) {
				if m.Cell.Density.Kernel.Name == kernel && m.Cell.Density.Bitsum == "rr" && m.Cell.Density.Accounting == account.ExactAccounting {
					f.add(noPrivacy, m.Cell.Density.Epsilon, m.Result.AccuracyNoPrivacy, 0)
				}
			}
			for _, sums := range []protocol{rrPaper, threePaper} {
				bitsum := map[string]string{rrPaper.words: "rr", threePaper.words: "3nb"}[sums.words]
				for _, epsilon := range []float64{1.5, 2, 3, 4.5, 4.7, 7} {
					if mean, std, ok := kde.Printed(printedOf[set], kernel, bitsum, epsilon, labels); ok && len(needs) == 0 {
						f.add(published(sums), epsilon, mean/100, std/100)
					}
				}
			}
			if drawn, ok := f.done(); ok {
				out = append(out, drawn)
			}
		}
	}
	return out
}

// printedOf is the paper's table of a data set.
var printedOf = map[string]string{"agnews_lsa256": "table3", "agnews_lsa256@30000": "table3", "sst2": "table4", "sst2_glue@33674": "table4", "dbpedia14": "table2", "dbpedia14@40000": "table2", "cifar-like": "table5"}

// has says whether a kernel was measured at more than one epsilon, and by what is needed.
func has(c Cells, kernel string, bitsums []string) bool {
	of := c.where(func(x experiments.Cell) bool { return x.Density.Kernel.Name == kernel })
	for _, b := range bitsums {
		if _, ok := of.one(func(x experiments.Cell) bool { return x.Density.Bitsum == b }); !ok {
			return false
		}
	}
	return len(epsilonsOf(of)) > 3
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

// order is that of protocols in legends.
var order = []protocol{rotated, rrExact, threeExact, pureExact, curator, holder, numbers, rrPaper, rrUnproved, threePaper, threeAuthors, purePaper, rrLocal}

// rank is the place of a protocol in legends.
func rank(m experiments.Measured) int {
	return slices.IndexFunc(order, func(p protocol) bool { return p.words == summed(m).words })
}

// overEpsilon is a figure for each data set, on logarithmic axes.
func overEpsilon(c Cells, name, title, y string, pick func(experiments.Cell) bool, value func(*experiments.Result) (float64, float64)) (out []page.Chart) {
	at := c.where(pick)
	for _, set := range datasets(at) {
		f := newChart(name+"-"+stem(set), title+", "+called(set), title+" on "+called(set)+" against epsilon.", release.Axis{Label: "epsilon of the features", Log: true}, release.Axis{Label: y, Log: true})
		for _, m := range sorted(at.where(func(x experiments.Cell) bool { return x.Dataset == set })) {
			if v, spread := value(m.Result); v > 0 {
				f.add(summed(m), m.Cell.Density.Epsilon, v, spread)
			}
		}
		if drawn, ok := f.done(); ok {
			out = append(out, drawn)
		}
	}
	return out
}

// mapRank is the place of a cell's map where words are listed.
func mapRank(m experiments.Measured) int {
	return slices.Index([]string{"gaussian", "gaussian-paired", "ip-identity", "ip-rotated"}, m.Cell.Density.Kernel.Name)
}

// decoded are the words of classes at an epsilon, a table for each data set.
func decoded(epsilon float64, c Cells) (out []release.Table) {
	at := c.where(func(x experiments.Cell) bool {
		return ofDensity(x) && x.Density.Words > 0 && x.Density.Epsilon == epsilon && x.Density.Accounting == account.ExactAccounting
	})
	for _, set := range datasets(at) {
		t := release.Table{Title: called(set) + ", exact accounting", Columns: columns("class", "kernel", "sums", "words")}
		of := at.where(func(x experiments.Cell) bool { return x.Dataset == set })
		slices.SortStableFunc(of, func(a, b experiments.Measured) int {
			return cmp.Or(cmp.Compare(mapRank(a), mapRank(b)), cmp.Compare(rank(a), rank(b)))
		})
		var classes []string
		for class := range of[0].Result.Words {
			classes = append(classes, class)
		}
		slices.Sort(classes)
		for _, class := range classes {
			for _, m := range of {
				w := m.Result.Words[class]
				t.Rows = append(t.Rows, row(class, cmp.Or(kernelWords[m.Cell.Density.Kernel.Name], m.Cell.Density.Kernel.Name), strings.ToUpper(m.Cell.Density.Bitsum), strings.Join(w.Highest, ", ")+" ("+strings.Join(w.Apart, ", ")+")"))
			}
		}
		out = append(out, t)
	}
	return out
}
