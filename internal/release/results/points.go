package results

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/sheets"
)

// Densities returns those of every class that was released, at the public test records and
// then at the words. Of more than a million rows there are the first; the note says so,
// and is empty otherwise. Without public points there is none: a density is a function.
func (m *Classifier) Densities(public Public) (all []sheets.PointDensity, note string, err error) {
	return m.densities(public, MaxRows)
}

func (m *Classifier) densities(public Public, most int) (all []sheets.PointDensity, note string, err error) {
	classes := m.Classes()
	add := func(x blas32.General, point func(i int) (name, class string)) error {
		if left := (most - len(all)) / len(classes); x.Rows > left {
			note = fmt.Sprintf("%s has the first %d rows: more are no table for a spreadsheet.", sheets.DensitiesFile, most/len(classes)*len(classes))
			x.Rows = left
		}
		if x.Rows == 0 {
			return nil
		}
		predictions, err := m.Classify(x)
		if err != nil {
			return err
		}
		for i, p := range predictions {
			name, class := point(i)
			for c, v := range p.Scores {
				if math.IsNaN(v.Mean) { // withheld
					continue
				}
				low, high := v.Interval(level)
				all = append(all, sheets.PointDensity{Point: name, TrueClass: class, Class: classes[c], Estimate: v.Mean, StdErr: v.StdErr, Low: low, High: high})
			}
		}
		return nil
	}
	err = add(public.Test.X, func(i int) (string, string) { return strconv.Itoa(i + 1), classes[public.Test.Y[i]] })
	if err == nil {
		err = add(public.WordVectors, func(i int) (string, string) { return public.Words[i], "" })
	}
	for i := range all { // by the union bound, whatever their errors have in common
		d := &all[i]
		d.LowAll, d.HighAll = estimate.Value{Mean: d.Estimate, StdErr: d.StdErr}.Interval(1 - (1-level)/float64(len(all)))
	}
	return all, note, err
}
