package experiments

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/release"
)

// Split groups cells by a name, in the order of first appearance.
func Split(cells []Measured, by func(Measured) string) (names []string, groups map[string][]Measured) {
	groups = map[string][]Measured{}
	for _, m := range cells {
		name := by(m)
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], m)
	}
	return names, groups
}

// ByDataset names a cell's data set.
func ByDataset(m Measured) string { return m.Cell.Dataset }

// PerDataset makes a section of each data set's cells.
func PerDataset(cells []Measured, section func(set string, cells []Measured) release.Section) []release.Section {
	var out []release.Section
	sets, of := Split(cells, ByDataset)
	for _, set := range sets {
		sec := section(set, of[set])
		sec.Title = set
		sec.Text = strings.TrimSpace(facts(of[set]) + " " + sec.Text)
		out = append(out, sec)
	}
	return out
}

// facts returns what the cells of a data set have in common.
func facts(cells []Measured) string {
	fewest, runs, data := math.MaxInt, 0, ""
	for _, m := range cells {
		runs = max(runs, m.Cell.Runs)
		if m.Result != nil {
			fewest = min(fewest, m.Result.Users)
			data = m.Result.Data
		}
	}
	if fewest == math.MaxInt {
		return ""
	}
	if data != "" {
		data = " Data: SHA-256 " + data + "."
	}
	c := cells[0].Cell
	if c.Labels != (Labels{}) {
		return fmt.Sprintf("%d labels, seed %d, up to %d runs.", fewest, c.Seed, runs) + data
	}
	if c.Histogram != (Histogram{}) {
		return fmt.Sprintf("%d respondents, delta %g, seed %d, up to %d runs.", fewest, c.Histogram.Delta, c.Seed, runs) + data
	}
	if c.Gradient != (Gradient{}) {
		return fmt.Sprintf("Delta %g, seeds from %d on, up to %d runs.", c.Gradient.Delta, c.Seed, runs) + data
	}
	if c.Records != (Records{}) {
		return fmt.Sprintf("At least %d respondents, delta 1e-6 of what is shuffled, seeds from %d on, up to %d runs.", fewest, c.Seed, runs) + data
	}
	labels := "labels as they are"
	if slices.ContainsFunc(cells, func(m Measured) bool { return m.Cell.Density.LabelEpsilon != c.Density.LabelEpsilon }) {
		labels = "labels as the columns say"
	} else if c.Density.LabelEpsilon > 0 {
		labels = fmt.Sprintf("labels at epsilon %g", c.Density.LabelEpsilon)
	}
	return fmt.Sprintf("Smallest class %d, delta %g, %s, seed %d, up to %d runs.", fewest, c.Density.Delta, labels, c.Seed, runs) + data
}
