package papers

import (
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/lab/esa"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/figures"
	"github.com/confetti-dp/confetti/lab/sgd"
	"github.com/confetti-dp/confetti/release"
)

// standing says of the paper's models what stands for their respondents.
const standing = "As in the paper 2,000 examples, of CIFAR-10 5,000, stand for the respondents of a round, who report once, twice or five times each; their reports are drawn by the normal limit of their sum. **Narrower than the paper**: 100 examples stand for them in cells of more than 800 rounds, of CIFAR-10 of more than 2,500, where as many as the paper's would take a processor more than ten minutes. Ten runs have, as the paper's, all cells of CIFAR-10, and of the others those of 100 examples and up to 3,000 rounds and those without privacy; the rest has 3. Four of these cells were measured with both: accuracies differ by at most 0.2 points. Steps are as long as gave the highest accuracy on records that are held back, of respondents that do not answer (`confetti-lab run esa-drift`, [gradients.md](../gradients.md#steps))."

func esaPaper() Paper {
	budgets := []float64{0.05, 0.25, 0.5, 0.75, 1}
	pictures := func(name, spec, set, what, text string) item {
		return item{
			name: "Table " + name, title: what, text: text,
			show: func(c Cells) ([]release.Table, []figures.Chart) {
				t, f := fragments(spec, set, experiments.OneHot, budgets, c)
				return []release.Table{t}, f
			},
		}
	}
	return Paper{
		Name: "esa", specs: func() []experiments.Spec { return append(esa.Specs(), sgd.Specs()...) }, pictures: esa.DrawMap, counted: numbered + "; of gradients run r has the seed plus r", Title: "ESA revisited: every table and figure",
		text: `*Encode, Shuffle, Analyze Revisited* asks each respondent for one cell of a histogram in bits that travel apart, or for a gradient.

Errors are root mean squares over all cells, in respondents, of estimates that are taken to zero where they are below; in brackets those taken to the largest
possible count too. *Printed* is the paper's. By *the paper's accounting*, its Lemma II.6, a central epsilon allows a local one, at which ours sends the very same reports: that column is ours **at equal local epsilon** too, and the last one what these reports keep centrally. *Exact* is ours **at equal central epsilon**, by the law of a cell's count, for removal: what it gains in
error it pays in local epsilon, which each table has beside it. The paper's pictures are not public: ours have their sizes and numbers of respondents.

    confetti-lab run esa --all --data DIR --out results      # goes on where it was stopped

Why numbers differ, pictures, and what goes beyond the paper: [results-esa.md](../results-esa.md); learning in rounds: [gradients.md](../gradients.md).`,
		items: []item{
			{name: "Figure 1", title: "a map, privately", text: "The paper shows its map at a central epsilon of 0.5; ours stand at 0.05 and, in the second row, at 0.5: the truth, a curator, and then reports by the paper's accounting and by the exact one, each in 1, 4, 16 and 256 fragments. A picture has 2.8 million cells, so that two budgets are kept here: `confetti-lab run esa-table8` writes all five.\n\n![A made-up map by night at two central epsilons](" + esa.MapSheet + ")"},
			{name: "Figure 2", title: "learning curves", lacks: narrower, data: noSubset, text: "Of MNIST: directions of the network of Table XIII, local epsilon 1.9 a round, for as many rounds as the printed orders leave at 18 (the paper's b; its \"tops out at 95 %\" is the level of the cross). Its c, on CIFAR-10, tops out at 70 %: its features are of CIFAR-100, ours of 5,000 other records of CIFAR-10. " + standing, show: func(c Cells) ([]release.Table, []figures.Chart) { return nil, curves(c) }},
			{name: "Table I", title: "heavy hitters", text: "The paper prints epsilons and messages, and of errors only pictures, in its right half too, where the same reports are in a sketch. From 0.05 on a sketch errs by what collides in it, which no budget changes.", show: func(c Cells) ([]release.Table, []figures.Chart) {
				return []release.Table{heavyHitters(c)}, fragmentFigure("esa-table1", "heavy-hitters", experiments.OneHot, []float64{0.0025, 0.01, 0.05, 0.25, 1}, c)
			}},
			{name: "Table II", title: "populations", data: "Its row of counts sorted by magnitude is a picture without numbers of populations that are not public: ours are made up to its other rows.", text: "Ours are made up to these numbers; counts in the paper sorted by magnitude are a picture without numbers.", show: func(c Cells) ([]release.Table, []figures.Chart) { return []release.Table{populations(c)}, nil }},
			{name: "Table III", title: "four populations", text: "Local epsilon 2, central epsilon 0.05 and 1, and a sketch with the flips of the last. At local epsilon 2 the printed central epsilons are the lemma's divided by 2.46. Messages agree to the last digit where the local epsilon is printed whole, and else within a hundredth: the paper rounds its local epsilons.", show: func(c Cells) ([]release.Table, []figures.Chart) { return []release.Table{four(c)}, nil }},
			pictures("IV", "esa-table4", "horse-like", "the Horse", "A sparse picture, 87,680 cells, 1,914,589 respondents, delta 5e-8. Printed errors of a curator and of single reports are 0.87 of ours that are taken to white, at every noise: [see below](#what-the-printed-errors-are-off-by-the-horse-the-map-and-the-sketches)."),
			{name: "Table V", title: "the Horse in a sketch", text: "Count-mean sketch, 1,024 hash functions by 65,536 cells, with the flips of Table IV. The paper knows no central epsilon but \"between the target and the local one\"; ours counts the devices that share a row.", show: func(c Cells) ([]release.Table, []figures.Chart) {
				t, _ := fragments("esa-table5", "horse-like", experiments.CountMean, budgets, c)
				m, ok := c.one(func(x experiments.Cell) bool {
					return x.Dataset == "horse-like" && x.Histogram.Encoding == experiments.CountMean && x.Histogram.Accounting == calibrate.Exact && x.Histogram.LocalEpsilon > 0
				})
				if ok {
					t.Rows = append(t.Rows, row("none", "the sketch alone", printedError("esa-table5", m, ok), none, erring(m, ok), none, none, none))
				}
				return []release.Table{t}, nil
			}},
			{name: "Table VI", title: "one report or several", text: "Each respondent reports once, twice or five times with that share of the local epsilon. Exact rows are at equal central epsilon.", show: func(c Cells) ([]release.Table, []figures.Chart) {
				return []release.Table{several("esa-table6", experiments.OneHot, budgets, c)}, nil
			}},
			{name: "Table VII", title: "one hash function or several", text: "The same with hash functions of the sketch of Table V.", show: func(c Cells) ([]release.Table, []figures.Chart) {
				return []release.Table{several("esa-table7", experiments.CountMean, budgets, c)}, nil
			}},
			pictures("VIII", "esa-table8", "map-like", "the Map", "2,795,520 cells, 236,559,063 respondents, delta 5e-10. The paper's errors have a floor of 58 that neither epsilon nor fragments change and that its curator's do not have: counts of up to 637 taken to 255 make such a floor, and then all of its numbers ([see below](#what-the-printed-errors-are-off-by-the-horse-the-map-and-the-sketches)). Nothing is taken below 637 here."),
			pictures("IX", "esa-table9", "child-like", "the Child", "A picture without black, 358,337 cells, 50,409,435 respondents, delta 5e-9. What is taken to white agrees with the paper within 5 %."),
			{name: "Table X", title: "other bounds", text: "Central epsilon of the reports of Table III without attribute fragmenting. Half of the privacy blanket with Hoeffding's inequality, at twice the local epsilon, is within 6 % of all that is printed for local epsilon 2.", show: func(c Cells) ([]release.Table, []figures.Chart) { return []release.Table{bounds(c)}, nil }},
			{
				name: "What the printed errors are off by", title: "the Horse, the Map and the sketches",
				text: "**The Horse.** What is printed of a curator and of single reports, from a noise of 4 to one of 600, is 0.84 to 0.88 of our error that is taken to white, 0.87 in the mean: the root of three quarters, as if a mean over four channels of a picture had been taken of which one, its transparency, never errs. That is a reading, which the paper does not confirm. Its two and five reports (Table VI) do not have the factor, those of two and five hash functions (Table VII) do; the Child, which the paper made grey, and the Map, a photograph, have none.\n\n" +
					"**The Map.** Its 11 numbers of one report and of four fragments follow within 3 % from taking estimates to 255, as of a picture of that white, where 2.5 times as many are in the brightest cells. Its sketch has that floor too: 58 and the 59 that ours measures are 83, for its 79.7.\n\n" +
					"**The heavy hitters.** A sketch errs there by colliding with the largest values, and by nothing else: the root of all squares over that of the cells of all hash functions. What is printed says that the paper's largest values have fewer respondents: a population of as many heavy hitters whose power law goes on behind them, in the place of beginning anew, is 13 % above it.",
				show: func(c Cells) ([]release.Table, []figures.Chart) {
					return []release.Table{factors(c), floors(c), sketches(c)}, nil
				},
			},
			{name: "Table XI", title: "membership inference", lacks: narrower, data: noSubset, text: "A threshold of the loss, between as many respondents and as many others. Chance alone makes a difference of about 1.2 over the root of their number: 0.01 of 10,000, 0.027 of our 2,000 of CIFAR-10. On MNIST and Fashion-MNIST it is 0.003 to 0.010 (printed 0.0017 and 0.0130), and on CIFAR-10 0.015 to 0.027 by directions and rotated bits, 0.034 to 0.040 by a curator's DP-SGD and without privacy. An epsilon of 0 is shown in every row. What is printed is of one model of each data set, whose rounds are not said, and its epsilon is of that one; proved epsilons are of replacement (a curator's: removal), at delta 1e-6. The models are those of Table XII, with what is narrower there.", show: func(c Cells) ([]release.Table, []figures.Chart) { return []release.Table{membership(c)}, nil }},
			{name: "Table XII", title: "models from gradients", lacks: narrower, data: noSubset, text: "The paper does not say how many rounds it takes: ours are as many as its printed orders leave, which prove nothing. *Proved* is the central epsilon of the very same reports by our accounting, of replacement. A row says how many runs it has: ten, as the paper's, where these end within ten minutes of a processor. " + standing, show: func(c Cells) ([]release.Table, []figures.Chart) { return []release.Table{gradients(c)}, nil }},
			{name: "Table XIII", title: "the network for MNIST and Fashion-MNIST", text: "Built as printed: 26,010 numbers, as the paper's; `internal/nn` counts them in a test."},
			{name: "Table XIV", title: "the network for CIFAR-10", data: "It is built as printed. Its first layers learn from other records of CIFAR-10: CIFAR-100 is not among our data.", text: "Built as printed, without the layers that the table does not have; all but the last learn without privacy on the half of our CIFAR-10 records that nobody answers for, where the paper takes CIFAR-100."},
		},
	}
}

// What learning lacks.
const (
	noSubset = "CIFAR-100, of which its features of CIFAR-10 are, is not among our data."
	narrower = "Of MNIST and Fashion-MNIST cells of more than 800 rounds have 100 examples a round for the paper's 2,000, and those of 2,000 examples or of more than 3,000 rounds have 3 runs for its 10: as the paper has them they take some 40 hours."
)

// counted picks a histogram's cells by what the paper asks for.
func counted(set, encoding string, by calibrate.Accounting, fragments, repeats int, epsilon float64) func(experiments.Cell) bool {
	return func(x experiments.Cell) bool {
		h := x.Histogram
		return x.Dataset == set && h.Encoding == encoding && (h.Accounting == by || encoding == experiments.Central) && max(1, h.Fragments) == fragments && max(1, h.Repeats) == repeats && h.Epsilon == epsilon &&
			(h.LocalEpsilon == 0) && h.Adjacency == account.Removal
	}
}

// erring returns an error, with that taken to the largest possible count in brackets.
func erring(m experiments.Measured, ok bool) string {
	if !ok {
		return none
	}
	s := number(m.Result.RMSE)
	if m.Result.Within > 0 && number(m.Result.Within) != s {
		s += " [" + number(m.Result.Within) + "]"
	}
	return s
}

func printedError(spec string, m experiments.Measured, ok bool) string {
	if !ok {
		return none
	}
	x, ok := esa.Printed(spec, m.Cell.Dataset, m.Cell.Histogram)
	if !ok {
		return none
	}
	return number(x)
}

func exactOf(m experiments.Measured, ok bool) string {
	switch {
	case !ok:
		return none
	case m.Result.EpsilonExact != nil:
		return number(*m.Result.EpsilonExact)
	case m.Result.Epsilon != nil:
		return number(*m.Result.Epsilon)
	}
	return none
}

func inFragments(n int) string {
	if n == 1 {
		return "one report"
	}
	return fmt.Sprintf("%d fragments", n)
}

// fragments returns a table of a curator, of whole reports and of fragments, with its figure.
func fragments(spec, set, encoding string, budgets []float64, c Cells) (release.Table, []figures.Chart) {
	t := release.Table{Columns: columns("central epsilon", "reports", "printed", "equal local epsilon (the paper's accounting)", "equal central epsilon (exact)", "local epsilon: the paper's / exact", "one fragment alone: the paper's / exact", "central epsilon at equal local epsilon, exactly")}
	for _, e := range budgets {
		if m, ok := c.one(counted(set, experiments.Central, "", 1, 1, e)); ok {
			t.Rows = append(t.Rows, row(fmt.Sprint(e), "a curator", printedError(spec, m, ok), none, erring(m, ok), none, none, none))
		}
		for _, n := range []int{1, 4, 16, 256} {
			paper, have := c.one(counted(set, encoding, calibrate.Paper, n, 1, e))
			exact, found := c.one(counted(set, encoding, calibrate.Exact, n, 1, e))
			if !have && !found {
				continue
			}
			two := func(of func(*experiments.Result) *float64) string {
				var parts []string
				for _, m := range []experiments.Measured{paper, exact} {
					s := none
					if m.Result != nil && of(m.Result) != nil {
						s = localOf(of(m.Result))
					}
					parts = append(parts, s)
				}
				return strings.TrimSuffix(strings.Join(parts, " / "), " / "+none)
			}
			t.Rows = append(t.Rows, row(fmt.Sprint(e), inFragments(n), printedError(spec, paper, have), erring(paper, have), erring(exact, found),
				two(func(r *experiments.Result) *float64 { return r.EpsilonLocal }), two(func(r *experiments.Result) *float64 { return r.EpsilonAlone }), exactOf(paper, have)))
		}
	}
	return t, fragmentFigure(spec, set, encoding, budgets, c)
}

// fragmentFigure draws the errors of a table over central epsilon, with what is printed.
func fragmentFigure(spec, set, encoding string, budgets []float64, c Cells) []figures.Chart {
	looks := map[int]figures.Mark{1: figures.Circle, 16: figures.Square, 256: figures.Triangle}
	hollow := map[int]figures.Mark{1: figures.Ring, 16: figures.Box, 256: figures.Pyramid}
	f := newChart(strings.TrimPrefix(spec, "esa-"), "Errors of counts, "+populationCalled(set), "Root mean square error against the central epsilon.",
		release.Axis{Title: "central epsilon", Log: true}, release.Axis{Title: "root mean square error (respondents)", Log: true})
	for _, n := range []int{1, 16, 256} {
		for _, by := range []calibrate.Accounting{calibrate.Paper, calibrate.Exact} {
			p := protocol{inFragments(n) + ", exact", line(figures.Blue, looks[n])}
			if by == calibrate.Paper {
				p = protocol{inFragments(n) + ", the paper's", paper(figures.Vermilion, hollow[n])}
			}
			for _, e := range budgets {
				if m, ok := c.one(counted(set, encoding, by, n, 1, e)); ok {
					f.add(p, e, m.Result.RMSE, m.Result.RMSEStd)
				}
			}
		}
	}
	for _, e := range budgets {
		if m, ok := c.one(counted(set, experiments.Central, "", 1, 1, e)); ok {
			f.add(curator, e, m.Result.RMSE, m.Result.RMSEStd)
		}
	}
	for _, n := range []int{1, 256} {
		for _, e := range budgets {
			h := experiments.Histogram{Encoding: encoding, Accounting: calibrate.Paper, Epsilon: e}
			if n > 1 {
				h.Fragments = n
			}
			if x, ok := esa.Printed(spec, set, h); ok {
				f.add(protocol{inFragments(n) + ", printed", figures.Look{Colour: figures.Vermilion, Mark: map[int]figures.Mark{1: figures.Cross, 256: figures.Plus}[n], Alone: true}}, e, x, 0)
			}
		}
	}
	if drawn, ok := f.done(); ok {
		return []figures.Chart{drawn}
	}
	return nil
}

// printedHeavy are the numbers of Table I by central epsilon: the curator's sigma, the local epsilon, that of one of 4,
// 16 and 256 fragments, and messages one-hot and of a sketch.
var printedHeavy = map[float64][7]float64{
	0.0025: {1821.02, 1.78, 0.47, 0.13, 0.01, 256589.00, 9457.76}, 0.01: {455.34, 4.07, 2.47, 1.30, 0.11, 29856.75, 1101.36}, 0.05: {91.16, 7.235, 5.63, 4.40, 1.72, 1281.93, 48.21},
	0.25: {18.32, 10.40, 8.79, 7.56, 4.85, 55.11, 2.99}, 1: {4.66, 12.99, 11.38, 10.15, 7.44, 5.06, 1.15},
}

// heavyHitters is Table I.
func heavyHitters(c Cells) release.Table {
	const set = "heavy-hitters"
	t := release.Table{Columns: columns("central epsilon", "number", "printed", "by the paper's accounting", "exact")}
	for _, e := range []float64{0.0025, 0.01, 0.05, 0.25, 1} {
		add := func(what, printed, paper, exact string) {
			t.Rows = append(t.Rows, row(fmt.Sprint(e), what, printed, paper, exact))
		}
		of := printedHeavy[e]
		central, ok := c.one(counted(set, experiments.Central, "", 1, 1, e))
		if ok {
			sigma := none
			if central.Result.Sigma > 0 {
				sigma = number(central.Result.Sigma)
			}
			add("a curator's sigma", number(of[0]), none, sigma)
			add("its error", none, none, erring(central, ok))
		}
		for i, n := range []int{1, 4, 16, 256} {
			paper, have := c.one(counted(set, experiments.OneHot, calibrate.Paper, n, 1, e))
			exact, found := c.one(counted(set, experiments.OneHot, calibrate.Exact, n, 1, e))
			alone := func(m experiments.Measured, ok bool) string {
				if !ok || m.Result.EpsilonAlone == nil {
					return none
				}
				return fmt.Sprintf("%.2f", *m.Result.EpsilonAlone)
			}
			if !have && !found {
				continue
			}
			what := "local epsilon"
			if n > 1 {
				what = fmt.Sprintf("local epsilon of one of %d fragments", n)
			}
			add(what, fmt.Sprint(of[1+i]), alone(paper, have), alone(exact, found))
			add("error, "+inFragments(n), none, erring(paper, have), erring(exact, found))
			if n == 1 && have {
				messages := none
				if found && exact.Result.MessagesPerDevice > 0 {
					messages = number(exact.Result.MessagesPerDevice)
				}
				add("messages", fmt.Sprintf("%.2f", of[5]), fmt.Sprintf("%.2f", paper.Result.MessagesPerDevice), messages)
			}
		}
		for _, n := range []int{1, 4, 16, 256} {
			m, ok := c.one(counted(set, experiments.CountMean, calibrate.Paper, n, 1, e))
			if !ok {
				continue
			}
			add("error of a sketch, "+inFragments(n), none, erring(m, ok), none)
			if n == 1 {
				add("messages of a sketch", fmt.Sprintf("%.2f", of[6]), fmt.Sprintf("%.2f", m.Result.MessagesPerDevice), none)
			}
		}
	}
	return t
}

var populationWords = []struct {
	set, words, printed string
	delta               float64
}{{"map-like", "Map", "1365 x 2048; 2,795,520; 236,559,063", 5e-10}, {"horse-like", "Horse", "274 x 320; 87,680; 1,914,589", 5e-8}, {"child-like", "Child", "721 x 497; 358,337; 50,409,435", 5e-9}, {"heavy-hitters", "Heavy hitters", "1,778,120; 203,950,512", 5e-10}}

// populations is Table II.
func populations(c Cells) release.Table {
	t := release.Table{Columns: columns("population", "printed: pixels; cells; respondents", "ours: cells", "respondents")}
	for _, p := range populationWords {
		if m, ok := c.one(func(x experiments.Cell) bool { return x.Dataset == p.set }); ok && m.Result.CountErrors != nil {
			t.Rows = append(t.Rows, row(p.words, p.printed, count(m.Result.Cells), count(m.Result.Respondents)))
		}
	}
	return t
}

// populationCalled returns a population as the paper calls it.
func populationCalled(set string) string {
	for _, p := range populationWords {
		if p.set == set {
			return p.words
		}
	}
	return set
}

// count returns a whole number with its thousands apart.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// printedCentral are the central epsilons of Table III at local epsilon 2.
var printedCentral = map[string]string{"map-like": "0.0011", "horse-like": "0.0111", "child-like": "0.0023", "heavy-hitters": "0.0012"}

// printedMessages are those of Table III: at local epsilon 2, at central 0.05 and 1, and of the sketch.
var printedMessages = map[string][4]float64{
	"map-like": {333234.91, 1734.52, 6.49, 1.13}, "horse-like": {10452.47, 4403.42, 17.97, 13.68}, "child-like": {42715.58, 932.34, 3.97, 1.54}, "heavy-hitters": {211957.86, 1281.93, 5.06, 1.15},
}

// four is Table III.
func four(c Cells) release.Table {
	t := release.Table{Columns: columns("population", "reports", "error: printed", "equal local epsilon (the paper's accounting)", "equal central epsilon (exact)", "local epsilon: the paper's / exact", "central epsilon: printed / exactly, at equal local epsilon", "messages: printed / ours by the paper's accounting")}
	for _, p := range populationWords {
		rows := 0
		add := func(what, central string, paper, exact experiments.Measured, have, found bool) {
			if !have {
				return
			}
			local, messages := localOf(paper.Result.EpsilonLocal), none
			if paper.Result.MessagesPerDevice > 0 {
				messages = fmt.Sprintf("%.2f / %.2f", printedMessages[p.set][rows], paper.Result.MessagesPerDevice)
			}
			rows++
			if found {
				local += " / " + localOf(exact.Result.EpsilonLocal)
			}
			t.Rows = append(t.Rows, row(p.words, what, printedError("esa-table3", paper, have), erring(paper, have), erring(exact, found), local, central+" / "+exactOf(paper, have), messages))
		}
		local, have := c.one(atLocal(p.set))
		add("local epsilon 2", printedCentral[p.set], local, experiments.Measured{}, have, false)
		for _, e := range []float64{0.05, 1} {
			paper, have := c.one(counted(p.set, experiments.OneHot, calibrate.Paper, 1, 1, e))
			exact, found := c.one(counted(p.set, experiments.OneHot, calibrate.Exact, 1, 1, e))
			add(fmt.Sprintf("central epsilon %g", e), fmt.Sprint(e), paper, exact, have, found)
		}
		sketch, have := c.one(counted(p.set, experiments.CountMean, calibrate.Paper, 1, 1, 1))
		add("a sketch", "1 to the local one", sketch, experiments.Measured{}, have, false)
	}
	return t
}

// several is Table VI or VII.
func several(spec, encoding string, budgets []float64, c Cells) release.Table {
	t := release.Table{Columns: columns("central epsilon of one report", "reports", "printed", "at the paper's local epsilon", "its central epsilon, exactly", "exact, at that central epsilon", "its local epsilon")}
	for _, e := range budgets {
		for i, n := range []int{1, 2, 5} {
			paper, have := c.one(counted("horse-like", encoding, calibrate.Paper, 1, n, e))
			exact, found := c.one(counted("horse-like", encoding, calibrate.Exact, 1, n, e))
			if !have && !found {
				continue
			}
			local := none
			if found {
				local = localOf(exact.Result.EpsilonLocal)
			}
			t.Rows = append(t.Rows, row(fmt.Sprint(e), []string{"one", "two", "five"}[i], printedError(spec, paper, have), erring(paper, have), exactOf(paper, have), erring(exact, found), local))
		}
	}
	return t
}

// bounds is Table X.
func bounds(c Cells) release.Table {
	t := release.Table{Columns: columns("population", "reports", "local epsilon", "printed", "half the blanket", "stronger clones", "exactly, each bit apart")}
	for _, p := range populationWords {
		rows := []Cells{
			c.where(atLocal(p.set)),
			c.where(counted(p.set, experiments.OneHot, calibrate.Paper, 1, 1, 0.05)), c.where(counted(p.set, experiments.OneHot, calibrate.Paper, 1, 1, 1)),
		}
		for i, of := range rows {
			if len(of) == 0 || of[0].Result.EpsilonLocal == nil {
				continue
			}
			b := esa.Bounds(of[0].Result)
			t.Rows = append(t.Rows, row(p.words, []string{"local epsilon 2", "central epsilon 0.05", "central epsilon 1"}[i], localOf(of[0].Result.EpsilonLocal), number(esa.PrintedBound(p.set, i)), number(b[0]), number(b[1]), exactOf(of[0], true)))
		}
	}
	return t
}
