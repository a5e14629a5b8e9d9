package findings

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// Labels are what the sheet of a release says of labels: of each cluster, or one by one.
type Labels struct {
	Classes []string
	// Likely is how likely each label is in each cluster; nil of one that was withheld.
	Likely [][]float64
	// Of labels one by one: how many public records there are, the local epsilon of a report,
	// and the record and the reported class of each.
	Records  int
	Epsilon  float64
	Of, Said []int
}

// ReadLabels reads the sheet that stands beside a release of labels (release.CountsFile).
func ReadLabels(p plan.Plan, sheet io.Reader) (*Labels, error) {
	ask := p.Question.Label
	if ask == nil || ask.Report == plan.LabelSums || ask.Randomizer == nil {
		return nil, errors.New("no release of labels that were counted in clusters, or told one by one")
	}
	l := &Labels{Classes: ask.Classes, Records: ask.Records}
	read, end := l.report, func() {}
	if ask.Report == plan.LabelEach {
		l.Epsilon = ask.Randomizer.Epsilon
	} else {
		read, end = l.clusters(p.Crowd.Names)
	}
	c := csv.NewReader(sheet)
	c.ReuseRecord = true
	for line := 0; ; line++ {
		row, err := c.Read()
		switch {
		case errors.Is(err, io.EOF) && line < 2:
			return nil, fmt.Errorf("%s has no counts: nothing was released", release.CountsFile)
		case errors.Is(err, io.EOF):
			end()
			return l, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", release.CountsFile, err)
		case line > 0 && !read(row):
			return nil, fmt.Errorf("%s: row %d is nothing that a release of this plan says", release.CountsFile, line+1)
		}
	}
}

// clusters reads counts that release.WriteCounts wrote, row by row, and makes shares of them in the end.
func (l *Labels) clusters(crowds []string) (read func(row []string) bool, end func()) {
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
func (l *Labels) report(row []string) bool {
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
