package table

import (
	"fmt"
	"strings"
)

// Missing says what an empty cell of a table means. The zero value refuses it.
type Missing struct {
	skip  bool
	fill  bool
	value string
}

// ParseMissing reads "refuse", "skip" (the row is left out) or "value=TEXT" (the cell
// holds TEXT).
func ParseMissing(text string) (Missing, error) {
	value, fill := strings.CutPrefix(text, "value=")
	value = strings.TrimSpace(value)
	switch {
	case text == "refuse" || text == "":
		return Missing{}, nil
	case text == "skip":
		return Missing{skip: true}, nil
	case fill && value != "" && badText(value) == "":
		return Missing{fill: true, value: value}, nil
	}
	return Missing{}, fmt.Errorf("an empty cell is one of refuse, skip and value=TEXT, with a text of at most %d bytes without control characters", maxText)
}

// missingRemedy is what to do about an empty cell that is refused.
const missingRemedy = "fill empty cells in, leave their rows out with --missing skip, or count them as a value of their own with --missing value=TEXT"

// Instead returns the text that stands for an empty cell, if one does.
func (m Missing) Instead() (text string, given bool) { return m.value, m.fill }

// Skips reports whether a row with an empty cell is left out.
func (m Missing) Skips() bool { return m.skip }

// Note says what became of the rows with empty cells, of which so many were left out
// and so many cells filled in; empty where there were none.
func (m Missing) Note(rows, left, filled int) string {
	switch {
	case left > 0:
		return fmt.Sprintf("Of %s rows %s with an empty cell were left out: what is told is about the other %s.", thousands(rows+left), thousands(left), thousands(rows))
	case filled == 1:
		return fmt.Sprintf("One empty cell among %s rows was taken for %q.", thousands(rows), m.value)
	case filled > 0:
		return fmt.Sprintf("%s empty cells among %s rows were taken for %q.", thousands(filled), thousands(rows), m.value)
	}
	return ""
}
