package papers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/figures"
	"github.com/confetti-dp/confetti/lab/ltn"
	"github.com/confetti-dp/confetti/release"
)

func ltnPaper() Paper {
	better := func(mean, std, asPrinted float64) (float64, float64) {
		if asPrinted > mean {
			return asPrinted, 0
		}
		return mean, std
	}
	clean := func(r *experiments.Recorded) (float64, float64) {
		return better(r.AccuracyClean, r.AccuracyCleanStd, r.AccuracyPaper)
	}
	told := func(r *experiments.Recorded) (float64, float64) { return r.AccuracyTold, r.AccuracyToldStd }
	shown := func(application, level string, sets []string, name string, of func(*experiments.Recorded) (float64, float64), printed map[string][2]float64) func(c Cells) ([]release.Table, []figures.Chart) {
		return func(c Cells) (tables []release.Table, figures []figures.Chart) {
			for _, set := range sets {
				at := ordered(append(noisy(c, set, application, level), c.where(func(x experiments.Cell) bool {
					return x.Dataset == set && slices.Contains(ltn.PaperSettings(name), x.Records)
				})...))
				if t := ltn.Table(called(set), at); len(t.Rows) > 0 {
					tables = append(tables, t)
				}
				figures = append(figures, overLocal(at, name+"-"+stem(set), called(set)+", "+titles[name], of, printed)...)
				for _, l := range []string{"", experiments.FeatureLevel} {
					if level != anyLevel && level != l {
						continue
					}
					private, drawn := madeOf(c, set, application, l, name)
					if t := ltn.Table(called(set)+levelWords[l]+", made of private records", private); len(t.Rows) > 0 {
						tables = append(tables, t)
						figures = append(figures, overLocal(drawn, name+"-"+stem(set)+"-central"+map[string]string{experiments.FeatureLevel: "-records"}[l], called(set)+levelWords[l]+", made of private records", of, nil)...)
					}
				}
			}
			return tables, figures
		}
	}
	pictures, loans := []string{"mnist"}, []string{ltn.LoansName}
	return Paper{
		Name: "ltn", specs: ltn.Specs, counted: "run r, from 0 on, has the seed plus r", Title: "LTN: every table and figure",
		text: `*Learning to noise* has each respondent tell a noisy code of its record, and its label, though everyone colludes.

The paper's figures carry no numbers but those in its text: they are the crosses. Its encoders are trained with privacy on a collector's own records; ours on public ones, to which nothing is promised, but where a row says central. Our own way
tells one symbol of a public cluster and the label. *On records as they are* is the accuracy of the model that was learned.

    confetti-lab run ltn --all --data DIR --out results      # goes on where it was stopped

**Equal local epsilon** are the rows of one epsilon in a table. **Equal central epsilon** is read off the column *central epsilon, shuffled*: what the same reports keep of replacement, at delta 1e-6, behind one honest hop and with all other respondents honest; there one symbol at 4 stands beside a code between 2 and 4.

How, and what is missing: [noisy-records.md](../noisy-records.md).`,
		items: []item{
			{name: "Figure 1", title: "data collection", data: "Lending Club's file at hand has 42,535 loans for the paper's 540,000.", text: "MNIST, and Lending Club, of which our file holds 42,535 loans where the paper has 540,000. Codes are latent, or turned back into records where the row says so. A noisy code is drawn with the settings that the paper's grid search chose for a budget (Table 4), and beside it with one setting of ours for all; of codes the better of two learners is drawn, by public prototypes or by the paper's own loss (equation 8), which the table has apart. **What does not come back**: the paper says \"well above random for all local epsilon\" on MNIST; here codes by its own settings have 10.9 ± 2.8 at 1 and 17.0 ± 4.5 at 2, where chance is 10. At 4 its setting has 36.5, and the one that it chose for noisy codes (Figure 4) 61.3 ± 6.2. Our setting is behind at every budget from 2 on. **Lines of a central 5 and 1** are in pictures and tables of their own. By the paper's settings its two stages, as printed, lose nothing of what public records give: 82.8 at 10 with 5 and with 1 for 83.0, 81.2 and 81.4 at 8 for 81.4, 70.1 and 69.8 at 6 for 70.1, 37.2 and 37.3 at 4 for 36.5. Codes turned back into records keep what they had, too: 70.9 and 71.0 at 10 for 70.8, 64.5 and 65.6 at 8 for 64.5, 34.0 and 35.1 at 4 for 34.6; near chance, at 2, 5 has 12.1 ± 5.3 for 19.1 ± 3.3. The first stage has seen the same records, so that they prove nothing; the paper has lines that fall. A second stage alone, which does, costs our setting some 3 points at 8 and 10. One symbol has 87.7 at 4 with 5, all of whose clusters and network are private, and about a half with 1. **Lending Club**: here codes are near chance at every budget, of public records (50.6 to 53.9) and of private ones (48.5 to 54.7), and as records they are at chance (46.6 to 51.4). The paper is well above chance there on 13 times the loans, and sees no clear difference of levels.", show: shown(experiments.Collecting, anyLevel, append(pictures, loans...), "figure1", clean, nil)},
			{name: "Figure 2", title: "a class that no public record has", text: "The paper says about 75 % at a local epsilon of 2 on both levels (the cross), and above chance at 1. By the settings of its grid search codes have 73.5 at 1, 74.6 at 2, 68.9 at 4 and 79.7 at 8, by public prototypes. A classifier of the noisy codes, as the paper has it, has 57.9, 71.8, 63.7 and 80.9. So its 75 comes back. By our one setting, measured at 1, 2, 4 and 8, they have 62.8, 73.4, 74.3 and 75.2. **What does not come back**: codes turned back into records have 62.6 at 2 by the settings of its grid search for records, where the paper has 75 on that level too (61.5, 80.1 and 82.3 at 1, 4 and 8). By our one setting they have 57.2 at 2, and 55.5, 67.3 and 76.6 at 1, 4 and 8. A central 5 or 1 changes nothing by our setting: codes have 63.0 to 64.0 at 1, 73.5 to 74.0 at 2 and 75.0 to 75.4 at 8. By the paper's settings its two stages, as printed, change nothing either: 74.8 with 5 and 74.7 with 1 at 2 for 74.6, 68.8 both at 4 for 68.9, 79.6 and 79.5 at 8 for 79.7, and of records 63.5 and 62.9 at 2 for 62.6, 82.6 and 82.5 at 8 for 82.3. Here who is in which group is no secret.", show: shown(experiments.Novel, anyLevel, pictures, "figure2", clean, map[string][2]float64{"a noisy code, printed": {2, 0.75}})},
			{name: "Figure 3", title: "joining data", data: fewLoans, text: "Loans from some columns as they are and others that are told with noise. The paper has 56.1 % without the others and 65.8 % with all as they are, on a file with more columns and loans. Drawn is the accuracy with the noisy columns, and of two readings of them the better. The paper's settings are those of Table 3. **What does not come back**: the paper has a significant gain from 4 on. Here its settings have 54.0 at 4, where 54.1 is without the others, and 54.7 ± 1.4 and 55.0 ± 0.7 at 6 and 8: no interval there lies above 54.1. At 10 they gain 3.2 points (54.5 to 60.0). One symbol gains 2 points at 4, within its interval, and 4 and more from 6 on.", show: shown(experiments.Joining, anyLevel, loans, "figure3", func(r *experiments.Recorded) (float64, float64) {
				return better(r.AccuracyPrivate, r.AccuracyPrivateStd, r.AccuracyPaper)
			}, nil)},
			{name: "Figure 4", title: "private accuracy, latent level", text: "Of records of which a device tells a code, with the paper's settings for this use (Table 4) and with our one. Its noise of training of 5, for 6 to 10, does not come back as the best: at 10 it gives 28.4, and the encoder of Figure 1 for the same budget 45.6 (Table 4, column *told*). Records with noise are near chance at every budget, principal components up to 2. Codes of encoders with a central 5 and 1 have a picture and a table of their own. By the paper's settings two stages as printed lose at most a point: 29.3 with 5 and 29.1 with 1 at 10 for 28.4, 33.0 both at 8 for 32.7, 25.9 both at 4 for 26.5. By our setting the second stage alone loses as little (26.7 for 27.6 at 10). The dashed line is equation 10, which bounds what can be read from noise of Laplace.", show: shown(experiments.Collecting, "", pictures, "figure4", told, nil)},
			{name: "Figure 5", title: "a decision boundary", text: "Of the proof of equation 10: classes on the corners of a ball in the sum of magnitudes, and what is as near to two of them. Nothing is measured in it; how often a corner is told with noise is computed.", show: func(Cells) ([]release.Table, []figures.Chart) { return fourCorners() }},
			{name: "Figure 6", title: "decision boundaries of two functions", text: "Of the same proof: two classes are told apart more often on opposite corners than on adjacent ones. The paper says that this is clear; here both are computed, and opposite corners are ahead by epsilon/8 exp(-epsilon/2). Whatever lies left of and below both corners, or right of and above, is as near to one as to the other: a coin tells it.", show: func(Cells) ([]release.Table, []figures.Chart) { return twoCorners() }},
			{name: "Figure 7", title: "private accuracy, feature level", text: "As Figure 4, where the noisy code is turned back into a record, with the paper's settings for this use, and with ours at 4, 8 and 10. Two stages as printed change nothing there either: 27.8 with 5 and 27.7 with 1 at 10 for 27.5, 31.0 and 30.7 at 6 for 31.1. The picture has ten records, what their codes keep, and what codes keep with the noise of a local epsilon of 10, 5 and 2 (an encoder of three epochs: `confetti-lab encoder --dataset mnist --epochs 3`, byte for byte; a run of this page that measures cells leaves another in its folder, of its own encoder and of test records).\n\n![Ten handwritten digits; below them what their codes keep, which are the same digits; and three rows with noise, of which most are other digits.](ltn-codes-mnist.png)", show: shown(experiments.Collecting, experiments.FeatureLevel, pictures, "figure7", told, nil)},
			{name: "Table 1", title: "where the encoder has to be private", text: "Whose records encoder and decoder are of, where these are private: the paper's needs, and how each is met here.", show: func(Cells) ([]release.Table, []figures.Chart) {
				return []release.Table{needs()}, nil
			}},
			{name: "Table 2", title: "settings of DP-Adam", data: "MNIST's two rows prove nothing as printed, and the paper leaves its epochs out: ours have what our accountant allows. Lending Club's have 8,202 loans for its 341,000.", text: "What is made of private records, with the epsilon that these keep (delta 1e-5, one that counts for nothing in its place) beside the respondents'. Of symbols clusters by noisy k-means and a linear model by DP-SGD have half of it each; of codes the encoder's second stage by DP-Adam (`confetti-lab encoder --stages two`) has all of it, and LTN's two stages as printed keep nothing that is proved. `confetti-lab run ltn-table2` has the epochs that the paper's multipliers allow, too. Of Lending Club the paper trains on 341,000 loans; ours are 8,202, a forty-second part, of which a second stage has half. What codes teach of them without privacy (60 to 61) a central 5 and 1 leaves as it is; with noise all are near chance.", show: func(c Cells) ([]release.Table, []figures.Chart) {
				return []release.Table{ltn.Table(called("mnist"), centrally(c, "mnist")), ltn.Table(called(ltn.LoansName), centrally(c, ltn.LoansName))}, nil
			}},
			{name: "Table 3", title: "settings for joining data", data: fewLoans + " Its row of an infinite local epsilon is the column without noise.", text: "The settings that the paper's grid search chose, beside our one setting for all epsilons (in Figure 3). **Not here**: the row of an infinite local epsilon, which promises nothing. What all columns teach as they are is in its column.", show: func(c Cells) ([]release.Table, []figures.Chart) {
				return []release.Table{ltn.Table(called(ltn.LoansName), withSettings(c, ltn.LoansName, experiments.Joining))}, nil
			}},
			{name: "Table 4", title: "settings of the encoder", data: "Of 56 rows the 28 of Lending Club have their columns out of step in the text at hand, and our file is another.", text: "The settings that the paper's grid search chose for MNIST: of codes of records as they are, of noisy codes, and of records made of both. Our one setting for all epsilons is in Figure 1: clip 10, noise of training 200, split 0.7. The rows of an infinite local epsilon are one encoder, whose noise of training is learned: what its codes teach without privacy is 86.5, in its column. Records made again of such codes promise nothing, and were not measured. **Not here**: the 28 rows of Lending Club. The text of the paper that is at hand has their columns out of step, and our file is another.", show: func(c Cells) ([]release.Table, []figures.Chart) {
				return []release.Table{ltn.Table(called("mnist"), withSettings(c, "mnist", experiments.Collecting))}, nil
			}},
			{name: "Beyond the figures", title: "public records of another kind", text: "Whose records are public may differ from those who are asked. Here all public pictures of MNIST, of which clusters are made and from which the network learns, are turned by an angle; 13,500 respondents and the test are as they are. One symbol at a local epsilon of 4, 71 clusters, three seeds: `confetti-lab run ltn-shift --data DIR`. *By clusters alone* a record has the likeliest class of its cluster, without a network. *What the release says* is the share of respondents with the likeliest class of their cluster, of its own noisy counts; it is no accuracy, since what is told with noise leaves a part of each cluster to classes that nobody there has. Its fall is what whoever has no test records sees. At 90 the network, which saw turned pictures alone, is worse than its own clusters: there public pictures are of use for finding clusters, and no longer for teaching. Letters for digits are not among our data.", show: func(c Cells) ([]release.Table, []figures.Chart) {
				return []release.Table{shifted(c)}, nil
			}},
			{name: "Beyond the figures, of other years and sources", title: "public loans and news that are not the respondents'", text: "The same question of records as they are, by one symbol at a local epsilon of 4 and three seeds: `confetti-lab run ltn-shift --data DIR`. In all rows of a kind the respondents and the test are the same. **Loans**: 3,000 respondents and 900 tested loans are of 2011, as many charged off as paid, so that chance is 50. Public are 2,600 of the same year, of the year before, or of 2007 to 2009. A year before costs nothing that 900 loans could show: their own error is 1.6 points. By loans of 2007 to 2009 the network loses 6 points, by seed very different, and is no better than its clusters: there public loans no longer teach. They have no loan of 60 months, as 35 % of those of 2011 are. What the release says falls by 2.5 points alone, so that few would see it. **News**: 2,800 respondents and 777 tested texts are of Reuters. Public are 2,000 of Reuters, of AP, or of no agency that the text names, and the directions of words are of public texts alone. Another source costs the network 6 points, and it stays ahead of its clusters, which lose 5 to 11. The release says 59 to 60 for 73: whoever has no test records sees that.", show: func(c Cells) ([]release.Table, []figures.Chart) {
				return []release.Table{shiftedFrom(c)}, nil
			}},
		},
	}
}

// fewLoans says what rows of joining lack.
const fewLoans = "The paper's file has more loans and columns than the one at hand: other data."

// shifted returns a row for each angle by which public pictures were turned.
func shifted(c Cells) release.Table {
	t := release.Table{Columns: columns("public pictures turned by, degrees", "the network, on records as they are", "by clusters alone", "what the release says")}
	of := c.where(func(x experiments.Cell) bool { return x.Records.Clusters > 0 })
	slices.SortFunc(of, func(a, b experiments.Measured) int { return cmp.Compare(a.Cell.Records.Turned, b.Cell.Records.Turned) })
	for _, m := range of {
		r := m.Result.Recorded
		t.Rows = append(t.Rows, row(fmt.Sprint(m.Cell.Records.Turned), percent(r.AccuracyClean, r.AccuracyCleanStd), percent(r.AccuracyClusters, r.AccuracyClustersStd), percent(r.Stated, r.StatedStd)))
	}
	return t
}

// publicOf says what is public in a set of ltn.ShiftNames.
var publicOf = map[string]string{
	"loans_2011": "loans of 2011, as the respondents'", "loans_2010": "loans of 2010", "loans_2007_2009": "loans of 2007 to 2009",
	"news_reuters": "news of Reuters, as the respondents'", "news_ap": "news of AP", "news_unnamed": "news that name none of three agencies",
}

// shiftedFrom returns a row for each kind of public records beside those of the respondents' own kind.
func shiftedFrom(c Cells) release.Table {
	t := release.Table{Columns: columns("public records", "respondents", "clusters", "the network, on the respondents' kind", "by clusters alone", "what the release says")}
	for _, set := range ltn.ShiftNames() {
		if m, ok := c.one(func(x experiments.Cell) bool { return x.Dataset == set }); ok {
			r := m.Result.Recorded
			t.Rows = append(t.Rows, row(publicOf[set], number(float64(m.Result.Respondents)), fmt.Sprint(r.Clusters), percent(r.AccuracyClean, r.AccuracyCleanStd), percent(r.AccuracyClusters, r.AccuracyClustersStd), percent(r.Stated, r.StatedStd)))
		}
	}
	return t
}

// needs returns the paper's Table 1, and how each is met.
func needs() release.Table {
	return release.Table{Columns: columns("use", "what is shared", "the paper's need", "here"), Rows: [][]release.Cell{
		row("collection, a novel class", "codes or records", "a private encoder", "the encoder is of public records, or its second stage is private; prototypes are public"),
		row("joining", "records", "a private decoder", "the decoder is of public records, or its second stage is private (`confetti-lab encoder --stages two --decoder FILE`)"),
		row("joining", "codes", "none", "devices fetch the encoder, which is of public records"),
	}}
}

var titles = map[string]string{
	"figure1": "records and labels collected, classified as they are", "figure2": "a class that nobody has published", "figure3": "columns joined with another's noisy ones",
	"figure4": "records of which a code alone is told", "figure7": "records made again from a code that is told",
}

// anyLevel picks codes, and what they are turned back into.
const anyLevel = "any"

// noisy returns the cells of an application with our own settings and all of public records, by mechanism and epsilon.
func noisy(c Cells, set, application, level string) Cells {
	out := c.where(func(x experiments.Cell) bool {
		r := x.Records
		return x.Dataset == set && r.Application == application && (r.Level == level || level == anyLevel) && r.Noise == 0 && r.Central == 0 && r.Dim == 0 && !r.Gaussian && r.Clusters == 0
	})
	return ordered(out)
}

// centrally returns the cells of collections at a local epsilon of 8 whose clusters, encoder or network are of private
// records, by our own settings.
func centrally(c Cells, set string) Cells {
	return ordered(c.where(func(x experiments.Cell) bool {
		r := x.Records
		return x.Dataset == set && r.Application == experiments.Collecting && r.Level == "" && r.Central > 0 && r.Noise == 0 && r.Epsilon == 8
	}))
}

var levelWords = map[string]string{experiments.FeatureLevel: " (codes as records)"}

// madeOf returns the cells of an application and a level whose clusters, encoder or network are of private records, and
// what is drawn of them: with the paper's settings its two stages, with ours the second alone, each beside that of public
// records.
func madeOf(c Cells, set, application, level, figure string) (private, drawn Cells) {
	all := ordered(c.where(func(x experiments.Cell) bool {
		r := x.Records
		of := r
		of.Central, of.PaperStages = 0, false
		return x.Dataset == set && r.Application == application && r.Level == level && (r.Mechanism == experiments.Symbols || r.Mechanism == experiments.VLM) &&
			r.Clusters == 0 && (r.Noise == 0 || slices.Contains(ltn.PaperSettings(figure), of))
	}))
	for _, m := range all {
		r := m.Cell.Records
		if r.Central > 0 {
			private = append(private, m)
		}
		if r.Central == 0 || r.PaperStages == (r.Noise > 0) {
			drawn = append(drawn, m)
		}
	}
	return private, drawn
}

// withSettings returns those with the paper's settings.
func withSettings(c Cells, set, application string) Cells {
	return ordered(c.where(func(x experiments.Cell) bool {
		return x.Dataset == set && x.Records.Application == application && x.Records.Noise > 0
	}))
}

func ordered(c Cells) Cells {
	c = slices.DeleteFunc(c, func(m experiments.Measured) bool { return m.Result.Recorded == nil })
	at := func(m experiments.Measured) int {
		return 2*slices.Index([]string{experiments.Symbols, experiments.VLM, experiments.PrivUnit, experiments.PCA, experiments.Direct}, m.Cell.Records.Mechanism) + len(m.Cell.Records.Level)%2
	}
	slices.SortStableFunc(c, func(a, b experiments.Measured) int {
		x, y := a.Cell.Records, b.Cell.Records
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(x.Level, y.Level), cmp.Compare(x.Epsilon, y.Epsilon), cmp.Compare(x.Noise, y.Noise), cmp.Compare(x.Length, y.Length),
			cmp.Compare(y.Central, x.Central), strings.Compare(fmt.Sprint(x.PaperStages), fmt.Sprint(y.PaperStages)))
	})
	return slices.CompactFunc(c, func(a, b experiments.Measured) bool { return a.Cell.Records == b.Cell.Records })
}

// recording returns the protocol of a cell of records.
func recording(r experiments.Records) protocol {
	if r.Central > 0 {
		public := r
		public.Central, public.PaperStages = 0, false
		of := recording(public)
		of.words += fmt.Sprintf(", central %g", r.Central)
		of.look.Mark, of.look.Dashed = map[float64]figures.Mark{5: figures.Triangle, 1: figures.Pyramid}[r.Central], true
		return of
	}
	of := protocol{words: ltn.Told(r)}
	switch {
	case r.Noise > 0:
		same := r
		same.Noise, same.Central = 0, 1 // the words without a setting
		of.words, _, _ = strings.Cut(ltn.Told(same), ", ")
		of.words += ", the paper's settings"
		if of.look = line(figures.Blue, figures.Square); r.Level == experiments.FeatureLevel {
			of.look = line(figures.Vermilion, figures.Box)
		}
	case r.Level == experiments.FeatureLevel:
		of.look = paper(figures.Blue, figures.Box)
	case r.Mechanism == experiments.Symbols:
		of.look = line(figures.Purple, figures.Circle)
	case r.Mechanism == experiments.VLM:
		of.look = paper(figures.Sky, figures.Plus)
	case r.Mechanism == experiments.PrivUnit:
		of.look = line(figures.Green, figures.Triangle)
	case r.Mechanism == experiments.PCA:
		of.look = paper(figures.Orange, figures.Ring)
	default:
		of.look = paper(figures.Ink, figures.Pyramid)
	}
	return of
}

// atMost is the paper's bound, which stands for no measurement.
var atMost = protocol{"at most, with noise of Laplace (equation 10)", figures.Look{Colour: figures.Grey, Mark: figures.Plus, Dashed: true}}

const tenDigits = 10 // classes

// overLocal draws a number of each cell over the local epsilon.
func overLocal(c Cells, name, title string, of func(*experiments.Recorded) (mean, std float64), printed map[string][2]float64) []figures.Chart {
	f := newChart(name, title, title+" against the local epsilon.", release.Axis{Title: "local epsilon", Log: true}, release.Axis{Title: "accuracy (share of test records)"})
	for _, m := range c {
		if mean, std := of(m.Result.Recorded); mean > 0 {
			f.add(recording(m.Cell.Records), m.Cell.Records.Epsilon, mean, std)
		}
	}
	if strings.HasPrefix(name, "figure4") {
		for _, epsilon := range []float64{1, 2, 4, 6, 8, 10} {
			f.add(atMost, epsilon, ltn.LaplaceBound(tenDigits, epsilon), 0)
		}
	}
	for words, at := range printed {
		f.add(protocol{words, figures.Look{Colour: figures.Blue, Mark: figures.Cross, Alone: true}}, at[0], at[1], 0)
	}
	if drawn, ok := f.done(); ok {
		return []figures.Chart{drawn}
	}
	return nil
}
