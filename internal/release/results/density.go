package results

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
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
	features *kernelmap.Features
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
		headline = append(headline, accuracy("accuracy", e))
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
	headline = append(headline, release.Metric{Name: respondentsMetric, Value: float64(total)})
	errors, err := m.errors()
	return headline, append(sections, errors, m.sizes()), err
}

// errors say how far densities may be off where nobody has looked yet.
func (m *Classifier) errors() (release.Section, error) {
	s := release.Section{Name: "errors"}
	t := release.Table{Name: "errors"}
	for c, d := range m.learned {
		cell := release.Cell{} // it was withheld
		if d.Respondents > 0 {
			bound, err := d.SupRMSE()
			if err != nil {
				return s, err
			}
			cell = release.Number(bound, 0)
		}
		t.Rows = append(t.Rows, []release.Cell{release.Named(m.Classes()[c]), cell})
	}
	s.Tables = []release.Table{t}
	return s, nil
}

// accuracy returns the share of public records that are classified right.
func accuracy(name string, e hdc.Evaluation) release.Metric {
	return release.Metric{Name: name, Value: e.Accuracy, Low: e.Low, High: e.High, Level: hdc.Level, Records: e.Total}
}

func (m *Classifier) classification(e hdc.Evaluation, test Records) (release.Section, error) {
	s := release.Section{Name: "classification", Metrics: []release.Metric{{Name: "decided", Value: e.Decided}}}
	if clean, ok := m.Debiased(); ok {
		d, err := clean.Evaluate(test.X, test.Y)
		if err != nil {
			return s, err
		}
		s.Metrics = append(s.Metrics, accuracy("accuracy_debiased", d))
	}
	if near, err := m.NearestMean(); err == nil { // inner products only
		n, err := near.Evaluate(test.X, test.Y)
		if err != nil {
			return s, err
		}
		s.Metrics = append(s.Metrics, accuracy("accuracy_nearest_mean", n))
	}
	if share, bias, err := m.features.ClipBias(test.X); err == nil && share > 0 {
		s.Metrics = append(s.Metrics,
			release.Metric{Name: "clipped", Value: share, Records: test.X.Rows}, release.Metric{Name: "clip_bias", Value: bias, Records: test.X.Rows})
	}
	s.Tables = append(s.Tables, confusion(m.Classes(), e))
	figure, err := m.leads(test)
	if err == nil && len(figure.Series) > 0 { // a lead takes two classes
		s.Figures = append(s.Figures, figure)
	}
	return s, err
}

func confusion(classes []string, e hdc.Evaluation) release.Table {
	t := release.Table{Name: "confusion"}
	for c, name := range classes {
		row := []release.Cell{release.Named(name)}
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
	f := release.Figure{Name: "leads"}
	if widest == 0 {
		widest = 1
	}
	for c, ls := range lead {
		if len(ls) == 0 {
			continue
		}
		series := release.Series{Key: m.Classes()[c], X: make([]float64, bins), Y: make([]float64, bins)}
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
	s := release.Section{Name: "words"}
	if len(m.Classes())-len(m.Missing()) > 1 {
		apart, err := m.Distinguish(public.Words, public.WordVectors, wordsPerClass)
		if err != nil {
			return s, err
		}
		s.Lists = m.lists(apart, "apart")
	}
	dense, err := m.Decode(public.Words, public.WordVectors, wordsPerClass)
	s.Lists = append(s.Lists, m.lists(dense, "dense")...)
	return s, err
}

func (m *Classifier) lists(decoded [][]hdc.Word, name string) []release.List {
	var lists []release.List
	for c, words := range decoded {
		if words == nil {
			continue
		}
		list := release.List{Name: name, Key: m.Classes()[c]}
		for _, w := range words {
			list.Items = append(list.Items, release.Item{Key: w.Word, Score: w.Score.Mean, StdErr: finite(w.Score.StdErr), RankLow: w.Highest, RankHigh: w.Lowest})
		}
		lists = append(lists, list)
	}
	return lists
}

func (m *Classifier) sizes() release.Section {
	s, t := release.Section{Name: "sizes"}, release.Table{Name: "sizes"}
	counts := make([]uint64, len(m.Reported))
	clean := m.labels != nil
	for c, n := range m.Reported {
		counts[c] = uint64(n)
		clean = clean && n > 0
	}
	for c, name := range m.Classes() {
		row := []release.Cell{release.Named(name), {}} // withheld, as a rule of a small class
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
