package collection

import (
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/experiments/kde"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Demo is the whole loop: a collection at full fidelity from a part of the
// records, then one at fidelity law from all of them, written up as one release.
type Demo struct {
	Epsilon      float64
	Delta        float64
	LabelEpsilon plan.LabelEpsilon
	Seed         uint64
}

// The size of the full-fidelity collection: every fragment costs three seals
// and three opens, so that this is what two cores do in about a quarter of a minute.
const (
	demoPerClass    = 255 // devices of each class
	demoRepetitions = 56  // fragments a device: 255 x 4 x 56 = 57,120 in all
	demoHops        = 2
	lawRepetitions  = 768
)

// With so few random features a wide kernel keeps more of what tells the classes apart;
// unit vectors are at most 2 apart.
var demoKernel = plan.Kernel{Name: "gaussian", Bandwidth: 1.3}

// DemoResult is the demo's outcome.
type DemoResult struct {
	Devices           int                 `json:"devices"`
	Fragments         int                 `json:"fragments"`
	Hops              int                 `json:"hops"`
	Dataset           string              `json:"dataset"`
	Synthetic         bool                `json:"synthetic"`
	Classes           int                 `json:"classes"`
	Accuracy          float64             `json:"accuracy"`
	AccuracyNoPrivacy float64             `json:"accuracy_no_privacy"`
	AccuracyLaw       float64             `json:"accuracy_law"`
	Epsilon           float64             `json:"epsilon"` // of the whole record, class included
	Delta             float64             `json:"delta"`
	LabelEpsilon      plan.LabelEpsilon   `json:"label_epsilon"`
	Method            string              `json:"method"`
	Seconds           float64             `json:"seconds"`
	Decoded           map[string][]string `json:"decoded"` // by what sets a class apart, from all records
}

// Run is the demo on a data set. The release, of the collection at full
// fidelity, is complete but for what the caller knows: the command and the software.
func (d Demo) Run(set *dataset.Set, progress simulate.Progress) (DemoResult, Collected, error) {
	start := time.Now()
	some := *set
	some.Train = perClass(set.Train, len(set.Classes), demoPerClass)
	full, err := d.collection(&some, demoRepetitions, true).Run(&some, progress)
	if err != nil {
		return DemoResult{}, Collected{}, err
	}
	law, err := d.collection(set, lawRepetitions, false).Run(set, progress)
	if err != nil {
		return DemoResult{}, Collected{}, err
	}
	r := &full.Release
	r.Headline[0].Label = fmt.Sprintf("Accuracy from %d sealed reports", full.Devices)
	shuffled := r.Guarantees[len(r.Guarantees)-1].Guarantee
	res := DemoResult{
		Devices: full.Devices, Fragments: full.Fragments, Hops: demoHops,
		Dataset: set.Name, Synthetic: set.Synthetic, Classes: len(set.Classes),
		Accuracy: metric(*r, "accuracy").Value, AccuracyLaw: metric(law.Release, "accuracy").Value,
		AccuracyNoPrivacy: kde.ExactAccuracy(set, exactly(demoKernel), progress),
		Epsilon:           shuffled.Epsilon, Delta: shuffled.Delta, LabelEpsilon: d.LabelEpsilon, Method: shuffled.Method,
		Decoded: map[string][]string{},
	}
	words, err := law.Model.Distinguish(set.Words, set.WordX, 5)
	if err != nil {
		return res, full, err
	}
	for c, name := range set.Classes {
		for _, w := range words[c] {
			res.Decoded[name] = append(res.Decoded[name], w.Word)
		}
	}
	everybody(r, law, res)
	r.Cost = append(r.Cost, release.Metric{Name: "fragments", Label: "Fragments sealed, mixed and opened", Value: float64(full.Fragments), Unit: release.Count, Note: fmt.Sprintf("%d devices, %d hops and the analyzer", full.Devices, demoHops)})
	r.Notes = append(r.Notes, "Every role ran in one process: a demonstration of the mechanism, not of separate trust domains.")
	res.Seconds = time.Since(start).Seconds()
	return res, full, nil
}

func (d Demo) collection(set *dataset.Set, repetitions int, full bool) Collection {
	return Collection{
		Title:  "What are the classes about, and which is this?",
		Kernel: demoKernel, Repetitions: repetitions, Normalize: true,
		Bitsum: "rr", Accounting: "exact",
		Budget: plan.Budget{Epsilon: d.Epsilon, Delta: d.Delta, Adjacency: "replacement", LabelEpsilon: d.LabelEpsilon, DishonestShare: 0.05},
		// Randomized labels scatter the sizes of crowds: nine tenths of the
		// smallest class are there but for a deviation of several sigma.
		Minimum:   smallest(set.Train.Counts(len(set.Classes))) * 9 / 10,
		Instances: 1, Hops: demoHops, Suite: "x25519", Full: full, Seed: d.Seed,
	}
}

// everybody adds the collection from all records to the release, and says why
// the two differ.
func everybody(r *release.Release, law Collected, res DemoResult) {
	accuracy := metric(law.Release, "accuracy")
	accuracy.Name, accuracy.Label = "accuracy_law", "Accuracy with all records"
	accuracy.Note = fmt.Sprintf("fidelity law: %d respondents, %d bits each", law.Devices, lawRepetitions)
	open := withoutPrivacy(res.AccuracyNoPrivacy)
	r.Headline = append(r.Headline, accuracy, open)
	s := release.Section{
		Title: "The same question to everybody",
		Text: fmt.Sprintf("Sealing and opening every fragment takes most of the time, so the collection above asks %d devices for %d bits each. "+
			"Fidelity law draws each total from its exact distribution instead of making the messages, and so can ask all %d for %d bits each under the same budget. "+
			"The two agree in law wherever both can run; what differs here is the size. More respondents drown the noise, and more random features make each density sharper: its error falls as one over the square root of their number.",
			res.Devices, demoRepetitions, law.Devices, lawRepetitions),
		Metrics: []release.Metric{accuracy, open},
	}
	for _, other := range law.Release.Sections {
		s.Lists = append(s.Lists, other.Lists...)
	}
	r.Sections = append(r.Sections, s)
}

// perClass is the first n records of each class, in their order.
func perClass(l dataset.Labelled, classes, n int) dataset.Labelled {
	taken := make([]int, classes)
	out := dataset.Labelled{X: l.X}
	out.X.Rows, out.X.Data, out.X.Stride = 0, nil, l.X.Cols
	for i, y := range l.Y {
		if taken[y]++; taken[y] > n {
			continue
		}
		out.Y = append(out.Y, y)
		out.X.Data = append(out.X.Data, l.X.Data[i*l.X.Stride:i*l.X.Stride+l.X.Cols]...)
		out.X.Rows++
	}
	return out
}

func smallest(counts []int) int {
	least := counts[0]
	for _, n := range counts {
		least = min(least, n)
	}
	return least
}
