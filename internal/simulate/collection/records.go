package collection

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/latent"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Records asks the training records of a data set for their public cluster and class jointly, or for the
// vector of a public encoder beside the class, all a secret though everyone colludes, through the whole flow.
type Records struct {
	Title   string
	State   []byte        // public clusters, or an encoder where Vector is there
	Vector  *plan.Latents // mechanism and, unless it is left to the design, the vector's epsilon; nil: symbols
	Budget  plan.Budget
	Minimum int
	Full    bool // fidelity
	Seed    uint64
}

// Run collects and publishes, with the test records as public data.
func (c Records) Run(set *dataset.Set, progress simulate.Progress) (Learned, error) {
	var out Learned
	asked, err := c.asked()
	if err != nil {
		return out, err
	}
	if n := set.Dimension(); n != asked.Features {
		return out, fmt.Errorf("it takes records of %d numbers, and these have %d: give the columns that it was made of (--features, --drop)", asked.Features, n)
	}
	asked.Classes = set.Classes
	p := measure.Draft(plan.Question{Kind: "latent", Latent: &asked}, c.Budget, c.Minimum)
	p.Title = c.Title
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		return out, err
	}
	p.State = plan.StateName(c.State)
	if p, err = design.Fill(p); err != nil {
		return out, err
	}
	proto, err := protocol.WithState(p, c.State)
	if err != nil {
		return out, err
	}
	values := make(distribution.Values, set.Train.Len())
	for i := range values {
		values[i] = latent.Record{Features: set.Train.X.Data[i*set.Train.X.Stride:][:set.Train.X.Cols], Class: set.Train.Y[i]}
	}
	a, err := ask(proto, keys, values, c.Full, simulate.Bounded{}, c.Seed, progress)
	if err != nil {
		return out, err
	}
	out.Plan, out.Collection, out.Learned = p, a.Collection, a.learned
	out.Public = results.Public{Truth: a.truth, Test: results.Records{X: set.Test.X, Y: set.Test.Y}}
	if out.Release, err = a.publish(proto, out.Public, c.Seed); err != nil {
		return out, err
	}
	out.Release.Synthetic = set.Synthetic
	if Metric(out.Release, "accuracy").Name == "" {
		return out, nil
	}
	without, err := c.without(set)
	if err != nil {
		return out, err
	}
	out.Release.Headline = append(out.Release.Headline, release.Metric{Name: "accuracy_no_privacy", Value: without})
	return out, results.Words(p, proto.Question, &out.Release)
}

// without returns the accuracy of what learns from the records themselves as the analyzer does from what it is told:
// from their clusters, or from the prototypes that are nearest to their vectors.
func (c Records) without(set *dataset.Set) (float64, error) {
	var class func(record []float32) int
	row := func(x blas32.General, i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }
	if c.Vector == nil {
		f, err := cluster.ParseFinder(c.State)
		if err != nil {
			return 0, err
		}
		counts := make([][]int, len(f.Sizes))
		for i := range counts {
			counts[i] = make([]int, len(set.Classes))
		}
		for i, y := range set.Train.Y {
			if at, ok := f.Find(row(set.Train.X, i)); ok {
				counts[at][y]++
			}
		}
		class = func(record []float32) int {
			at, _ := f.Find(record)
			return slices.Index(counts[at], slices.Max(counts[at]))
		}
	} else {
		e, err := device.ParseEncoder(c.State)
		if err != nil {
			return 0, err
		}
		nearest := make([]float32, set.Train.Len()*e.Prototypes.Rows)
		codes := learn.Codes(e, set.Train.X)
		for i := range codes.Rows {
			best, at := math.Inf(1), 0
			for j := range e.Prototypes.Rows {
				d := 0.0
				for k, v := range row(codes, i) {
					d += float64(v-row(e.Prototypes, j)[k]) * float64(v-row(e.Prototypes, j)[k])
				}
				if d < best {
					best, at = d, j
				}
			}
			nearest[i*e.Prototypes.Rows+at] = 1
		}
		const surely = 50 // an epsilon at which a class is told as it is
		learned, err := learn.ByPrototypes(seeded.New(c.Seed, forExact), e.Prototypes, nearest, set.Train.Y, surely, len(set.Classes), func(string, int, int) {})
		if err != nil {
			return 0, err
		}
		class = func(record []float32) int {
			return learned.Classes(learn.Codes(e, blas32.General{Rows: 1, Cols: len(record), Stride: len(record), Data: record}))[0]
		}
	}
	right := 0
	for i, y := range set.Test.Y {
		if class(row(set.Test.X, i)) == y {
			right++
		}
	}
	return float64(right) / float64(len(set.Test.Y)), nil
}

const forExact = 8 // a stream of randomness

// asked returns the section that the state is for, but for the classes.
func (c Records) asked() (plan.Latent, error) {
	if c.Vector == nil {
		f, err := cluster.ParseFinder(c.State)
		if err != nil {
			return plan.Latent{}, err
		}
		return plan.Latent{Features: f.Inputs, Report: plan.LatentSymbols, Clusters: len(f.Sizes)}, nil
	}
	e, err := device.ParseEncoder(c.State)
	if err != nil {
		return plan.Latent{}, err
	}
	z := *c.Vector
	if z.Dim = e.Dim(); z.Mechanism == plan.LatentLaplace {
		z.Length = e.Length
	}
	return plan.Latent{Features: e.Inputs(), Report: plan.LatentVector, Vector: &z}, nil
}
