package kde

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/question/densities"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

// population is what cells share that differ only in bitsum, accounting and budget: in one
// run, the features, the reported labels, and the number of rounded ones in each channel.
// Noise is drawn on top of it, so that a figure's forty cells cost little more than one.
type population struct {
	cell     experiments.Cell // any of those that share it
	run      uint64
	records  *records
	question plan.Question // without its bitsum
	features *kernelmap.Features
	rounded  *distribution.Rounded // nil until asked for
	open     *distribution.Rounded // with the true labels; nil until asked for
	grid     *distribution.Rounded // steps of numbers in the place of bits, of the reported labels; nil until asked for
	exact    [][]float64
	progress simulate.Progress
}

// Streams of a cell's seed, by run.
const (
	forFeatures = iota
	forBits
	forTruth
	forTotals
)

func newPopulation(c experiments.Cell, run uint64, rec *records, progress simulate.Progress) (*population, error) {
	d := c.Density
	q := plan.Density{Dimension: rec.Dimension(), Kernel: d.Kernel, Repetitions: d.Repetitions}
	q.Kernel.Seed = measure.PublicSeed(c.Seed, run, forFeatures)
	has := kernelmap.Kernel(d.Kernel.Name).Parameters()
	if has.Projection && q.Kernel.Projection == 0 {
		q.Kernel.Projection = max(1, q.Dimension/4)
	}
	switch {
	case has.Single:
		q.Repetitions = 1 // it holds all of a value
	case q.Repetitions == 0:
		q.Repetitions = q.Dimension
	}
	features, err := densities.Features(q)
	if err != nil {
		return nil, &refused{err}
	}
	for class, n := range rec.Train.Counts(len(rec.Classes)) {
		if n == 0 {
			return nil, fmt.Errorf("class %q has no records: every class needs some", rec.Classes[class])
		}
	}
	return &population{
		cell: c, run: run, records: rec, progress: progress, features: features,
		question: plan.Question{Kind: "density", Density: &q},
	}, nil
}

// labels returns the epsilon of a cell's labels, as a plan has it.
func labels(d experiments.Density) plan.LabelEpsilon {
	if d.LabelEpsilon == 0 {
		return plan.Unprotected
	}
	return plan.LabelEpsilon(d.LabelEpsilon)
}

// draft returns the plan of the population but for its bitsum and budget.
func (p *population) draft(label plan.LabelEpsilon) plan.Plan {
	draft := measure.Draft(p.question, plan.Budget{Adjacency: "replacement", LabelEpsilon: label}, 1)
	draft.Crowd.Names = p.records.Classes
	return draft
}

func (p *population) round(label plan.LabelEpsilon, stream uint64) (*distribution.Rounded, error) {
	seed := streamOf(p, stream).Uint64()
	records := distribution.Records{Classes: p.records.Train.Y, Row: p.records.row}
	return distribution.Round(p.draft(label), records, func(part ...uint64) *rand.Rand { return seeded.New(seed, part...) }, func(done int) {
		p.progress(fmt.Sprintf("run %d of %d", p.run+1, p.cell.Runs), done, len(records.Classes))
	})
}

// bits returns the rounded ones of the reported classes.
func (p *population) bits() (*distribution.Rounded, error) {
	var err error
	if p.rounded == nil {
		p.rounded, err = p.round(labels(p.cell.Density), forBits)
	}
	return p.rounded, err
}

// members returns who reports a class: experiments have one instance.
func members(of *distribution.Rounded, class int) []int { return of.Batches[class][0].Members }

// sizes returns the smallest and the largest reported class. Nothing is rounded for a cell of
// costs only, whose labels are the true ones.
func (p *population) sizes() (least, most int, err error) {
	counts := p.records.Train.Counts(len(p.records.Classes))
	if !p.cell.Density.CostOnly {
		r, err := p.bits()
		if err != nil {
			return 0, 0, err
		}
		for class := range counts {
			counts[class] = len(members(r, class))
		}
	}
	least = counts[0]
	for class, n := range counts {
		if n == 0 {
			return 0, 0, fmt.Errorf("nobody reports class %q: every class needs some", p.records.Classes[class])
		}
		least, most = min(least, n), max(most, n)
	}
	return least, most, nil
}

// densities returns those of classes with so many members and such sums.
func (p *population) densities(of *distribution.Rounded, sums [][]estimate.Value) []kde.Density {
	out := make([]kde.Density, len(sums))
	for class := range out {
		out[class] = kde.Density{Features: p.features, Respondents: len(members(of, class)), Sums: sums[class]}
	}
	return out
}

// noPrivacy returns the accuracy from true labels and exact sums of the rounded bits,
// and that of the nearest mean if asked for.
func (p *population) noPrivacy(nearestToo bool) (highest, nearest float64, err error) {
	if p.open == nil {
		if p.cell.Density.LabelEpsilon > 0 {
			p.open, err = p.round(plan.Unprotected, forTruth)
		} else {
			p.open, err = p.bits()
		}
		if err != nil {
			return 0, 0, err
		}
	}
	model, err := hdc.New(p.records.Classes, p.densities(p.open, exactSums(p.open)))
	if err != nil {
		return 0, 0, err
	}
	if highest, err = accuracy(model, p.records.Test); err == nil && nearestToo {
		nearest, err = nearestMean(model, p.records.Test)
	}
	return highest, nearest, err
}

// label returns the randomizer of the labels, whose noise can be taken out.
func (p *population) label() randomize.KRR {
	return randomize.KRR{K: len(p.records.Classes), Epsilon: p.cell.Density.LabelEpsilon}
}

// errors returns by how much densities miss at the first test records: the mean square, the mean without signs, and the largest.
func (p *population) errors(densities []kde.Density, queries int) (square, mean, largest float64, err error) {
	at := p.records.Test.Head(queries).X
	if p.exact == nil {
		p.exact = make([][]float64, len(densities))
		for class := range densities {
			who := members(p.rounded, class)
			x := blas32.General{Rows: len(who), Cols: at.Cols, Stride: at.Cols, Data: make([]float32, len(who)*at.Cols)}
			for i, from := range who {
				copy(row(x, i), p.records.row(from))
			}
			p.exact[class] = measure.Exact(p.question.Density.Kernel, x, at)
		}
	}
	n := float64(at.Rows * len(densities))
	for class, d := range densities {
		got, err := d.QueryAll(at)
		if err != nil {
			return 0, 0, 0, err
		}
		for i, v := range got {
			missed := math.Abs(v.Mean - p.exact[class][i])
			square, mean, largest = square+missed*missed, mean+missed, max(largest, missed)
		}
	}
	return square / n, mean / n, largest, nil
}
