// Package sheets writes and reads the tables that stand beside a release, and names their files. Used by
// internal/release/results for what was learned, by release/verify, and by the console and commands.
package sheets

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/internal/formula"
)

// Names of what stands beside a release: the tables that WriteCounts and WriteDensities write, the coordinates of a
// sum, and the model that was learned.
const (
	CountsFile    = "counts.csv"
	DensitiesFile = "densities.csv"
	SumsFile      = "sums.csv"
	ModelFile     = "model.nn"
)

// ValueCount is how many respondents hold one value: what a spreadsheet has a row for.
type ValueCount struct {
	Attribute string
	Crowd     string // empty where there is one
	Value     string
	Estimate  float64 // unbiased, in respondents
	StdErr    float64
	// Low and High hold the true number with probability 95 % for this value by itself;
	// LowAll and HighAll those of all values of the attribute and crowd at once, and so
	// those of whatever values are picked for their estimates.
	Low, High       float64
	LowAll, HighAll float64
	Consistent      float64  // not below zero and of the right sum; biased, without an error of its own
	Truth           *float64 // of a simulation; nil: nobody knows it
}

var countColumns = []string{"attribute", "crowd", "value", "estimate", "std_err", "low", "high", "low_all", "high_all", "consistent"}

// WriteCounts writes the counts as CSV (RFC 4180) with the columns attribute, crowd,
// value, estimate, std_err, low, high, low_all, high_all, consistent and, where the
// first count has it, truth. Numbers are in respondents, in their shortest form that
// reads back the same. Texts that a spreadsheet would run have an apostrophe before them
// (formula.Quote), which ReadCounts takes off.
func WriteCounts(w io.Writer, counts []ValueCount) error {
	known := len(counts) > 0 && counts[0].Truth != nil
	c := csv.NewWriter(w)
	head := slices.Clone(countColumns)
	if known {
		head = append(head, "truth")
	}
	c.Write(head) // Error tells, as of the rest
	row := make([]string, 0, len(head))
	for _, n := range counts {
		row = append(row[:0], formula.Quote(n.Attribute), formula.Quote(n.Crowd), formula.Quote(n.Value))
		for _, x := range []float64{n.Estimate, n.StdErr, n.Low, n.High, n.LowAll, n.HighAll, n.Consistent} {
			row = append(row, strconv.FormatFloat(x, 'g', -1, 64))
		}
		if known {
			truth := ""
			if n.Truth != nil {
				truth = strconv.FormatFloat(*n.Truth, 'g', -1, 64)
			}
			row = append(row, truth)
		}
		c.Write(row)
	}
	c.Flush()
	return c.Error()
}

// ReadCounts reads what WriteCounts wrote, at most so many counts.
func ReadCounts(r io.Reader, most int) ([]ValueCount, error) {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	head, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("release: reading counts: %w", err)
	}
	known := len(head) == len(countColumns)+1 && head[len(countColumns)] == "truth"
	if !known && len(head) != len(countColumns) || !slices.Equal(head[:len(countColumns)], countColumns) {
		return nil, fmt.Errorf("release: reading counts: the columns are %q, and not those of a release", head)
	}
	var counts []ValueCount
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return counts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("release: reading counts: %w", err)
		}
		if len(counts) == most {
			return nil, fmt.Errorf("release: reading counts: there are more than %d", most)
		}
		n := ValueCount{Attribute: formula.Unquote(row[0]), Crowd: formula.Unquote(row[1]), Value: formula.Unquote(row[2])}
		into := []*float64{&n.Estimate, &n.StdErr, &n.Low, &n.High, &n.LowAll, &n.HighAll, &n.Consistent}
		if known && row[len(countColumns)] != "" {
			n.Truth = new(float64)
			into = append(into, n.Truth)
		}
		for i, to := range into {
			if *to, err = strconv.ParseFloat(row[3+i], 64); err != nil || math.IsNaN(*to) || math.IsInf(*to, 0) {
				line, _ := c.FieldPos(0)
				return nil, fmt.Errorf("release: reading counts: line %d: %q in column %s is no number", line, row[3+i], head[3+i])
			}
		}
		counts = append(counts, n)
	}
}
