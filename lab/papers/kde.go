package papers

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/figures"
	"github.com/confetti-dp/confetti/lab/kde"
	"github.com/confetti-dp/confetti/lab/literature"
	"github.com/confetti-dp/confetti/release"
)

func kdePaper() Paper {
	p := Paper{
		Name: "kde", specs: kde.Specs, counted: numbered, Title: "KDE: every table and figure",
		timed: "They are of a program that kept features of repeated records in memory for most cells of sets by the sentence encoder. **The program here does not**: it computes features anew, which gives the same bits and takes longer; how much longer was not measured.",
		text: `*Shuffled differential privacy over kernel densities* asks each respondent for the bits of random features and adds them up behind a shuffler.

Accuracies are percent, ± the deviation over runs, of the class of highest density. *Printed* is
the paper's. *The paper's* accounting is Theorem 3.2 with advanced composition; where its lemma for randomized response does not hold at this size, the formula is used all the same, as the paper does, and **promises nothing** (*no proof*). *Authors' code* spends 0.8 of a round's
epsilon on 3NB's noise, where Appendix A.2 prints 0.99. *Exact* is our accounting of the same protocol, *ours* one bit of each rotated coordinate by randomized response. A curator adds Gaussian noise to the same sums. The inner product is of the coordinates as they are, as in the authors' code.

**What an epsilon is of.** One respondent's record is replaced by any other (*replacement*), for an honest shuffler and honest others, at delta 1e-6 of AG news and DBPedia-14 at the paper's size and 1e-5 of all else, as in the paper. It is of the features; a label has an epsilon of its own, which comes to it. No row has a local epsilon that means
anything: hundreds of bits share it, so that everything together with nobody honest would be promised hundreds. What the same budget gives where it is to be a local one is in [Figure 4](#figure-4-the-shuffler-against-none).

    confetti-lab run kde --all --data DIR --out results      # goes on where it was stopped

Data: sets *by the sentence encoder*, or *sentences*, have the paper's features of 768 dimensions, which lab/kde/sentences.py makes of our texts; a data folder without them leaves their rows out. Beside them agnews_lsa256 is AG news as 256 latent directions of words, and so are DBPedia-14 and SST-2 (GLUE). Rows of so many a class (AG news, 30,000 a class) have the paper's number of respondents in each, of whom several hold one real record. They have the paper's number of Fourier features, 768. The
paper's contrastive features of CIFAR-10 are not to be had: Fashion-MNIST's pixels, and made-up vectors of that size, stand in. How and why numbers differ, and what goes beyond the paper: [results-kde.md](../results-kde.md).`,
	}
	table := func(name, set, ours string, sets ...string) item {
		return item{
			name: "Table " + name, title: "the labels' epsilon, " + set, text: ours, awaits: slices.DeleteFunc(slices.Clone(sets), func(s string) bool { return !kde.Encoded(s) }),
			show: func(c Cells) (tables []release.Table, _ []figures.Chart) {
				for _, s := range sets {
					tables = append(tables, byLabels("table"+name, s, c)...)
				}
				return tables, nil
			},
		}
	}
	wordTable := func(name string, epsilon float64) item {
		return item{
			name: "Table " + name, title: fmt.Sprintf("classes in words, epsilon %g, labels at 5", epsilon), text: "Three words of highest density in each class, and in brackets those whose density exceeds that in the other classes by most, by exact accounting, one run." + notTheirs, awaits: encodedWords, lacks: fewWords,
			show: func(c Cells) ([]release.Table, []figures.Chart) { return decoded(epsilon, c), nil },
		}
	}
	accuracy := func(name string, labels float64) item {
		return item{
			name: "Figure " + name, title: fmt.Sprintf("accuracy against epsilon, labels at %g", labels), data: map[bool]string{true: madeUpPanel, false: noPanel + " Inner products of such vectors stand in Table 5, at labels of 7, 5, 3 and 1."}[labels == 5],
			text: "With as many respondents as there are records, and by the sentence encoder with the paper's number of them and its 768 dimensions; bars are the deviation over runs. The paper's figure carries no numbers that could be drawn in; where its tables have some at this epsilon of labels, they are the crosses. Made-up vectors of CIFAR-10's size are drawn at labels of 5 alone, and by inner products: what Gaussian densities make of made-up vectors says nothing of the paper's, and their other levels of labels are in Table 5. Where a line of Pure begins late, or is missing, it does not exist: its probability to drop a bit would be above one.",
			show: func(c Cells) ([]release.Table, []figures.Chart) { return nil, accuracies("figure"+name, labels, c) },
		}
	}
	p.items = []item{
		{name: "Table 1", title: "classes in words, epsilon 3.2, labels at 5", lacks: fewWords, text: "Six classes of Table 8: [below](#table-8-classes-in-words-epsilon-32-labels-at-5)."},
		table("2", "DBPedia-14", "At the paper's size: 40,000 respondents a class, 768 Fourier features, delta 1e-6. By the paper's own encoder (*sentences*) inner products come back, by 3NB within a point, but with labels at 1 within 3 (61.4 for 58.9 printed). Its Gaussian rows are those of features drawn for each class anew, as the authors' program has them, and so fall with the labels' epsilon; every plan of ours has one draw for all ([measured](../results-kde.md#why-the-numbers-differ-from-the-papers)). Beside them stand latent directions of public texts, whose inner products have 0.89 without privacy.", "dbpedia14@40000", "dbpedia14_mpnet@40000"),
		beside(table("3", "AG News", "At the paper's size: 30,000 respondents a class, 768 Fourier features, delta 1e-6. By the paper's own encoder (*sentences*) inner products come back, with labels at 1 too. Its Gaussian rows are those of features drawn for each class ([measured](../results-kde.md#why-the-numbers-differ-from-the-papers)). Beside them stand latent directions of words, whose inner products have 83.5 without privacy.", "agnews_lsa256@30000", "agnews_mpnet@30000"), again),
		table("4", "SST2", "The printed rows of inner products repeat DBPedia-14's to the digit, and are left out. At the paper's size: GLUE's 67,349 phrases without the 10,000 that are public, repeated. By latent directions Gaussian densities have 66 without privacy and inner products 63. By the paper's own encoder (*sentences*) they have 85 and 87, where its Gaussian rows tend to 70: with features drawn for each class, as the authors' program has them, the encoder's have 73.1 ± 1.8 ([measured](../results-kde.md#why-the-numbers-differ-from-the-papers)).", "sst2_glue@33674", "sst2_glue_mpnet@33674"),
		lacking(table("5", "CIFAR-10", "The paper's 6,144 contrastive features are not to be had: made-up ones of that size. A *curator of bits* has the rounded bits, of which a record may move each: a root of 6,144 of sensitivity, against which the accountant of RR knows that a unit vector moves all bits' probabilities together by one at most. *Who holds the records* adds up the features themselves and has that sensitivity too. *Gaussian, projected* has 2,048 features of a projection to 256 directions, where the paper has 6,144: the paper's contrast, that Gaussian densities bear 3NB's noise and inner products do not, is there, and so is that the lemma's RR is borne by neither. By the labels' epsilon the lemma's RR falls as printed (1.5: 19 to 12, printed 24 to 12), and Gaussian 3NB at 1 alone, less far than printed. Fashion-MNIST's pixels have an eighth of its dimensions and more respondents: the contrast is weaker there.", "cifar-like", "fashion-mnist"), "The paper's contrastive features are not to be had, so that vectors of their size are made up. Gaussian rows of these have 2,048 features of a projection for its 6,144."),
		wordTable("6", 5.7), wordTable("7", 4.4), wordTable("8", 3.2),
		accuracy("1", 5),
		{
			name: "Figure 2", title: "messages", data: noPanel, text: "Randomized response sends a bit a channel. The paper draws 3NB at \"a few times\" that, and leaves Pure out. What the printed constants ask for, and why, is said in [results-kde.md](../results-kde.md#figure-2-messages). CIFAR-10's size has no panel here and in Figures 3 and 4, and no cell of theirs was measured: made-up vectors would show what was made up.",
			show: func(c Cells) ([]release.Table, []figures.Chart) {
				return nil, overEpsilon(c, "figure2", "Messages that a device sends", "messages a device (mean)", costs, func(r *experiments.Result) (float64, float64) { return r.MessagesPerDevice, 0 })
			},
		},
		{
			name: "Figure 3", title: "error of Gaussian densities", data: noPanel, text: "Root mean square at the first 1,000 test records, against the exact density. Where the lines end is the error of the random features alone (0.0223 of 256, and 0.014 to 0.016 of the encoder's 768), which no accounting changes. The tables have the same errors beside accuracies, labels as they are.",
			show: func(c Cells) ([]release.Table, []figures.Chart) {
				return missed(c, "error of a density / accuracy in percent", func(r *experiments.Result) string { return number(r.KDERMSE) + " / " + percent(r.Accuracy, 0) }), overEpsilon(c, "figure3", "Error of Gaussian densities", "root mean square error of a density", queried, func(r *experiments.Result) (float64, float64) { return r.KDERMSE, r.KDERMSEStd })
			},
		},
		{
			name: "Figure 4", title: "the shuffler against none", data: noPanel, text: "Labels at epsilon 5. Without a shuffler each bit protects itself, and all rounds share the budget. Of inner products that is better than the lemma's RR with a shuffler, whose constants cost more than a shuffler gives at this size: our local accountant, too, knows that a unit vector does not move all bits.",
			show: func(c Cells) ([]release.Table, []figures.Chart) {
				return alone(5, c), accuracies("figure4", 5, c.where(func(x experiments.Cell) bool {
					return x.Density.Bitsum == experiments.Local || x.Density.Bitsum == "rr" && x.Density.Kernel.Name != "ip-rotated"
				}), experiments.Local)
			},
		},
		accuracy("5", 10), accuracy("6", 7),
		{name: "Figure 7", title: "accuracy against epsilon, labels at 5", data: madeUpPanel, text: "The paper repeats its Figure 1, which is above."},
		accuracy("8", 3),
		{
			name: "Beyond the tables", title: "what the accountant and the rotation bring, apart", text: "The same bits of inner products, added up by the same protocols, with the noise of either accounting, labels as they are. At epsilon 0.5 the accountant makes 80 of RR's 26, and the rotation 85 of these; of 3NB's 46 the rotation makes 83, and the accountant 84 of these.",
			show: func(c Cells) ([]release.Table, []figures.Chart) {
				return crossed(c.where(func(x experiments.Cell) bool {
					return x.Density.Bitsum == "rr" || x.Density.Bitsum == "3nb" && x.Density.Accounting != experiments.AuthorsAccounting
				}), "agnews_lsa256", []string{"ip-identity", "ip-rotated"}, 0), nil
			},
		},
		{
			name: "Beyond the tables, on smaller crowds", title: "one bit a coordinate", text: "AG news of 12,000 texts (2,971 respondents in the smallest class, d = 256) and SST-2 (20,201, d = 128), labels as they are. *Inner product, rotated* sends as many bits as there are dimensions, *Gaussian, paired* 4,096. The nearest class mean is post-processing: it costs nothing.",
			show: func(c Cells) (tables []release.Table, _ []figures.Chart) {
				for _, set := range []string{"agnews", "sst2"} {
					if _, ok := c.one(func(x experiments.Cell) bool {
						return classified(x) && x.Dataset == set && x.Density.Kernel.Name == "gaussian-paired"
					}); ok {
						tables = append(tables, crossed(c, set, []string{"gaussian", "ip-identity", "ip-rotated", "gaussian-paired"}, 0)...)
					}
				}
				return tables, nil
			},
		},
		{
			name: "Appendix A.3", title: "random signs in the place of the coordinates", text: "The paper's text projects a value on random signs before rounding; its authors' program does not. Labels at epsilon 5.",
			show: func(c Cells) ([]release.Table, []figures.Chart) {
				return crossed(c.where(func(x experiments.Cell) bool { return x.Density.Bitsum != experiments.Local }), "agnews_lsa256", []string{"ip-signs", "ip-identity"}, 5), nil
			},
		},
		{
			name: "Appendix B.2", title: "bits and the numbers that they are of", text: "Features on a grid of 1,024 steps in the place of bits: with Gaussian noise of one who holds the records, and with a discrete Gaussian of each device's own where nothing but sums is revealed (distributed discrete Gaussian; some 25 bits a channel). The paper expects little of numbers, as rounding is of low order beside the sampling of features. So it is for Gaussian densities. The coordinates of a vector are not sampled: rounding numbers of about 1/16 to bits costs 5 points by itself (80.5 for 85.1), which numbers save and rotating before rounding gives back (84.9). And a curator's noise on bits pays for each of them moving alone, where the numbers move together: RR's accountant knows that of bits too.",
			show: func(c Cells) ([]release.Table, []figures.Chart) {
				return crossed(c.where(func(x experiments.Cell) bool {
					return x.Density.Bitsum != "3nb" && (x.Density.Bitsum != "rr" || x.Density.Accounting == calibrate.Exact)
				}), "agnews_lsa256", []string{"gaussian", "ip-identity"}, 0), nil
			},
		},
		{
			name: "Theorem 3.3", title: "the error at any point, and projections", text: "The theorem's error holds at the worst point. Each release of densities prints that of its own sums, with the constants of its features in the place of powers of R and S, and `densities.csv` has intervals that hold for all its points at once. The remark after the theorem projects values first (kernel `gaussian-projected`): a device then spends d log d + I m on them and not I d.",
			show: func(Cells) ([]release.Table, []figures.Chart) { return anywhere(), nil },
		},
		{
			name: "Appendix A.1.7", title: "variants of Theorem 3.2", text: "Three remarks, two of them about proofs. Pure sums compose to epsilon without a delta by basic composition: that is *Pure, the paper's* in the figures. The absolute error in the place of its root mean square is Lemma 4.8's of RR, which *RR, the paper's* uses; the tables have it, in the mean and at most, at the 1,000 test records and all classes of [Figure 3](#figure-3-error-of-gaussian-densities). The mean is about 0.8 of the root mean square, as of a normal law, and the largest 3.1 to 4.4 times that. Sentences have root mean squares alone, in Figure 3. Biased sums add their bias: ours are debiased (Algorithm 2 as printed adds RR's messages as they are), and Pure's is divided out.",
			show: func(c Cells) ([]release.Table, []figures.Chart) {
				return missed(c, "absolute error of a density, in the mean / at most", func(r *experiments.Result) string {
					if r.Absolute == nil {
						return ""
					}
					return number(r.Absolute.Mean) + " / " + number(r.Absolute.Largest)
				}), nil
			},
		},
	}
	for i, it := range p.items {
		if it.show != nil {
			p.items[i].show = func(c Cells) ([]release.Table, []figures.Chart) { return it.show(pooled(c)) }
		}
	}
	return p
}

// What tables of words, and figures without and with a panel of CIFAR-10's size, lack.
const (
	fewWords    = "Of the paper's 400,000 words the encoder has the first 30,000: at 13 a second, which two cores do of news, the others take eight hours at most, and were not encoded."
	noPanel     = "CIFAR-10 has no panel: the paper's contrastive features of it are not to be had, and one of made-up vectors would show what was made up."
	madeUpPanel = "The panel of CIFAR-10 has inner products of made-up vectors alone: the paper's contrastive features of it are not to be had."
)

// encodedWords are the sets with words by the paper's sentence encoder.
var encodedWords = []string{"dbpedia14_mpnet", "agnews_mpnet", "sst2_glue_mpnet"}

// notTheirs says what in tables of words the paper has otherwise.
const notTheirs = " The paper has a sentence encoder's features, of texts as of GloVe's 400,000 words; its words cannot be compared with ours one by one, and it has no measure of them. Ours are all classes of its three sets by RR, 3NB and Pure, as there. They stand by that encoder, with the first 30,000 of its words: those of highest density are on the topic, and those in brackets tell the classes. Besides, texts stand as means of GloVe's vectors, 25 numbers a word, with 11,925 of its words. By these the words of highest density are common ones in every class, and those in brackets tell most classes of news and of DBPedia-14, and nothing of SST-2. News stand a second time by latent directions, with the words of the data set. Rows of *inner product, rotated* are ours."

// lacking returns an item without the paper's data.
func lacking(it item, what string) item {
	it.data = what
	return it
}

// beside returns an item with further tables.
func beside(it item, more func(Cells) []release.Table) item {
	show := it.show
	it.show = func(c Cells) ([]release.Table, []figures.Chart) {
		tables, figures := show(c)
		return append(tables, more(c)...), figures
	}
	return it
}

// anywhere returns how far densities may be off at the worst point, by the paper's theorem and by the features' own spread, where
// one channel's sum of so many respondents has the error of the exact accounting's randomized response.
func anywhere() []release.Table {
	t := release.Table{
		Title:   "Root mean square error of a density at the worst point: 30,000 respondents, d = 768, 768 features, RR at epsilon 2, delta 1e-6",
		Columns: columns("features", "beta", "Theorem 3.2", "ours"),
		Note:    "Ours is what each release of densities prints, with the errors of its own sums. Beta is what averaging more features does not take away: of projections the root mean square over uniform public rotations, in closed form but for one integral; that the rotations which are drawn err no more was measured, and is not proved. Theorem 3.2 counts it twice.",
	}
	const n, d = 30_000, 768
	e, _, err := shuffle.CalibrateRR(calibrate.Target{Users: n, Rounds: d, Epsilon: 2, Delta: 1e-6}, calibrate.Exact)
	if err != nil {
		return []release.Table{t}
	}
	sum := math.Sqrt(n*e.Flip*(1-e.Flip)) / (1 - 2*e.Flip)
	for _, m := range []int{0, 64, 128, 256, 384} {
		spec, name := kernelmap.Spec{Kernel: kernelmap.Gaussian, Dimension: d, Repetitions: d, Bandwidth: 1}, "Gaussian"
		if m > 0 {
			spec.Kernel, spec.Projection, name = kernelmap.GaussianProjected, m, fmt.Sprintf("Gaussian of a projection to %d directions", m)
		}
		f, err := kernelmap.New(spec)
		if err != nil {
			return []release.Table{t}
		}
		beta := f.Spread().Beta
		theorem, err := literature.KDESupRMSE(beta, f.Bound(), f.Sparsity(), f.Repetitions(), sum, n)
		if err != nil {
			return []release.Table{t}
		}
		t.Rows = append(t.Rows, row(name, number(beta), number(theorem), number(f.SupRMSE(sum, n))))
	}
	return []release.Table{t}
}
