package plan

// Gradient asks for the gradient of a model's loss at each respondent's example. In the
// rounds of a study the model goes where the mean of the gradients points (ESA, section
// VI). The model of a round is its public state.
type Gradient struct {
	Dimension int            `json:"dimension"` // numbers of an example
	Classes   []string       `json:"classes"`   // of which each example has one, as private as its numbers
	Model     string         `json:"model"`     // one of Networks
	Seed      string         `json:"seed"`      // 64 hex digits: public randomness of the first model and of rotations
	Clip      float64        `json:"clip"`      // L: longer gradients are scaled down to this length
	Report    GradientReport `json:"report"`
	Step      GradientStep   `json:"step"`
}

// Networks are the models that a plan may name.
var Networks = []string{"linear", "xiii", "xiv"}

// GradientReports are the reports that a plan may name.
var GradientReports = []string{"direction", "cap", "vector"}

// GradientReport names the mechanism that tells of a gradient, with its numbers. Only the
// fields of the named mechanism are set.
type GradientReport struct {
	Name    string  `json:"name"`              // "direction" (ESA, Algorithm 4), "cap", "vector"
	Epsilon float64 `json:"epsilon,omitempty"` // direction, cap: local, of one report
	Share   float64 `json:"share,omitempty"`   // cap: of all directions, in (0, 1/2]
	Bits    int     `json:"bits,omitempty"`    // vector: rows that a device answers, on average
	Radius  float64 `json:"radius,omitempty"`  // vector: where rotated coordinates are clipped, in their deviations
	Flip    float64 `json:"flip,omitempty"`    // vector: probability that a bit is flipped
	Rare    float64 `json:"rare,omitempty"`    // vector: chance, part of delta, of rows more crowded than accounted for
	Steps   int     `json:"steps,omitempty"`   // vector of proved length: how far whole numbers reach from zero (VectorRound)
}

// GradientStep is what the analyzer does with the mean of the gradients.
type GradientStep struct {
	Rate     float64 `json:"rate"`
	Momentum float64 `json:"momentum,omitempty"` // Nesterov's, in [0, 1)
	Average  float64 `json:"average,omitempty"`  // of the models of all rounds, the weight of the earlier ones; 0: the last model is the answer
	// Bound is the largest length of all that the model has learned. A step that leads
	// further is not taken, and later ones are half as long.
	Bound float64 `json:"bound"`
}
