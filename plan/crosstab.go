package plan

// Crosstab asks what goes with what: how many hold each value of every column, and of every two columns together
// (docs/crosstabs.md). Of the vector that a record becomes, rotated, a device answers few coordinates (rows), which it
// draws in secret, with a flipped bit each. Where aggregators add answers up it marks a cell of each table, and nothing
// below Columns is there.
type Crosstab struct {
	Columns []Column `json:"columns"`
	Seed    string   `json:"seed"` // 64 hex digits: public randomness of the rotation
	// Main is the share of a vector's squared length that tells columns by themselves; the rest tells pairs.
	Main float64 `json:"main"`

	Answered int     `json:"answered"`         // rows that a device answers, on average
	Rows     int     `json:"rows"`             // a power of two, at least the length of a vector
	Clip     float64 `json:"clip"`             // at which rotated coordinates are cut, in deviations of one
	Flip     float64 `json:"flip_probability"` // of an answer, in (0, 1/2)
	Rare     float64 `json:"rare"`             // chance, charged to delta, that rows are more crowded than accounted for
}

// Column is one thing that a record has: one of some values, or a number that public cuts put into a range.
type Column struct {
	Name   string    `json:"name"`
	Values []string  `json:"values,omitempty"` // of a category
	Others bool      `json:"others,omitempty"` // a last value for what is none of them, nothing among it
	Cuts   []float64 `json:"cuts,omitempty"`   // of a number, ascending: a cut begins the range above it
}
