package protocol

import "github.com/confetti-dp/confetti/release"

// Held are the cells in a histogram's symbol by attribute, for golden vectors.
func Held(s Symbol) [][]uint32 { return s.(cellsHeld).held }

// CountsAtMost is Counts with another bound.
func CountsAtMost(m *HistogramModel, most int) ([]release.ValueCount, string, error) {
	return m.counts(most)
}
