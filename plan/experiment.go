package plan

// Experiment asks what a treatment changes (docs/experiments.md). A respondent's arm and metrics become a vector of
// length at most 1, of which a device answers rows with flipped bits, or which two aggregators sum with noise.
type Experiment struct {
	Arms    []string  `json:"arms"`             // the first is what others are compared with
	Shares  []float64 `json:"shares,omitempty"` // of respondents, by arm, as they are drawn; none: equal
	Metrics []Measure `json:"metrics"`          // the first decides
	Looks   int       `json:"looks"`            // at most so many rounds of other people are looked at
	Look    int       `json:"look"`             // this one
	Past    *Looked   `json:"past,omitempty"`   // what earlier looks released; nil: this is the first

	Seed string    `json:"seed,omitempty"` // of answers that are mixed, 64 hex digits: public randomness of the rotation
	Bits *BitsSent `json:"bits,omitempty"` // likewise
}

// Measure is one number of a respondent: what is left of it, without what was known before, is cut to a range and
// told as a place in it.
type Measure struct {
	Name string  `json:"name"`
	Low  float64 `json:"low"` // of what is told: what lies outside counts as the nearer end
	High float64 `json:"high"`

	// Before names the number that was known of a respondent beforehand: so many times it are subtracted, Most at most.
	Before string  `json:"before,omitempty"`
	Times  float64 `json:"times,omitempty"`
	Most   float64 `json:"most,omitempty"`
	// Per names the number by which the metric is divided, such as views: Rate times it is subtracted.
	Per  string  `json:"per,omitempty"`
	Rate float64 `json:"rate,omitempty"`

	// What is known of other people: the mean of what is subtracted, with its error, and that of Per.
	Taken      float64 `json:"taken,omitempty"`
	TakenError float64 `json:"taken_error,omitempty"`
	PerMean    float64 `json:"per_mean,omitempty"`
	// Capped says that the metric is the one that is cut. Of others an effect that is alike for all loses at most LostAlike
	// of itself to the cut, and one in proportion LostShare.
	Capped    bool    `json:"capped,omitempty"`
	LostAlike float64 `json:"lost_alike,omitempty"`
	LostShare float64 `json:"lost_share,omitempty"`
}

// Looked is what earlier looks of an experiment released together.
type Looked struct {
	Plans []string  `json:"plans"` // their names, first look first
	Sums  []float64 `json:"sums"`  // of all numbers of the vectors
	// Variance is that of the noise in each of these numbers.
	Variance float64 `json:"variance"`
	// Steps are how much each look added to each comparison, of the second arm in every metric first, then of the third: its
	// people, and as many as its noise is worth there. 0: it was withheld.
	Steps []float64 `json:"steps"`
	// Evidence is by how many deviations the deciding metric was from zero, at each look.
	Evidence []float64 `json:"evidence"`
}

// BitsSent is how a device answers rows of a vector of few numbers.
type BitsSent struct {
	Answered int     `json:"answered"`         // rows that a device answers, on average
	Rows     int     `json:"rows"`             // a power of two, at least the length of a vector
	Clip     float64 `json:"clip"`             // the largest size of a row, in deviations of one
	Flip     float64 `json:"flip_probability"` // of an answer, in (0, 1/2)
	Rare     float64 `json:"rare"`             // chance, charged to delta, that rows are more crowded than accounted for
}
