package plan

// Vector asks for the sum of vectors of norm at most one, each made of a respondent's
// features, and of its class or a number. Of a rotated vector a device answers few coordinates (rows), which it
// draws in secret, with a flipped bit each (docs/vector-rr.md).
type Vector struct {
	Features int      `json:"features"`          // that a vector is made of: given by the public map that State names, where it does
	Classes  []string `json:"classes,omitempty"` // names of the labels; none: vectors have none
	Number   *Number  `json:"number,omitempty"`  // that is predicted from features; nil: none
	Seed     string   `json:"seed"`              // 64 hex digits: public randomness of the rotation
	// Rounds are those of a study that differ, the last for all that follow. A plan by itself
	// has one.
	Rounds []VectorRound `json:"rounds"`
}

// Number is what a respondent holds beside its features; what lies outside counts as the nearer end.
type Number struct {
	Name string  `json:"name"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// What the vectors of a round are made of.
const (
	SumsFeatures  = "features"  // the features as they are
	SumsClasses   = "classes"   // features and class: sums of each class
	SumsMoments   = "moments"   // features and class: second moments, and sums and sizes of each class
	SumsSquares   = "squares"   // features and a number, or one of two classes: what least squares need
	SumsGradients = "gradients" // the gradient of the logistic loss at the round's public state
)

// VectorRound is the mechanism of a round.
type VectorRound struct {
	Sums     string  `json:"sums"`             // what vectors are made of: one of the Sums
	Answered int     `json:"answered"`         // rows that a device answers, on average
	Rows     int     `json:"rows"`             // a power of two, at least the length of a vector
	Clip     float64 `json:"clip"`             // at which rotated coordinates are cut, in deviations of one
	Flip     float64 `json:"flip_probability"` // of an answer, in (0, 1/2)
	Rare     float64 `json:"rare"`             // chance, charged to delta, that rows are more crowded than accounted for
	// Steps is how far from zero whole numbers reach that rotated coordinates are rounded to: of sums with
	// the noise of aggregators, where a device answers with all of its vector and proves how long that is. 0: of all else.
	Steps int `json:"steps,omitempty"`
	// Alike is a guess, before anything is collected, of the inner product of two vectors of
	// one class, or of any two where there are no classes: clipping errs on vectors that are
	// alike. 0: they have nothing in common.
	Alike float64 `json:"alike,omitempty"`
}
