package results

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/release"
)

// Classifier is what the densities of all classes make.
type Classifier struct {
	*hdc.Model
	Reported []int // respondents by reported class; 0 where withheld

	labels   *randomize.KRR
	features *encode.Features
	learned  []kde.Density // by reported class
	truth    *Truth
}

// NewClassifier decides by the densities of the classes that were released.
func NewClassifier(m *density.Model) (*Classifier, error) {
	model, err := hdc.New(m.Classes, m.Densities)
	if err != nil {
		return nil, err
	}
	c := &Classifier{Model: model, labels: m.Labels, features: m.Densities[0].Features, learned: m.Densities}
	for _, d := range m.Densities {
		c.Reported = append(c.Reported, d.Respondents)
	}
	return c, nil
}

// Debiased returns the model with the label noise taken out; ok is false where
// labels were sent as they are, or a class is missing without which that
// cannot be done.
func (m *Classifier) Debiased() (clean *hdc.Model, ok bool) {
	if m.labels == nil {
		return nil, false
	}
	clean, err := m.Model.Debias(*m.labels)
	return clean, err == nil
}

// wordsPerClass are decoded for a release.
const wordsPerClass = 10

// describe states accuracy and confusion on the public test set, the words of
// each class over the public vocabulary, and the classes' sizes.
func (m *Classifier) describe(public Public) ([]release.Metric, []release.Section, error) {
	m.truth = public.Truth
	var headline []release.Metric
	var sections []release.Section
	if len(public.Test.Y) > 0 {
		e, err := m.Evaluate(public.Test.X, public.Test.Y)
		if err != nil {
			return nil, nil, err
		}
		headline = append(headline, accuracy("accuracy", "Accuracy", e, fmt.Sprintf("on %d public test records", len(public.Test.Y))))
		section, err := m.classification(e, public.Test)
		if err != nil {
			return nil, nil, err
		}
		sections = append(sections, section)
	}
	if len(public.Words) > 0 {
		section, err := m.words(public)
		if err != nil {
			return nil, nil, err
		}
		sections = append(sections, section)
	}
	total := 0
	for _, n := range m.Reported {
		total += n
	}
	headline = append(headline, release.Metric{Name: "respondents", Label: "Respondents counted", Value: float64(total), Unit: release.Count})
	errors, err := m.errors()
	return headline, append(sections, errors, m.sizes()), err
}

// errors say how far densities may be off where nobody has looked yet.
func (m *Classifier) errors() (release.Section, error) {
	s := release.Section{Title: "How far a density may be off"}
	t := release.Table{
		Title:   "Error of a density at any point",
		Columns: []release.Column{{Label: "class"}, {Label: "root mean square, at most"}},
		Note:    "Over all that was drawn: noise, rounding, random features. It holds at the worst point and whatever the records are (KDE, Theorem 3.2, with the constants of these features and the errors of these sums); at most points the error is less.",
	}
	switch m.features.Spec().Kernel {
	case encode.InnerRotated:
		t.Note += " What clipping biases comes to it."
	case encode.GaussianPaired, encode.GaussianProjected:
		t.Note += " Rotations count as uniform ones in it: that the ones which are drawn err no more was measured, and is not proved."
	}
	for c, d := range m.learned {
		cell := release.Text("withheld")
		if d.Respondents > 0 {
			bound, err := d.SupRMSE()
			if err != nil {
				return s, err
			}
			cell = release.Number(bound, 0)
		}
		t.Rows = append(t.Rows, []release.Cell{release.Text(m.Classes()[c]), cell})
	}
	s.Tables = []release.Table{t}
	return s, nil
}

func accuracy(name, label string, e hdc.Evaluation, note string) release.Metric {
	return release.Metric{Name: name, Label: label, Value: e.Accuracy, Low: e.Low, High: e.High, Level: hdc.Level, Unit: release.Share, Note: note}
}

func (m *Classifier) classification(e hdc.Evaluation, test Records) (release.Section, error) {
	s := release.Section{
		Title: "How well it classifies",
		Text:  "A record is given to the class whose private density is highest there. A prediction counts as decided where its lead over the runner-up is larger than the 95% error of that lead, which covers the privacy noise, rounding, and the sampling of random features.",
		Metrics: []release.Metric{
			{Name: "decided", Label: "Predictions decided beyond their error", Value: e.Decided, Unit: release.Share},
		},
	}
	if clean, ok := m.Debiased(); ok {
		d, err := clean.Evaluate(test.X, test.Y)
		if err != nil {
			return s, err
		}
		s.Metrics = append(s.Metrics, accuracy("accuracy_debiased", "Accuracy with the label noise taken out", d, "inverse of the randomized response on labels, weighted by debiased class sizes"))
	}
	if near, err := m.NearestMean(); err == nil { // inner products only
		n, err := near.Evaluate(test.X, test.Y)
		if err != nil {
			return s, err
		}
		s.Metrics = append(s.Metrics, accuracy("accuracy_nearest_mean", "Accuracy by the nearest class mean", n, "densities of inner products, less half the squared length of each class's mean"))
	}
	if share, bias, err := m.features.ClipBias(test.X); err == nil && share > 0 {
		s.Metrics = append(s.Metrics,
			release.Metric{Name: "clipped", Label: "Coordinates clipped", Value: share, Unit: release.Share, Note: "of the public test records, after rotation"},
			release.Metric{Name: "clip_bias", Label: "Largest bias from clipping", Value: bias, Note: "of a density at any point, bounded from the public test records; not part of the standard errors"})
	}
	s.Tables = append(s.Tables, confusion(m.Classes(), e))
	figure, err := m.leads(test)
	if err == nil && len(figure.Series) > 0 { // a lead takes two classes
		s.Figures = append(s.Figures, figure)
	}
	return s, err
}

func confusion(classes []string, e hdc.Evaluation) release.Table {
	t := release.Table{Title: "Confusion matrix", Columns: []release.Column{{Label: "true class"}}, Heat: true,
		Note: "Rows are true classes, columns predictions, cells public test records."}
	for c, name := range classes {
		t.Columns = append(t.Columns, release.Column{Label: name})
		row := []release.Cell{release.Text(name)}
		for _, n := range e.Confusion[c] {
			row = append(row, release.Number(float64(n), 0))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// leads plots, for each true class, how the density of the true class lies
// above or below the best other one.
func (m *Classifier) leads(test Records) (release.Figure, error) {
	predictions, err := m.Classify(test.X)
	if err != nil {
		return release.Figure{}, err
	}
	const bins = 40
	classes := min(len(m.Classes()), release.MaxSeries)
	lead := make([][]float64, classes)
	widest := 0.0
	for i, p := range predictions {
		c := test.Y[i]
		if c >= classes || math.IsNaN(p.Scores[c].Mean) {
			continue
		}
		best := math.Inf(-1)
		for k, s := range p.Scores {
			if k != c && s.Mean > best {
				best = s.Mean
			}
		}
		if math.IsInf(best, -1) {
			continue
		}
		l := p.Scores[c].Mean - best
		lead[c] = append(lead[c], l)
		widest = math.Max(widest, math.Abs(l))
	}
	f := release.Figure{
		Name: "leads", Kind: release.Lines, Title: "Lead of the true class",
		Alt: "For each true class, the distribution over public test records of the private density of that class less the highest other one; right of zero the prediction is correct.",
		X:   release.Axis{Label: "density of the true class less the highest other"},
		Y:   release.Axis{Label: "share of test records"},
	}
	if widest == 0 {
		widest = 1
	}
	for c, ls := range lead {
		if len(ls) == 0 {
			continue
		}
		series := release.Series{Label: m.Classes()[c], X: make([]float64, bins), Y: make([]float64, bins)}
		for b := range bins {
			series.X[b] = widest * (2*(float64(b)+0.5)/bins - 1)
		}
		for _, l := range ls {
			b := min(bins-1, int((l/widest+1)/2*bins))
			series.Y[b] += 1 / float64(len(ls))
		}
		f.Series = append(f.Series, series)
	}
	return f, nil
}

// words decodes each class twice: by what sets it apart, and by its density
// alone as in KDE, section 3.3, where what all classes share weighs in too.
func (m *Classifier) words(public Public) (release.Section, error) {
	s := release.Section{
		Title: "What each class is about",
		Text:  "Words of a public vocabulary, with the ranks that their errors allow; the ranks of a class hold for all words at once with probability 95%. First those whose density in the class lies furthest above that in the others, then those of highest density.",
	}
	if len(m.Classes())-len(m.Missing()) > 1 {
		apart, err := m.Distinguish(public.Words, public.WordVectors, wordsPerClass)
		if err != nil {
			return s, err
		}
		s.Lists = m.lists(apart, "%s, apart from the others")
	}
	dense, err := m.Decode(public.Words, public.WordVectors, wordsPerClass)
	s.Lists = append(s.Lists, m.lists(dense, "%s, highest density")...)
	return s, err
}

func (m *Classifier) lists(decoded [][]hdc.Word, title string) []release.List {
	var lists []release.List
	for c, words := range decoded {
		if words == nil {
			continue
		}
		list := release.List{Title: fmt.Sprintf(title, m.Classes()[c])}
		for _, w := range words {
			list.Items = append(list.Items, release.Item{Label: w.Word, Score: w.Score.Mean, StdErr: finite(w.Score.StdErr), RankLow: w.Highest, RankHigh: w.Lowest})
		}
		lists = append(lists, list)
	}
	return lists
}

func (m *Classifier) sizes() release.Section {
	s := release.Section{Title: "Respondents by class"}
	t := release.Table{Title: "Respondents by reported class", Columns: []release.Column{{Label: "class"}, {Label: "reported", Unit: release.Count}}}
	t.Note = "Respondents of released batches only: those of withheld batches are not counted."
	counts := make([]uint64, len(m.Reported))
	clean := m.labels != nil
	for c, n := range m.Reported {
		counts[c] = uint64(n)
		clean = clean && n > 0
	}
	switch {
	case clean:
		s.Text = "Each respondent reported its class by randomized response; the estimate takes that noise out."
		t.Columns = append(t.Columns, release.Column{Label: "estimated", Unit: release.Count})
	case m.labels != nil:
		s.Text = "Each respondent reported its class by randomized response. That noise cannot be taken out while a class is withheld, where an unknown part of all others was reported."
	}
	if m.truth != nil {
		t.Columns = append(t.Columns, release.Column{Label: truthColumn, Unit: release.Count})
	}
	for c, name := range m.Classes() {
		row := []release.Cell{release.Text(name), release.Text("withheld")}
		if m.Reported[c] > 0 {
			row[1] = release.Number(float64(m.Reported[c]), 0)
		}
		if clean {
			held := m.labels.Estimate(counts)[c]
			row = append(row, release.Number(held.Mean, held.StdErr))
		}
		if m.truth != nil {
			row = append(row, release.Number(float64(m.truth.Crowds[c]), 0))
		}
		t.Rows = append(t.Rows, row)
	}
	s.Tables = append(s.Tables, t)
	return s
}

// finite leaves out an error that is not known (of a single repetition).
func finite(x float64) float64 {
	if math.IsInf(x, 0) {
		return 0
	}
	return x
}
