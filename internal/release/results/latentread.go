package results

import (
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/formula"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// readLatent reads the sheet beside a release of private records, by a valid plan and the public state that the plan
// names. It has counts of symbols, or the reports themselves.
func readLatent(p plan.Plan, state []byte, sheet io.Reader) (*latent.Model, error) {
	if p.Question.Latent == nil {
		return nil, errors.New("no release of private records: its plan asks for something else")
	}
	if plan.StateName(state) != p.State {
		return nil, errors.New("not the state that the plan names")
	}
	q, err := latent.New(p)
	if err != nil {
		return nil, err
	}
	with, err := q.WithState(state)
	if err != nil {
		return nil, err
	}
	empty, err := with.Learn(make([]tally.Crowd, p.Crowds()))
	if err != nil {
		return nil, err
	}
	m := empty.(*latent.Model)
	switch {
	case m.Numbered != nil:
		err = readNumbered(m, sheet)
	case m.Vectors != nil:
		err = sheetRows(sheet, func(row []string) bool { return readVector(m, row) })
	case m.Asked.Report == plan.LatentRight: // the release has a model's accuracy alone
		return m, nil
	default:
		err = readSymbols(m, sheet)
	}
	return m, err
}

// sheetRows reads the rows below the names of columns, at least one.
func sheetRows(sheet io.Reader, read func(row []string) bool) error {
	c := csv.NewReader(sheet)
	c.ReuseRecord = true
	for line := 1; ; line++ {
		row, err := c.Read()
		for i, cell := range row {
			row[i] = formula.Unquote(cell)
		}
		switch {
		case errors.Is(err, io.EOF) && line <= 2:
			return fmt.Errorf("%s tells of no record: nothing was released", sheets.CountsFile)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", sheets.CountsFile, err)
		case line > 1 && !read(row):
			return fmt.Errorf("%s: row %d is nothing that a release of this plan says", sheets.CountsFile, line)
		}
	}
}

// readVector reads a row of vectorSheet.
func readVector(m *latent.Model, row []string) bool {
	if len(row) != 3 {
		return false
	}
	v, err := hex.DecodeString(row[1])
	r := latent.Report{Vector: v}
	if err != nil || len(v) != m.Vectors.How.Vector.Size() {
		return false
	}
	at := func(name string, of []string, to *int) bool {
		if len(of) == 0 {
			return name == ""
		}
		*to = slices.Index(of, name)
		return *to >= 0
	}
	ok := at(row[0], m.Vectors.Groups, &r.Crowd) && at(row[2], m.Asked.Classes, &r.Class)
	m.Vectors.Reports = append(m.Vectors.Reports, r)
	return ok
}

// readSymbols reads the rows of latentSheet: all symbols of a group in their order, then those of the next. As sets have one
// size, estimates add up to the respondents.
func readSymbols(m *latent.Model, sheet io.Reader) error {
	k, seen := max(1, len(m.Asked.Classes)), 0
	all, last := m.Asked.Clusters*k, -1
	m.Counts.Tables = nil
	sums := []float64{}
	err := sheetRows(sheet, func(row []string) bool {
		if len(row) != 6 {
			return false
		}
		crowd, at := 0, seen%all
		if len(m.Counts.Crowds) > 0 {
			crowd = slices.Index(m.Counts.Crowds, row[0])
		}
		mean, err := strconv.ParseFloat(row[3], 64)
		off, bad := strconv.ParseFloat(row[4], 64)
		class := ""
		if len(m.Asked.Classes) > 0 {
			class = m.Asked.Classes[at%k]
		}
		if err != nil || bad != nil || !(math.Abs(mean) <= 1e12) || !(off >= 0 && off <= 1e12) || row[1] != strconv.Itoa(at/k+1) || row[2] != class {
			return false
		}
		if at == 0 {
			if crowd <= last { // -1 is none, and one that was there is another's again
				return false
			}
			last = crowd
			m.Counts.Tables, sums = append(m.Counts.Tables, &histogram.Table{Crowd: crowd}), append(sums, 0)
		}
		t := m.Counts.Tables[len(m.Counts.Tables)-1]
		t.Values = append(t.Values, estimate.Value{Mean: mean, StdErr: off})
		sums[len(sums)-1] += mean
		t.Respondents = int(math.Round(sums[len(sums)-1]))
		seen++
		return crowd == last
	})
	if err == nil && (seen%all != 0 || slices.ContainsFunc(m.Counts.Tables, func(t *histogram.Table) bool { return t.Respondents < 1 })) {
		err = fmt.Errorf("%s does not have all symbols of the plan, or counts nobody", sheets.CountsFile)
	}
	return err
}
