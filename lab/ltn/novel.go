package ltn

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/lab/kmeans"
	"github.com/confetti-dp/confetti/lab/train/cluster"
	"github.com/confetti-dp/confetti/question/histogram"
)

// directionsOfNovel are the principal directions in which clusters for a novel class are found.
const directionsOfNovel = 40

// softness of a novel class's clusters: a record counts to each by exp(-d/(2 softness v)), where d is
// the squared distance of its centre and v what is usual of public records in each direction. It was
// chosen on Fashion-MNIST, each of whose classes was the novel one in turn.
const softness = 2

// novel tells a class that no public record has from all others: two groups, whose members know
// which they are in, say their cluster, or a vector, and nothing else. The new class is the set's
// last one. Which group somebody is in is seen by whoever takes the answers: the promise is of the
// features, and not of the class.
func (t *task) novel() (Result, error) {
	public, group := t.groups()
	size := len(group[0])
	if t.Clusters == 0 {
		t.Clusters = kmeans.ForSymbols(size, 1, t.Epsilon)
	}
	res := Result{Cell: t.Cell, Respondents: 2 * size, Public: len(public)}
	x := dataset.Rows(t.train, public)
	g, err := t.means(x, t.Clusters, directionsOfNovel)
	if err != nil {
		return res, err
	}
	m, p, err := t.ask(g, nil, groupNames, size, t.members(group))
	if err != nil {
		return res, err
	}
	if res.AccuracyClean, err = t.tells(g, x, m.Shares(), m.Counts.Tables[1]); err != nil {
		return res, err
	}
	res.Purity = t.purity(g.all(x), public)
	return t.finish(res, p, 2), nil
}

var groupNames = []string{"others", "new"}

// groups returns the public records, none of them of the last class, and as many respondents of other
// classes and of that one.
func (t *task) groups() (public []int, group [2][]int) {
	class := len(t.set.Classes) - 1
	first, rest := t.split()
	for _, i := range first {
		if t.set.Train.Y[i] != class {
			public = append(public, i)
		} else {
			group[1] = append(group[1], i)
		}
	}
	for _, i := range rest {
		if t.set.Train.Y[i] == class {
			group[1] = append(group[1], i)
		} else {
			group[0] = append(group[0], i)
		}
	}
	size := min(len(group[0]), len(group[1]))
	return public, [2][]int{group[0][:size], group[1][:size]}
}

// members have records alone, in the crowd of their group.
func (t *task) members(group [2][]int) (who distribution.Values) {
	for k, of := range group {
		for _, i := range of {
			who = append(who, t.record(i, k, 0))
		}
	}
	return who
}

// tells returns how often it is right that a record is of the new class where that is commoner, in the
// clusters about it, than public records are: all others lie in clusters as these do, whose shares are
// known without noise. Records of the class count as much as the others.
func (t *task) tells(g *clusters, public blas32.General, shares []float64, of *histogram.Table) (float64, error) {
	directions, y, err := cluster.Directions(public, min(directionsOfNovel, public.Rows, public.Cols))
	if err != nil {
		return 0, err
	}
	centres, test := directions.Project(dataset.Copied(g.centres)), directions.Project(dataset.Copied(t.test))
	within := 0.0
	for i := range y.Rows {
		within += slices.Min(squares(y, i, centres)) / float64(y.Rows*y.Cols)
	}
	said := make([]int, test.Rows)
	for i := range said {
		apart, score := squares(test, i, centres), 0.0
		least := slices.Min(apart)
		for c, d := range apart {
			if shares[c] > 0 {
				near := math.Exp((least - d) / (2 * softness * within))
				score += near * (of.Values[c].Mean/float64(of.Respondents) - shares[c])
			}
		}
		if score > 0 {
			said[i] = 1
		}
	}
	return t.balanced(said), nil
}

// squares returns the squared distances of a row from all centres.
func squares(x blas32.General, i int, centres blas32.General) []float64 {
	out := make([]float64, centres.Rows)
	for c := range out {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			d := float64(v - centres.Data[c*centres.Stride+j])
			out[c] += d * d
		}
	}
	return out
}

// balanced returns how often it is right that a test record is of the last class (1) or of another (0),
// both alike.
func (t *task) balanced(said []int) float64 {
	var right, all [2]float64
	for i, y := range t.set.Test.Y {
		is := 0
		if y == len(t.set.Classes)-1 {
			is = 1
		}
		all[is]++
		if said[i] == is {
			right[is]++
		}
	}
	return (right[0]/all[0] + right[1]/all[1]) / 2
}
