// Package results writes up what the analyzer has learned, with one file for each kind of question: sections of a
// release, tables, and threat models of the literature. Used by party/analyzer, internal/service/analyzerd and
// internal/release/statement, and by no device.
package results

import (
	"bytes"
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/question/table"
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
	case *strings.Model:
		return describeStrings(m, public)
	case *table.Model:
		return describeTable(m, public)
	case *experiment.Model:
		return describeExperiment(m, public)
	}
	return nil, nil, fmt.Errorf("results: no words for what %T has learned", m)
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
	Of   int    // cells, where it has those with the largest estimates alone; 0: it has all
}

// Beside returns the sheet of what was learned.
func Beside(m question.Model, public Public) (Sheet, error) {
	s, err := sheetOf(m, public)
	switch m := m.(type) {
	case *label.Model:
		if m.Sum == nil && m.Counts == nil {
			s.Note = Noted(plan.Question{Label: &m.Asked}, 0)
		}
	case *latent.Model:
		s.Note = Noted(plan.Question{Latent: &m.Asked}, 0)
	}
	return s, err
}

func sheetOf(m question.Model, public Public) (s Sheet, err error) {
	var text bytes.Buffer
	switch m := m.(type) {
	case *density.Model:
		s.File = sheets.DensitiesFile
		c, err := NewClassifier(m)
		if err != nil {
			return s, err
		}
		var all []sheets.PointDensity
		if all, s.Note, err = c.Densities(public); err != nil {
			return s, err
		}
		err = sheets.WriteDensities(&text, all)
		s.Text = text.Bytes()
		return s, err
	case *histogram.Model:
		return countSheet(m, public)
	case *label.Model:
		return labelSheet(m, public)
	case *latent.Model:
		return latentSheet(m)
	case *strings.Model:
		return stringsSheet(m, public)
	case *table.Model:
		return tableSheet(m, public)
	case *experiment.Model:
		return experimentSheet(m)
	case *vector.Model:
		return sumSheet(m)
	case *gradient.Model:
		s.File = sheets.ModelFile
		s.Text, err = m.Network().MarshalBinary()
		return s, err
	}
	return s, fmt.Errorf("results: no sheet of what %T has learned", m)
}

// countSheet lists the cells of a histogram.
func countSheet(m *histogram.Model, public Public) (Sheet, error) {
	s := Sheet{File: sheets.CountsFile}
	all, note, err := Counts(m, public.Truth, MaxRows)
	if err != nil {
		return s, err
	}
	var text bytes.Buffer
	err = sheets.WriteCounts(&text, all)
	if s.Text, s.Note = text.Bytes(), note; note != "" {
		for _, t := range m.Tables {
			s.Of += len(t.Values)
		}
	}
	return s, err
}

// Noted returns what readers of the sheet of a question must know, "" if nothing: of one that has
// the largest of so many cells, 0 where it has all.
func Noted(q plan.Question, of int) string {
	switch {
	case of > 0:
		return largestOf(MaxRows, of)
	case q.Label != nil && q.Label.Report == plan.LabelEach:
		return "Reports went through randomized response: many are not the true label."
	case q.Latent == nil:
		return ""
	case q.Latent.Records > 0:
		return "Reports have noise in them: many do not hold what is true of their record. Told is a set of clusters by number (each with the number of a class after a colon, where classes are told), or the bytes of a vector's message in hex."
	case q.Latent.Report == plan.LatentVector:
		return "Reports have noise in them: many are not of the true vector or class. A vector is the bytes of its message in hex: of laplace and gaussian whole numbers of four bytes each, most significant first, in steps of the plan's grid; of cap the seed of a direction."
	case q.Latent.Report == plan.LatentRight:
		return "Estimates are unbiased, and may be below zero."
	}
	return "Estimates are unbiased, some of them below zero; share is the likeliest of the class in its cluster, where respondents lie as public inputs do."
}

// Counted says that a release of the question has a sheet of its counts, which needs
// no public data.
func Counted(q plan.Question) bool {
	return q.Histogram != nil || countedLabels(q.Label) || q.Latent != nil || q.Strings != nil || q.Table != nil || q.Experiment != nil
}
