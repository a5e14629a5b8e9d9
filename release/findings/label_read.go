package findings

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
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
	rows, err := csv.NewReader(sheet).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", release.CountsFile, err)
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("%s has no counts: nothing was released", release.CountsFile)
	}
	l := &Labels{Classes: ask.Classes, Records: ask.Records}
	if ask.Report == plan.LabelEach {
		l.Epsilon = ask.Randomizer.Epsilon
		return l, l.reports(rows[1:])
	}
	return l, l.clusters(rows[1:], p.Crowd.Names)
}

// clusters reads the counts that release.WriteCounts wrote.
func (l *Labels) clusters(rows [][]string, crowds []string) error {
	const crowd, value, consistent = 1, 2, 9 // columns
	n := max(1, len(crowds))
	likely, sums := make([][]float64, n), make([]float64, n)
	for i, row := range rows {
		bad := fmt.Errorf("%s: row %d is no count of a label in a cluster of the plan", release.CountsFile, i+2)
		if len(row) <= consistent {
			return bad
		}
		at, class := 0, slices.Index(l.Classes, row[value])
		if n > 1 {
			at = slices.Index(crowds, row[crowd])
		}
		count, err := strconv.ParseFloat(row[consistent], 64)
		if at < 0 || class < 0 || err != nil || !(count >= 0) {
			return bad
		}
		if likely[at] == nil {
			likely[at] = make([]float64, len(l.Classes))
		}
		likely[at][class] += count
		sums[at] += count
	}
	for at, sum := range sums {
		if !(sum > 0) || sum-sum != 0 {
			likely[at] = nil
			continue
		}
		for class := range likely[at] {
			likely[at][class] /= sum
		}
	}
	l.Likely = likely
	return nil
}

// reports reads those of records that labelSheet wrote.
func (l *Labels) reports(rows [][]string) error {
	const number, reported = 0, 1 // columns
	for i, row := range rows {
		if len(row) <= reported {
			return fmt.Errorf("%s: row %d is no report", release.CountsFile, i+2)
		}
		n, err := strconv.Atoi(row[number])
		said := slices.Index(l.Classes, row[reported])
		if err != nil || n < 0 || n >= l.Records || said < 0 {
			return fmt.Errorf("%s: row %d is no report of a record of the plan", release.CountsFile, i+2)
		}
		l.Of, l.Said = append(l.Of, n), append(l.Said, said)
	}
	return nil
}
