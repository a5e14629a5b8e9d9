package results

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// teachNovel learns to tell a class, or a group, that no public record is of. All others lie as the public records do that
// the state was made of, whose shares are known without noise. The class counts as much as all others do.
func teachNovel(m *latent.Model, groups []string, public blas32.General, name string, r *rand.Rand, tell func(stage string, done, total int)) (t Taught, err error) {
	names := slices.Concat(m.Asked.Classes, groups) // a plan has one of these
	at := slices.Index(names, name)
	switch {
	case m.Asked.Report == plan.LatentRight || m.Numbered != nil:
		return t, errors.New("the release has no classes or groups in one place each: --novel is of symbols, or of vectors of groups")
	case public.Cols != m.Asked.Features:
		return t, fmt.Errorf("public records of %d numbers, and the plan has %d: give the columns that clusters or encoder were made of, in their order (--features, --drop)", public.Cols, m.Asked.Features)
	case at < 0:
		return t, fmt.Errorf("the plan has no class or group %q", name)
	case m.Vectors != nil && len(m.Asked.Classes) > 0:
		return t, errors.New("of vectors with classes each class is told apart, the one without public records too: leave out --novel")
	}
	t.Classes = []string{"others", name}
	if len(names) == 2 {
		t.Classes[0] = names[1-at]
	}
	if m.Vectors != nil {
		t.Shares, err = novelVectors(m, public, at, r, tell)
		return t, err
	}
	t.Shares, err = novelSymbols(m, public, at)
	return t, err
}

// novelVectors learns from the reports of the group, and in the place of all others from as many prototypes.
func novelVectors(m *latent.Model, public blas32.General, at int, r *rand.Rand, tell func(stage string, done, total int)) ([]float32, error) {
	e := m.Vectors.Encoder
	var bodies [][]byte
	for _, report := range m.Vectors.Reports {
		if report.Crowd == at {
			bodies = append(bodies, report.Vector)
		}
	}
	if len(bodies) == 0 {
		return nil, errors.New("the group was withheld, or nobody is in it")
	}
	weights, told, ends, all := learn.Reported(e, m.Vectors.How.Vector, bodies), make([]int, 2*len(bodies)), make([]int, len(e.Sizes)), 0
	for j, n := range e.Sizes {
		all += n
		ends[j] = all
	}
	for i := range bodies {
		told[i] = 1
		one := make([]float32, len(e.Sizes))
		j, _ := slices.BinarySearch(ends, 1+r.IntN(all))
		one[j] = 1
		weights = append(weights, one...)
	}
	c, err := learn.ByPrototypes(r, e.Prototypes, weights, told, surely, 2, tell)
	if err != nil {
		return nil, err
	}
	return c.Shares(learn.Codes(e, public)), nil
}

// novelSymbols compares where those of the class lie with where public records do, in the cluster of each record.
func novelSymbols(m *latent.Model, public blas32.General, at int) ([]float32, error) {
	others := m.Shares()
	if slices.Max(others) == 0 {
		return nil, errors.New("how many public records lie in each cluster is not known: --novel needs clusters that were made of public records")
	}
	held, err := holders(m, at)
	if err != nil {
		return nil, err
	}
	f := m.Finder
	out := make([]float32, 0, 2*public.Rows)
	for i := range public.Rows {
		own, ok := f.Find(public.Data[i*public.Stride:][:public.Cols])
		if !ok {
			return nil, fmt.Errorf("public record %d lies in no cluster: its numbers are too large", i+1)
		}
		share := 0.5 // where nobody lies
		if all := held[own] + others[own]; all > 0 {
			share = held[own] / all
		}
		out = append(out, float32(1-share), float32(share))
	}
	return out, nil
}

// holders returns the shares of those of a class, or of a group, that lie in each cluster: the likeliest ones, nowhere below
// zero.
func holders(m *latent.Model, at int) ([]float64, error) {
	table, step, first := 0, max(1, len(m.Asked.Classes)), at
	if len(m.Asked.Classes) == 0 {
		if table = slices.IndexFunc(m.Counts.Tables, func(t *histogram.Table) bool { return t.Crowd == at }); table < 0 {
			return nil, errors.New("the group was withheld, or nobody is in it")
		}
		first = 0
	}
	alike, all := make([]estimate.Value, m.Asked.Clusters), 0.0
	for c := range alike {
		alike[c] = estimate.Value{Mean: m.Counts.Tables[table].Values[c*step+first].Mean, StdErr: 1}
		all += alike[c].Mean
	}
	if !(all > 0) {
		return nil, errors.New("the noise is larger than the class: nothing tells it apart")
	}
	held, err := estimate.Project(alike, all)
	for c := range held {
		held[c] /= all
	}
	return held, err
}
