package sheets

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"github.com/confetti-dp/confetti/internal/formula"
)

// PointDensity is the density of one class at one public point.
type PointDensity struct {
	Point     string // a word, or the number of a test record, from 1
	TrueClass string // of a test record; empty for words
	Class     string
	Estimate  float64
	StdErr    float64 // of noise, rounding and random features; infinite where it is not known
	// Low and High hold the true density with probability 95 %, this one by itself.
	Low, High float64
	// LowAll and HighAll hold those of all points and classes listed at once with that probability.
	LowAll, HighAll float64
}

// WriteDensities writes densities as CSV (RFC 4180) with the columns point, true_class,
// class, estimate, std_err, low, high, low_all and high_all. Numbers are in their shortest form that reads
// back the same, and empty where they are not known; texts are those of formula.Quote.
func WriteDensities(w io.Writer, all []PointDensity) error {
	c := csv.NewWriter(w)
	c.Write([]string{"point", "true_class", "class", "estimate", "std_err", "low", "high", "low_all", "high_all"}) // Error tells, as of the rest
	row := make([]string, 0, 9)
	for _, d := range all {
		row = append(row[:0], formula.Quote(d.Point), formula.Quote(d.TrueClass), formula.Quote(d.Class))
		for _, x := range []float64{d.Estimate, d.StdErr, d.Low, d.High, d.LowAll, d.HighAll} {
			cell := ""
			if !math.IsInf(x, 0) && !math.IsNaN(x) {
				cell = strconv.FormatFloat(x, 'g', -1, 64)
			}
			row = append(row, cell)
		}
		c.Write(row)
	}
	c.Flush()
	return c.Error()
}
