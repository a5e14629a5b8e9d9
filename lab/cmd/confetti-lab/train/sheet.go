package train

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/internal/formula"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
)

// labelSheet holds what the sheet of a release says of labels: of each cluster, or one by one.
type labelSheet struct {
	Classes []string
	// Likely is how likely each label is in each cluster; nil of one that was withheld.
	Likely [][]float64
	// Of labels one by one: how many public records there are, the local epsilon of a report,
	// and the record and the reported class of each.
	Records  int
	Epsilon  float64
	Of, Said []int
	// Local says that the classes are as private as the records, though everyone colludes (LTN): the promise of
	// what is learned is then the local one.
	Local bool
}

// readLabels reads the sheet that stands beside a release of labels, or of private records with their classes, that
// were counted in clusters (sheets.CountsFile).
func readLabels(p plan.Plan, sheet io.Reader) (*labelSheet, error) {
	if z := p.Question.Latent; z != nil && z.Report == plan.LatentSymbols && len(z.Classes) > 0 && z.Records == 0 {
		l := &labelSheet{Classes: z.Classes, Likely: make([][]float64, z.Clusters), Local: true}
		err := l.rows(sheet, l.share, func() {})
		if err == nil && !slices.ContainsFunc(l.Likely, func(shares []float64) bool { return shares != nil }) {
			err = fmt.Errorf("%s has no shares of classes: the public state was missing when it was written", sheets.CountsFile)
		}
		return l, err
	}
	ask := p.Question.Label
	if ask == nil || ask.Report == plan.LabelSums || ask.Randomizer == nil {
		return nil, errors.New("no release of labels that were counted in clusters, or told one by one")
	}
	l := &labelSheet{Classes: ask.Classes, Records: ask.Records}
	read, end := l.report, func() {}
	if ask.Report == plan.LabelEach {
		l.Epsilon = ask.Randomizer.Epsilon
	} else {
		read, end = l.clusters(p.Crowd.Names)
	}
	return l, l.rows(sheet, read, end)
}

// rows reads those below the names of the columns.
func (l *labelSheet) rows(sheet io.Reader, read func(row []string) bool, end func()) error {
	c := csv.NewReader(sheet)
	c.ReuseRecord = true
	for line := 0; ; line++ {
		row, err := c.Read()
		for i, cell := range row {
			row[i] = formula.Unquote(cell)
		}
		switch {
		case errors.Is(err, io.EOF) && line < 2:
			return fmt.Errorf("%s has no counts: nothing was released", sheets.CountsFile)
		case errors.Is(err, io.EOF):
			end()
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", sheets.CountsFile, err)
		case line > 0 && !read(row):
			return fmt.Errorf("%s: row %d is nothing that a release of this plan says", sheets.CountsFile, line+1)
		}
	}
}

// share reads that of a class in a cluster, as latentSheet wrote it; of a cluster in which no public input lies there
// is none.
func (l *labelSheet) share(row []string) bool {
	const cluster, class, share = 1, 2, 5 // columns
	if len(row) <= share {
		return false
	}
	c, err := strconv.Atoi(row[cluster])
	y := slices.Index(l.Classes, row[class])
	if err != nil || c < 1 || c > len(l.Likely) || y < 0 {
		return false
	}
	if row[share] == "" {
		return true
	}
	x, err := strconv.ParseFloat(row[share], 64)
	if err != nil || !(x >= 0 && x <= 1+1e-9) {
		return false
	}
	if l.Likely[c-1] == nil {
		l.Likely[c-1] = make([]float64, len(l.Classes))
	}
	l.Likely[c-1][y] = x
	return true
}

// clusters reads counts that sheets.WriteCounts wrote, row by row, and makes shares of them in the end.
func (l *labelSheet) clusters(crowds []string) (read func(row []string) bool, end func()) {
	const crowd, value, consistent = 1, 2, 9 // columns
	n := max(1, len(crowds))
	l.Likely = make([][]float64, n)
	sums := make([]float64, n)
	read = func(row []string) bool {
		if len(row) <= consistent {
			return false
		}
		at, class := 0, slices.Index(l.Classes, row[value])
		if n > 1 {
			at = slices.Index(crowds, row[crowd])
		}
		count, err := strconv.ParseFloat(row[consistent], 64)
		if at < 0 || class < 0 || err != nil || !(count >= 0) {
			return false
		}
		if l.Likely[at] == nil {
			l.Likely[at] = make([]float64, len(l.Classes))
		}
		l.Likely[at][class] += count
		sums[at] += count
		return true
	}
	return read, func() {
		for at, sum := range sums {
			if !(sum > 0) || math.IsInf(sum, 1) {
				l.Likely[at] = nil
				continue
			}
			for class := range l.Likely[at] {
				l.Likely[at][class] /= sum
			}
		}
	}
}

// report reads that of a record, as labelSheet wrote it.
func (l *labelSheet) report(row []string) bool {
	const number, reported = 0, 1 // columns
	if len(row) <= reported {
		return false
	}
	n, err := strconv.Atoi(row[number])
	said := slices.Index(l.Classes, row[reported])
	if err != nil || n < 0 || n >= l.Records || said < 0 {
		return false
	}
	l.Of, l.Said = append(l.Of, n), append(l.Said, said)
	return true
}
