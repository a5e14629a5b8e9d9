// Package findings writes up what the analyzer has learned: sections of a release, the
// tables beside it, and the threat models of the literature. There is one file for each
// kind of question. A device does not carry it.
package findings

import (
	"bytes"
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/gradient"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/label"
	"github.com/confetti-dp/confetti/question/latent"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/release"
)

// Public is data that the analyzer holds anyway, and that costs no privacy.
type Public struct {
	Words       []string       // a vocabulary
	WordVectors blas32.General // one row a word, in the respondents' feature space
	Test        Records        // of nobody who was asked
	Groups      []Group        // of the cells of a histogram
	Came        []int          // respondents by crowd, counted or not, where the plan keeps no sizes private; nil: not known
	Truth       *Truth         // of a simulation; nil: nobody knows it
}

// Records are feature vectors with the class of each, or a number.
type Records struct {
	X      blas32.General // one row a record
	Y      []int          // the class of each, by its index
	Number []float64      // of each, where numbers are predicted
}

// Describe states the findings with their errors. What needs absent public data is
// left out.
func Describe(m question.Model, public Public) ([]release.Metric, []release.Section, error) {
	switch m := m.(type) {
	case *density.Model:
		c, err := NewClassifier(m)
		if err != nil {
			return nil, nil, err
		}
		return c.describe(public)
	case *histogram.Model:
		return newAnswers(m, public.Truth).describeAll(public)
	case *vector.Model:
		return describeVector(m, public)
	case *gradient.Model:
		return describeGradient(m, public)
	case *label.Model:
		return describeLabel(m, public)
	case *latent.Model:
		return describeLatent(m, public)
	}
	return nil, nil, fmt.Errorf("findings: no words for what %T has learned", m)
}

// Threats sets the literature's threat models beside each other, given the guarantee
// that was recomputed; none where a question has one only.
func Threats(q question.Question, p plan.Plan, promised account.Guarantee) []release.Table {
	switch q := q.(type) {
	case *density.Question:
		return densityThreats(q, promised)
	case *histogram.Question:
		return fragmentThreats(q, p, promised)
	}
	return nil
}

// Sheet is what stands beside a release: a table for a spreadsheet, or a model.
type Sheet struct {
	File string // its name
	Text []byte // CSV; of a model its form in package nn
	Note string // what its readers must know; "" if nothing
}

// Beside is the sheet of what was learned.
func Beside(m question.Model, public Public) (s Sheet, err error) {
	var text bytes.Buffer
	switch m := m.(type) {
	case *density.Model:
		s.File = release.DensitiesFile
		c, err := NewClassifier(m)
		if err != nil {
			return s, err
		}
		var all []release.PointDensity
		if all, s.Note, err = c.Densities(public); err != nil {
			return s, err
		}
		err = release.WriteDensities(&text, all)
		s.Text = text.Bytes()
		return s, err
	case *histogram.Model:
		return countSheet(m, public)
	case *label.Model:
		return labelSheet(m, public)
	case *latent.Model:
		return latentSheet(m)
	case *vector.Model:
		return sumSheet(m)
	case *gradient.Model:
		s.File = release.ModelFile
		s.Text, err = m.Network().MarshalBinary()
		return s, err
	}
	return s, fmt.Errorf("findings: no sheet of what %T has learned", m)
}

// countSheet lists the cells of a histogram.
func countSheet(m *histogram.Model, public Public) (Sheet, error) {
	s := Sheet{File: release.CountsFile}
	all, note, err := Counts(m, public.Truth, MaxRows)
	if err != nil {
		return s, err
	}
	var text bytes.Buffer
	err = release.WriteCounts(&text, all)
	s.Text, s.Note = text.Bytes(), note
	return s, err
}

// Counted says that a release of the question has a sheet of its counts, which needs
// no public data.
func Counted(q plan.Question) bool {
	return q.Histogram != nil || countedLabels(q.Label) || q.Latent != nil
}
