package collection

import (
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Demo is the whole loop, once: some of the records of a data set are held by devices, which
// seal every message for both hops and the analyzer; others, without their classes, are public
// and say which directions of the features matter.
type Demo struct {
	Epsilon      float64
	Delta        float64
	LabelEpsilon plan.LabelEpsilon
	Seed         uint64
}

// Every fragment costs three seals and three opens, so that this is what two cores do in about a
// quarter of a minute.
const (
	demoPerClass   = 500 // devices of each class
	demoDirections = 28  // and so fragments a device: 500 x 4 x 28 = 56,000 in all
	demoPublic     = 4000
	demoHops       = 2
	demoWords      = 5 // of each class
)

var demoKernel = plan.Kernel{Name: "ip-rotated", Clip: 2}

// DemoResult is the demo's outcome.
type DemoResult struct {
	Devices           int                 `json:"devices"`
	Fragments         int                 `json:"fragments"`
	Hops              int                 `json:"hops"`
	Dataset           string              `json:"dataset"`
	Synthetic         bool                `json:"synthetic"`
	Classes           int                 `json:"classes"`
	Accuracy          float64             `json:"accuracy"` // of what the sealed reports taught
	AccuracyNoPrivacy float64             `json:"accuracy_no_privacy"`
	Epsilon           float64             `json:"epsilon"` // of the whole record, class included
	Delta             float64             `json:"delta"`
	LabelEpsilon      plan.LabelEpsilon   `json:"label_epsilon"`
	Method            string              `json:"method"`
	Seconds           float64             `json:"seconds"`
	Decoded           map[string][]string `json:"decoded"` // words that set a class apart
}

// Run returns the demo on a data set. The release is complete but for what the caller knows: the
// command and the software.
func (d Demo) Run(set *dataset.Set, progress simulate.Progress) (DemoResult, Collected, error) {
	start := time.Now()
	some, public, err := leading(set)
	if err != nil {
		return DemoResult{}, Collected{}, err
	}
	out, err := d.collection(some).Run(some, progress)
	if err != nil {
		return DemoResult{}, Collected{}, err
	}
	r := &out.Release
	shuffled := r.Guarantees[len(r.Guarantees)-1].Guarantee
	res := DemoResult{
		Devices: out.Devices, Fragments: out.Fragments, Hops: demoHops,
		Dataset: set.Name, Synthetic: set.Synthetic, Classes: len(set.Classes),
		Accuracy:          Metric(*r, "accuracy").Value,
		AccuracyNoPrivacy: measure.ExactAccuracy(some, exactly(demoKernel), progress),
		Epsilon:           shuffled.Epsilon, Delta: shuffled.Delta, LabelEpsilon: d.LabelEpsilon, Method: shuffled.Method,
		Decoded: map[string][]string{},
	}
	words, err := out.Model.Distinguish(some.Words, some.WordX, demoWords)
	if err != nil {
		return res, out, err
	}
	for c, name := range set.Classes {
		for _, w := range words[c] {
			res.Decoded[name] = append(res.Decoded[name], w.Word)
		}
	}
	if err := out.Add("accuracy_no_privacy", res.AccuracyNoPrivacy); err != nil {
		return res, out, err
	}
	wordsFirst(r)
	r.Remarks = append(r.Remarks,
		fmt.Sprintf("%d fragments were sealed, mixed and opened: of %d devices, by %d hops and the analyzer.", out.Fragments, out.Devices, demoHops),
		fmt.Sprintf("What is public: %d other documents without their classes, of which come the %d directions that a device answers, the words' vectors, and the documents that the classifier is tested on.", public, demoDirections),
		"Every role ran in one process: a demonstration of the mechanism, not of separate trust domains.")
	res.Seconds = time.Since(start).Seconds()
	return res, out, nil
}

// wordsFirst puts what each class is about before how well that classifies.
func wordsFirst(r *release.Release) {
	slices.SortStableFunc(r.Sections, func(a, b release.Section) int { return len(b.Lists) - len(a.Lists) })
}

// leading returns the set as the demo asks it: records of which devices hold so many of each class,
// in the leading directions of others that are public, and how many of these there are.
func leading(set *dataset.Set) (_ *dataset.Set, public int, err error) {
	held, rest := perClass(set.Train, len(set.Classes), demoPerClass)
	rest = rest.Head(min(demoPublic, rest.Len()))
	open := rest.X
	if rest.Len() <= set.Dimension() { // too few: the words' vectors are public too
		open = set.WordX
	}
	directions, err := principal.Fit(open, min(demoDirections, set.Dimension()), 0, 0)
	if err != nil {
		return nil, 0, err
	}
	clear(directions.Mean) // words and documents have another middle each
	along := func(x blas32.General) blas32.General {
		d := directions.Len()
		y := blas32.General{Rows: x.Rows, Cols: d, Stride: d, Data: make([]float32, x.Rows*d)}
		for i := range x.Rows {
			directions.Apply(slices.Clone(x.Data[i*x.Stride:][:x.Cols]), y.Data[i*d:][:d])
		}
		return y
	}
	some := *set
	some.Train, some.Test, some.WordX = held, set.Test, along(set.WordX)
	some.Train.X, some.Test.X = along(held.X), along(set.Test.X)
	return &some, open.Rows, nil
}

func (d Demo) collection(set *dataset.Set) Collection {
	return Collection{
		Title:  "What are the classes about, and which is this?",
		Kernel: demoKernel, Repetitions: 1, Normalize: true,
		Bitsum: "rr", Accounting: "exact",
		Budget:    plan.Budget{Epsilon: d.Epsilon, Delta: d.Delta, Adjacency: "replacement", LabelEpsilon: d.LabelEpsilon, DishonestShare: 0.05},
		Minimum:   Reported(slices.Min(set.Train.Counts(len(set.Classes))), d.LabelEpsilon),
		Instances: 1, Hops: demoHops, Suite: "x25519", Full: true, Seed: d.Seed,
	}
}

// perClass returns the first n records of each class, in their order, and the others.
func perClass(l dataset.Labelled, classes, n int) (first, rest dataset.Labelled) {
	taken := make([]int, classes)
	part := func() dataset.Labelled {
		return dataset.Labelled{X: blas32.General{Cols: l.X.Cols, Stride: l.X.Cols}}
	}
	first, rest = part(), part()
	for i, y := range l.Y {
		to := &first
		if taken[y]++; taken[y] > n {
			to = &rest
		}
		to.Y = append(to.Y, y)
		to.X.Data = append(to.X.Data, l.X.Data[i*l.X.Stride:][:l.X.Cols]...)
		to.X.Rows++
	}
	return first, rest
}
