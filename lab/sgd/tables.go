package sgd

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/release"
)

// tables have a row for each way, beside what ESA prints, and draw how they learn.
func tables(s experiments.Spec, cells []experiments.Measured) []release.Section {
	return experiments.PerDataset(cells, func(set string, cells []experiments.Measured) release.Section {
		t := release.Table{
			Title: "Accuracy on the test records",
			Columns: []release.Column{{Title: "way"}, {Title: "respondents a round"}, {Title: "rounds"}, {Title: "ESA", Unit: release.Share}, {Title: "ours", Unit: release.Share},
				{Title: "epsilon that ESA claims"}, {Title: "central epsilon, proved"}, {Title: "local epsilon, all rounds"}, {Title: "noise over a curator's"}},
			Note: "\"ESA claims\" is what its printed orders give with a constant of one, and amplification by a sampling that nobody hides: it proves nothing. Proved epsilons are ours, for the same reports, of replacement; a curator's of removal. " +
				"By the paper's way examples stand for the respondents of a round, as in ESA, and their reports are drawn by the normal limit of their sum; every other report is drawn.",
		}
		f := release.Figure{
			Name: s.Name + "-" + set, Title: "Accuracy after each round, " + set, Kind: release.Lines, Alt: "Accuracy on the test records of " + set + " over the rounds, a line for each way.",
			X: release.Axis{Title: "round", Log: true}, Y: release.Axis{Title: "accuracy"},
		}
		for _, m := range cells {
			if m.Result == nil {
				continue
			}
			r := m.Result.Trained
			t.Rows = append(t.Rows, []release.Cell{
				release.Text(Way(m.Cell.Gradient)), release.Text(fmt.Sprint(m.Result.Users)), release.Text(fmt.Sprint(m.Cell.Gradient.Rounds)), accuracyOf(set, m.Cell.Gradient),
				release.Number(r.Accuracy, r.AccuracyStd), epsilon(r.PrintedOrder), epsilon(m.Result.Epsilon), meaningful(m.Result.EpsilonLocal), ratio(r.NoiseRatio),
			})
			line := release.Series{Title: fmt.Sprintf("%s, %d a round, %d rounds", Way(m.Cell.Gradient), m.Result.Users, m.Cell.Gradient.Rounds)}
			for _, p := range r.Curve {
				line.X, line.Y = append(line.X, float64(p.Round)), append(line.Y, p.Accuracy)
			}
			f.Series = append(f.Series, line)
		}
		return release.Section{Text: gaps(cells) + halves(set), Tables: []release.Table{t}, Figures: []release.Figure{f}}
	})
}

// steps returns a table with a row for each drift that was tried on records that are held back.
func steps(_ experiments.Spec, cells []experiments.Measured) []release.Section {
	return experiments.PerDataset(cells, func(_ string, cells []experiments.Measured) release.Section {
		t := release.Table{
			Title:   "Accuracy on records that are held back",
			Columns: []release.Column{{Title: "drift"}, {Title: "length of a step"}, {Title: "accuracy", Unit: release.Share}},
		}
		for _, m := range cells {
			if m.Result == nil {
				continue
			}
			g, r := m.Cell.Gradient, m.Result.Trained
			t.Rows = append(t.Rows, []release.Cell{release.Text(fmt.Sprintf("%.2f", g.Rate*moved(g))), release.Text(fmt.Sprint(g.Rate)), release.Number(r.Accuracy, r.AccuracyStd)})
		}
		return release.Section{Text: gaps(cells), Tables: []release.Table{t}}
	})
}

// attacks have a row for each way, beside what ESA found in its models.
func attacks(_ experiments.Spec, cells []experiments.Measured) []release.Section {
	return experiments.PerDataset(cells, func(set string, cells []experiments.Measured) release.Section {
		printed := printedXI[set]
		t := release.Table{
			Title: "True less false positive rates of a threshold of the loss",
			Columns: []release.Column{{Title: "way"}, {Title: "ESA"}, {Title: "ESA's epsilon"}, {Title: "ours"}, {Title: "central epsilon, proved"},
				{Title: "epsilon shown, 95 %"}},
			Note: "The difference is of the best threshold for the very records, which chance alone makes about 1.2/sqrt(records): 0.01 of 10,000 and as many others. \"Epsilon shown\" chooses the threshold by half of the records and tries it on the others; 0 is nothing. " +
				"(ESA prints -log(TPR - FPR) for a bound; it means -log(1 - (TPR - FPR)), which is about the difference itself.)",
		}
		for _, m := range cells {
			if m.Result == nil {
				continue
			}
			theirs, claimed := release.Text("–"), release.Text("–")
			if of := slices.Index([]string{"direction", experiments.Curator}, m.Cell.Gradient.Report); of >= 0 && m.Cell.Gradient.Architecture != "linear" {
				theirs, claimed = release.Text(fmt.Sprint(printed[of].difference)), release.Text(fmt.Sprint(printed[of].claimed))
			}
			r := m.Result.Trained
			t.Rows = append(t.Rows, []release.Cell{release.Text(Way(m.Cell.Gradient)), theirs, claimed, release.Number(r.Advantage, r.AdvantageStd), epsilon(m.Result.Epsilon), release.Number(r.LowerEpsilon, 0)})
		}
		return release.Section{Text: gaps(cells) + halves(set), Tables: []release.Table{t}}
	})
}

func gaps(cells []experiments.Measured) (text string) {
	for _, m := range cells {
		if m.Result == nil {
			text += fmt.Sprintf("No %s: %s. ", m.Cell.Gradient, m.Reason)
		}
	}
	return text
}

// halves says what stands in for CIFAR-100.
func halves(set string) string {
	if set != cifar {
		return ""
	}
	return "All layers but the last learned without privacy from half of the training records, which are public here; respondents are the other half, 5,000. ESA learns these layers from CIFAR-100, which is not among our data: records of the same kind that nobody answers for stand in, fewer, so that every accuracy is lower. Of ESA's way each respondent stands for ten."
}

// Way returns what is measured, but for numbers.
func Way(g experiments.Gradient) string {
	model := map[string]string{"linear": "linear, public features", "xiii": "Table XIII", "xiv": "Table XIV, last layer"}[g.Architecture]
	return model + map[string]string{"direction": ", directions", "cap": ", caps", "vector": ", rotated bits", experiments.Curator: ", a curator's DP-SGD", experiments.NoPrivacy: ", no privacy"}[g.Report]
}

// accuracyOf returns what ESA prints for a cell by its way.
func accuracyOf(set string, g experiments.Gradient) release.Cell {
	if x, ok := Printed(set, g); ok {
		return release.Number(x, 0)
	}
	return release.Text("–")
}

// Printed returns the accuracy that ESA prints in Table XII for a cell by its way.
func Printed(set string, g experiments.Gradient) (accuracy float64, ok bool) {
	row := slices.Index(batches[set], g.Users)
	if g.Examples == 0 || row < 0 {
		return 0, false
	}
	for i, e := range columns {
		if (printedOrder{respondents: respondentsOf(set), users: g.Users, local: g.LocalEpsilon, delta: g.Delta}).rounds(e) == g.Rounds {
			return printedXII[set][row][i], true
		}
	}
	return 0, false
}

// PrintedAttack returns what Table XI prints of a data set: the difference of rates for ESA's model and for DP-SGD's, and the
// epsilons that it claims for these.
func PrintedAttack(set string) (difference, claimed [2]float64) {
	for i, p := range printedXI[set] {
		difference[i], claimed[i] = p.difference, p.claimed
	}
	return difference, claimed
}

func epsilon(e *float64) release.Cell {
	if e == nil {
		return release.Text("–")
	}
	return release.Text(fmt.Sprintf("%.3g", *e))
}

func meaningful(e *float64) release.Cell {
	if e == nil || *e > account.Meaningless {
		return release.Text("none that means anything")
	}
	return epsilon(e)
}

func ratio(x float64) release.Cell {
	if x == 0 {
		return release.Text("–")
	}
	return release.Text(fmt.Sprintf("%.3g", x))
}
