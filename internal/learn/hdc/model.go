// Package hdc learns the highest-density-class classifier from one private kernel density for each class (KDE,
// section 3.3). Used by internal/release/results and internal/simulate/measure.
package hdc

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// Level is the confidence of every interval here.
const Level = 0.95

// Model scores each class by a weighted sum of the densities of the reported
// classes: by its own density alone, until Debias takes out the label noise. It
// may be used from several goroutines at once.
type Model struct {
	classes   []string
	densities []kde.Density // of respondents by reported class
	weights   [][]float64   // weights[c][k] of density k in the score of class c; nil where c has no score
	features  *kernelmap.Features
	nearest   bool // scores are corrected by the norms of the class means
}

// New returns the model of one density per class, all over the same features. A
// density of no respondents stands for a class that was withheld or empty: it
// gets no score and is never predicted. At least one class must be there.
func New(classes []string, densities []kde.Density) (*Model, error) {
	if len(classes) != len(densities) {
		return nil, fmt.Errorf("hdc: %d classes but %d densities", len(classes), len(densities))
	}
	m := &Model{classes: classes, densities: densities, weights: make([][]float64, len(classes))}
	for c, d := range densities {
		if d.Respondents == 0 {
			continue
		}
		m.weights[c] = make([]float64, len(classes))
		m.weights[c][c] = 1
		m.features = d.Features
	}
	if m.features == nil {
		return nil, errors.New("hdc: every class is empty or withheld, so there is nothing to learn from")
	}
	if _, err := m.scores(); err != nil {
		return nil, fmt.Errorf("hdc: %w", err)
	}
	return m, nil
}

// Classes returns the names of the classes, in the order of all scores.
func (m *Model) Classes() []string { return m.classes }

// Missing lists the classes without a score.
func (m *Model) Missing() []int {
	var missing []int
	for c, w := range m.weights {
		if w == nil {
			missing = append(missing, c)
		}
	}
	return missing
}

// Debias takes the label noise out of a model of reported classes (New), given
// the randomizer that labels went through: class c~ is reported by n_c~
// respondents, of whom the inverse matrix tells how many hold class c and with
// what density,
//
//	K_c = sum_c~ Q^-1[c][c~] n_c~ K~_c~ / n_c,   n_c = sum_c~ Q^-1[c][c~] n_c~.
//
// A class whose n_c is not two standard errors above zero gets no score. The
// errors of scores take n_c as known. No reported class may be missing, since
// every other would lack the part of it that was reported there.
func (m *Model) Debias(label randomize.KRR) (*Model, error) {
	if err := label.Validate(); err != nil {
		return nil, fmt.Errorf("hdc: %w", err)
	}
	k := len(m.classes)
	if label.K != k {
		return nil, fmt.Errorf("hdc: labels of %d classes were randomized, the model has %d", label.K, k)
	}
	reported := make([]uint64, k)
	for c, d := range m.densities {
		if m.weights[c] == nil {
			return nil, fmt.Errorf("hdc: label noise cannot be taken out while class %q is missing", m.classes[c])
		}
		reported[c] = uint64(d.Respondents)
	}
	debiased := *m
	debiased.weights = make([][]float64, k)
	diagonal, other := label.Inverse()
	scored := false
	for c, held := range label.Estimate(reported) {
		if held.Mean <= 2*held.StdErr {
			continue
		}
		scored = true
		debiased.weights[c] = make([]float64, k)
		for from, n := range reported {
			inverse := other
			if from == c {
				inverse = diagonal
			}
			debiased.weights[c][from] = inverse * float64(n) / held.Mean
		}
	}
	if !scored {
		return nil, errors.New("hdc: no class is larger than the noise of the labels")
	}
	return &debiased, nil
}

// NearestMean returns the same model with another score: the density less half the squared
// length of the class's mean, so that the highest score is that of the nearest mean
// (kde.Nearest). Densities of inner products favour classes whose values lie close
// together, and so have a long mean. The lengths cost no privacy, being computed from
// the densities. It is for inner products only; words are decoded by density as before.
func (m *Model) NearestMean() (*Model, error) {
	corrected := *m
	corrected.nearest = true
	if _, err := corrected.scorers(); err != nil {
		return nil, fmt.Errorf("hdc: %w", err)
	}
	return &corrected, nil
}

// scores returns the densities of all classes; the zero Mixture where missing.
func (m *Model) scores() ([]kde.Mixture, error) {
	scores := make([]kde.Mixture, len(m.classes))
	for c, w := range m.weights {
		if w == nil {
			continue
		}
		var err error
		if scores[c], err = kde.Mix(w, m.densities); err != nil {
			return nil, fmt.Errorf("class %q: %w", m.classes[c], err)
		}
	}
	return scores, nil
}

// scorer is what ranks the classes of a record, from its query features.
type scorer interface {
	At(g []float32) estimate.Value
}

// scorers returns those of all classes; nil where missing.
func (m *Model) scorers() ([]scorer, error) {
	scorers := make([]scorer, len(m.classes))
	for c, w := range m.weights {
		if w == nil {
			continue
		}
		var err error
		if scorers[c], err = m.lead(w, make([]float64, len(w))); err != nil {
			return nil, fmt.Errorf("class %q: %w", m.classes[c], err)
		}
	}
	return scorers, nil
}

// lead returns the score of one class less that of another, given their weights; with zeros
// for the second, the score itself. It is computed from the densities, and not taken as
// the difference of two estimates, because the two share features and, debiased,
// densities.
func (m *Model) lead(a, b []float64) (scorer, error) {
	if m.nearest {
		return kde.NearestMean(a, b, m.densities)
	}
	w := make([]float64, len(a))
	for k := range w {
		w[k] = a[k] - b[k]
	}
	return kde.Mix(w, m.densities)
}
