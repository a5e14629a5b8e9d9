package protocol

import "fmt"

// Truth is how many of a population hold each cell, table by table of the model:
// what its estimates are of, over all respondents of a crowd, those included who
// were deleted or withheld. Only simulations have a use for it: it sees every value.
func (m *HistogramModel) Truth(values []Value) ([][]int, error) {
	tables := make(map[[2]int][]int, len(m.Tables)) // by crowd and attribute
	truth := make([][]int, len(m.Tables))
	for i, t := range m.Tables {
		truth[i] = make([]int, len(t.Values))
		tables[[2]int{t.Crowd, t.Attribute}] = truth[i]
	}
	for i, v := range values {
		symbol, err := m.question.encode(v)
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", i+1, err)
		}
		s := symbol.(cellsHeld)
		for attribute, held := range s.held {
			if table, released := tables[[2]int{s.crowd, attribute}]; released {
				for _, cell := range held {
					table[cell]++
				}
			}
		}
	}
	return truth, nil
}
