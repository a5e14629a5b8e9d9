package ltn

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/release"
)

// Told says what respondents of a cell tell, in the words of every table and legend.
func Told(r experiments.Records) string {
	s := map[string]string{
		experiments.Symbols: "ours: one symbol", experiments.VLM: "a noisy code (the paper's)", experiments.PrivUnit: "a direction about a code",
		experiments.PCA: "principal components with noise", experiments.Direct: "the record with noise",
	}[r.Mechanism]
	if r.Mechanism == experiments.PCA && r.Dim > 0 {
		s = fmt.Sprintf("%d principal components with noise", r.Dim)
	}
	if r.Gaussian {
		s += ", Gaussian"
	}
	if r.Turned != 0 {
		s += fmt.Sprintf(", public pictures turned by %g degrees", r.Turned)
	}
	if r.Level == experiments.FeatureLevel {
		s = "a noisy code as a record"
	}
	if r.Mechanism == experiments.VLM && r.Noise == 0 && r.Central == 0 {
		s += ", our setting"
	}
	if r.Central > 0 {
		s += fmt.Sprintf(", central %g", r.Central)
	}
	if r.PaperStages {
		s += ", two stages as printed"
	}
	if r.Learned {
		return s + fmt.Sprintf(", clip %g, noise of training learned", r.Length)
	}
	if r.Noise > 0 {
		s += fmt.Sprintf(", clip %g, noise of training %g", r.Length, r.Noise)
	}
	return s
}

// maker says what was promised to the records that clusters, encoder and network are of; nothing of public ones.
func maker(got *experiments.Recorded, r experiments.Records) release.Cell {
	switch {
	case got.EpsilonMade > 0:
		return release.Text(fmt.Sprintf("%s, epsilon %.3g, delta 1e-5", got.Claim, got.EpsilonMade))
	case r.Central > 0:
		return release.Text(got.Claim)
	}
	return missing
}

// missing stands where there is no number.
var missing = release.Text("–")

// number returns a mean with its deviation over runs.
func number(v, std float64) release.Cell {
	if v == 0 {
		return missing
	}
	return release.Number(v, std)
}

// interval covers the mean at 95 % as far as runs and test records go: by Student's law of the
// deviation over three runs, by the normal law of the test records for one.
func interval(got *experiments.Recorded, mean, std float64, runs int) release.Cell {
	if mean == 0 {
		return missing
	}
	half := 1.96 * math.Sqrt(mean*(1-mean)/float64(max(1, got.Tests)))
	if runs == 3 {
		half = max(half, 4.303*std/math.Sqrt(3))
	}
	return release.Interval(max(0, mean-half), min(1, mean+half))
}

// Table has a row for each cell that was measured: all of them joined, or none.
func Table(title string, cells []experiments.Measured) release.Table {
	joined := false
	for _, m := range cells {
		joined = joined || m.Cell.Records.Application == experiments.Joining
	}
	share := func(label string) release.Column { return release.Column{Title: label, Unit: release.Share} }
	t := release.Table{
		Title: title,
		Columns: []release.Column{{Title: "what is told"}, {Title: "local epsilon"}, {Title: "runs"}, {Title: "clusters"}, share("on records as they are"), share("95 % interval"), share("told"), share("answer told"),
			share("by the paper's loss"), share("without privacy"), {Title: "central epsilon, shuffled"}, {Title: "what it is made of"}},
		Note: "*Told* is of a record of which a device tells its code alone, drawn; *answer told* of the model's answer told by a device, computed: each at the whole local epsilon. *Without privacy* the same codes are learned from as they are. The interval is the wider of that of the runs and of the test records. An epsilon of two groups is of the features, and says nothing of the group.",
	}
	if joined {
		t.Columns = append(t.Columns[:4:4], share("with noisy columns"), share("95 % interval"), share("by the paper's reading"), share("without the others"), share("all as they are"))
		t.Note = "Rows are joined with noise in training and in the test. A noisy row is read as the mean of public prototypes, by how likely it is of each; the paper reads the noisy code as it is. The interval is the wider of that of the runs and of the test records."
	}
	for _, m := range cells {
		if m.Result == nil || m.Result.Recorded == nil {
			continue
		}
		r, got := m.Cell.Records, m.Result.Recorded
		row := []release.Cell{release.Text(Told(r)), release.Number(r.Epsilon, 0), release.Number(float64(m.Cell.Runs), 0), number(float64(got.Clusters), 0)}
		if joined {
			row = append(row, number(got.AccuracyPrivate, got.AccuracyPrivateStd), interval(got, got.AccuracyPrivate, got.AccuracyPrivateStd, m.Cell.Runs), number(got.AccuracyPaper, 0), number(got.AccuracyAlone, 0), number(got.AccuracyNoPrivacy, 0))
		} else {
			central := missing
			if m.Result.Epsilon != nil {
				central = release.Number(*m.Result.Epsilon, 0)
			}
			row = append(row, number(got.AccuracyClean, got.AccuracyCleanStd), interval(got, got.AccuracyClean, got.AccuracyCleanStd, m.Cell.Runs), number(got.AccuracyTold, got.AccuracyToldStd), number(got.AccuracyPrivate, got.AccuracyPrivateStd),
				number(got.AccuracyPaper, 0), number(got.AccuracyNoPrivacy, 0), central, maker(got, r))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
