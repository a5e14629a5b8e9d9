package ltn

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
	"github.com/confetti-dp/confetti/release"
)

// multiplied is a row of LTN's Table 2.
type multiplied struct {
	set                 string
	central, multiplier float64
	batch, records      int
}

var printed = []multiplied{
	{"MNIST", 5, 0.7, 64, 45_000},
	{"MNIST", 1, 1.1, 64, 45_000},
	{"Lending Club", 5, 0.56, 128, 341_000},
	{"Lending Club", 1, 1.1, 128, 341_000},
}

// stages have what the paper's multipliers allow, and what was measured.
func stages(s experiments.Spec, all []experiments.Measured) []release.Section {
	t := release.Table{
		Title:   "Epochs of the paper's settings",
		Columns: []release.Column{{Title: "data set"}, {Title: "central epsilon"}, {Title: "noise multiplier"}, {Title: "batch"}, {Title: "records", Unit: release.Count}, {Title: "epochs"}, {Title: "epsilon of so many"}},
		Note:    "The largest whole number of epochs whose epsilon, delta 1e-5, a record that counts for nothing in its place, is at most the central one; where not even one is allowed, the epsilon of one.",
	}
	for _, p := range printed {
		epochs, spent := allowed(p.central, p.multiplier, p.batch, p.records)
		t.Rows = append(t.Rows, []release.Cell{
			release.Text(p.set), release.Number(p.central, 0), release.Number(p.multiplier, 0), release.Number(float64(p.batch), 0), release.Number(float64(p.records), 0),
			release.Number(float64(epochs), 0), release.Number(spent, 0),
		})
	}
	sections := cleanly(s, all)
	if len(sections) > 0 {
		sections[0].Tables = append(sections[0].Tables, t)
	}
	return sections
}

// allowed returns how many epochs a central epsilon pays for, and what they cost.
func allowed(central, multiplier float64, batch, records int) (epochs int, spent float64) {
	costs := func(epochs int) float64 {
		t := dpsgd.Training{Sampling: float64(batch) / float64(records), NoiseMultiplier: multiplier, Steps: epochs * (records / batch), Clip: 1, Expected: 1, Rate: 1}
		g, err := account.Epsilon(t.Event(), deltaMade)
		if err != nil {
			return math.Inf(1)
		}
		return g.Epsilon
	}
	low, high := 0, 1
	for costs(high) <= central {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := (low + high) / 2; costs(mid) <= central {
			low = mid
		} else {
			high = mid
		}
	}
	return low, costs(max(1, low))
}
