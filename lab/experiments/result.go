package experiments

import (
	"math"

	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
)

// Result is what came of a cell: the plan, what it promises and costs, and how far its
// answers are from the truth. Numbers are means over runs.
type Result struct {
	Dataset     string `json:"dataset"`
	Synthetic   bool   `json:"synthetic"`
	Data        string `json:"data_sha256,omitempty"` // of the files of the data set; none: it is made up
	Respondents int    `json:"devices"`
	Users       int    `json:"users"` // smallest crowd, which noise is calibrated to
	Runs        int    `json:"runs"`
	Seed        uint64 `json:"seed"`
	// Plan is that of the first run, without keys and parties. A baseline has none.
	Plan *plan.Plan `json:"plan,omitempty"`
	// Sigma is a curator's.
	Sigma float64 `json:"sigma,omitempty"`
	measure.Promised
	*measure.Accuracies
	Absolute *Absolute `json:"absolute,omitempty"`
	*measure.CountErrors
	*measure.Survey
	Learned  *Learned  `json:"learned,omitempty"`
	Trained  *Trained  `json:"trained,omitempty"`
	Recorded *Recorded `json:"recorded,omitempty"`
	Seconds  float64   `json:"seconds"`
}

// Absolute are the errors of densities without a sign, at the queries where KDERMSE has their root mean square (KDE, Appendix
// A.1.7): means over runs.
type Absolute struct {
	Mean    float64 `json:"mean"`
	Largest float64 `json:"largest"` // of all classes and queries of a run
}

// Measured is a cell with what came out: a result, or the reason why there is
// none, such as a theorem that does not hold there.
type Measured struct {
	Cell   Cell    `json:"cell"`
	Result *Result `json:"result,omitempty"`
	Reason string  `json:"reason,omitempty"`
	// Unproved says why the noise, which is that of a printed formula outside its
	// domain, keeps no promise. It is measured because KDE does.
	Unproved string `json:"unproved,omitempty"`
}

// MeanStd returns the mean and the standard deviation of a sample.
func MeanStd(x []float64) (mean, std float64) {
	if len(x) == 0 {
		return 0, 0
	}
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		std += (v - mean) * (v - mean)
	}
	if len(x) > 1 {
		std = math.Sqrt(std / float64(len(x)-1))
	}
	return mean, std
}
