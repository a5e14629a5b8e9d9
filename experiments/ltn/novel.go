package ltn

import (
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/learn/cluster"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/law"
)

// directionsOfNovel are the principal directions in which clusters for a novel class are found.
const directionsOfNovel = 40

// novel tells a class that no public record has from all others: two groups, whose members know
// which they are in, say their cluster and nothing else, and a record is of the new class if its
// cluster is commoner there. The new class is the set's last one. Which group somebody is in is
// seen by whoever takes the answers: the promise is of the features, and not of the class.
func (t *task) novel() (Result, error) {
	class := len(t.set.Classes) - 1
	first, rest := t.split()
	var public []int
	var group [2][]int // of the other classes, and of the new one
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
	if t.Clusters == 0 {
		t.Clusters = cluster.ForSymbols(size, 1, t.Epsilon)
	}
	res := Result{Cell: t.Cell, Respondents: 2 * size, Public: len(public)}
	x := dataset.Rows(t.train, public)
	g, err := t.means(x, t.Clusters, directionsOfNovel)
	if err != nil {
		return res, err
	}
	var who law.Values
	for k, members := range group {
		for _, i := range members[:size] {
			who = append(who, t.record(i, k, 0))
		}
	}
	m, p, err := t.ask(g, nil, []string{"others", "new"}, size, who)
	if err != nil {
		return res, err
	}
	res.AccuracyClean, res.Purity = t.tells(g, m.Counts.Tables, class), t.purity(g.all(x), public)
	return t.finish(res, p, 2), nil
}

// tells is how often the group in which a record's cluster is commoner is right, of records of
// the class and of the others, both alike.
func (t *task) tells(g *clusters, found []*histogram.Table, class int) float64 {
	var right, all [2]float64
	for i, c := range g.all(t.test) {
		is, says := 0, 0
		if t.set.Test.Y[i] == class {
			is = 1
		}
		if found[1].Values[c].Mean > found[0].Values[c].Mean {
			says = 1
		}
		all[is]++
		if is == says {
			right[is]++
		}
	}
	return (right[0]/all[0] + right[1]/all[1]) / 2
}
