package ltn

import "github.com/confetti-dp/confetti/internal/dataset"

// novel tells a class that no public record has from all others: two groups, whose members know
// which they are in, say their cluster and nothing else, and a record is of the new class if its
// cluster is commoner there. The new class is the set's last one. Which plan somebody answers is seen
// by whoever takes the answers: the promise is of the features, and not of the class.
func (t *task) novel() (Result, error) {
	class := t.classes - 1
	first, rest := t.split()
	var public []int
	var group [2][]int // of the other classes, and of the new one
	for _, i := range first {
		if t.labels[i] != class {
			public = append(public, i)
		} else {
			group[1] = append(group[1], i)
		}
	}
	for _, i := range rest {
		if t.labels[i] == class {
			group[1] = append(group[1], i)
		} else {
			group[0] = append(group[0], i)
		}
	}
	size := min(len(group[0]), len(group[1]))
	res := Result{Cell: t.Cell, Respondents: 2 * size, Public: len(public)}
	if res.Clusters == 0 {
		res.Clusters = clusters(size, 1, t.Epsilon)
	}
	x := dataset.Rows(t.train, public)
	g, err := t.means(x, res.Clusters, 40)
	if err != nil {
		return res, err
	}
	var found [2][]float64
	p := res.Plan
	for k, members := range group {
		holders := make([]int, res.Clusters)
		for _, c := range g.all(dataset.Rows(t.train, members[:size])) {
			holders[c]++
		}
		numbers, asked, err := t.ask(holders, uint64(k))
		if err != nil {
			return res, err
		}
		found[k], p = numbers, &asked
	}
	res.AccuracyClean, res.Purity = t.tells(g, found, class), t.purity(g.all(x), public, res.Clusters)
	return t.finish(res, *p, 2), nil
}

// tells is how often the larger number is right, of records of the class and of the others, both
// alike.
func (t *task) tells(g *groups, found [2][]float64, class int) float64 {
	var right, all [2]float64
	for i, c := range g.all(t.test) {
		is, says := 0, 0
		if t.truths[i] == class {
			is = 1
		}
		if found[1][c] > found[0][c] {
			says = 1
		}
		all[is]++
		if is == says {
			right[is]++
		}
	}
	return (right[0]/all[0] + right[1]/all[1]) / 2
}
