package ltn

import (
	"errors"
	"slices"

	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/learn/fit"
	"github.com/confetti-dp/confetti/learn/labels"
	"github.com/confetti-dp/confetti/learn/net"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/law"
	"github.com/confetti-dp/confetti/simulate"
)

// The rule for how many clusters there are.
const (
	fewest = 20 // fewer tell ten classes badly apart
	most   = 500
	apart  = 6 // standard errors of a typical cell's count
)

// clusters is the largest number, up to most and not below fewest, at which a typical cell of
// symbols in clusters and labels, the n-th part of respondents, is so many standard errors
// above nothing. It rests on public numbers alone.
func clusters(respondents, labels int, epsilon float64) int {
	for j := most; j > fewest; j-- {
		k := j * labels
		m := randomize.SubsetSelection{K: k, W: randomize.SubsetSize(k, epsilon), Epsilon: epsilon}
		typical := float64(respondents) / float64(j)
		if typical*typical >= apart*apart*m.Variance(0, respondents) {
			return j
		}
	}
	return fewest
}

// ask draws what so many holders of each symbol say under a plan of subset selection at the full
// local epsilon, and gives the estimated numbers of holders.
func (t *task) ask(holders []int, stream uint64) ([]float64, plan.Plan, error) {
	n := law.Holders(holders).Respondents()
	p, _, err := experiments.Designed(experiments.Draft(
		plan.Question{Kind: "histogram", Histogram: &plan.Histogram{
			Attributes: []plan.Attribute{{Name: "symbol", Kind: "categories", Size: len(holders)}},
			Randomizer: plan.Randomizer{Name: "subset", Accounting: "exact"},
		}},
		plan.Budget{LocalEpsilon: t.Epsilon, Delta: delta, Adjacency: "replacement"}, n))
	if err != nil {
		return nil, p, err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return nil, p, err
	}
	c, err := simulate.Law(proto, law.Holders(holders), t.Seed<<8|stream, t.tell)
	if err != nil {
		return nil, p, err
	}
	numbers := proto.Estimate(c.Crowds)[0]
	if numbers == nil {
		return nil, p, errors.New("ltn: the crowd was withheld")
	}
	out := make([]float64, len(holders))
	for i := range out {
		out[i] = numbers[i].Mean
	}
	return out, p, nil
}

// decode is the likeliest share of each label in each cluster, given estimated numbers of holders
// of all pairs, whose errors are alike, and the clusters' shares of the public records, which say
// what a cluster holds; nil of a cluster that holds nobody.
func decode(numbers []float64, shares []float64, classes, respondents int) ([][]float64, error) {
	out := make([][]float64, len(shares))
	for c, share := range shares {
		if share == 0 {
			continue
		}
		counts := make([]estimate.Value, classes)
		for y := range counts {
			counts[y] = estimate.Value{Mean: numbers[c*classes+y], StdErr: 1} // alike
		}
		var err error
		if out[c], err = labels.Posterior(counts, share*float64(respondents)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// collection learns classes from one symbol of each respondent.
func (t *task) collection() (Result, error) {
	public, asked := t.split()
	res := Result{Cell: t.Cell, Respondents: len(asked), Public: len(public)}
	if res.Clusters == 0 {
		res.Clusters = clusters(len(asked), t.classes, t.Epsilon)
	}
	x := dataset.Rows(t.train, public)
	g, err := t.groups(x, res.Clusters)
	if err != nil {
		return res, err
	}
	of := g.all(x)
	holders := make([]int, res.Clusters*t.classes)
	for k, c := range g.all(dataset.Rows(t.train, asked)) {
		holders[c*t.classes+t.labels[asked[k]]]++
	}
	numbers, p, err := t.ask(holders, 0)
	if err != nil {
		return res, err
	}
	posteriors, err := decode(numbers, portions(of, res.Clusters), t.classes, len(asked))
	if err != nil {
		return res, err
	}
	m, err := labels.FromClusters(t.stream(forNet), x, of, posteriors, t.classes, fit.Progress(t.tell))
	if err != nil {
		return res, err
	}
	res.AccuracyClean, res.Purity = net.Accuracy(m, t.test, t.truths), t.purity(of, public, res.Clusters)
	return t.finish(res, p, t.classes), nil
}

// portions are the shares of the clusters.
func portions(of []int, clusters int) []float64 {
	out := make([]float64, clusters)
	for _, c := range of {
		out[c] += 1 / float64(len(of))
	}
	return out
}

func (t *task) purity(of, public []int, clusters int) float64 {
	counts := make([]int, clusters*t.classes)
	for k, c := range of {
		counts[c*t.classes+t.labels[public[k]]]++
	}
	right := 0
	for row := range slices.Chunk(counts, t.classes) {
		right += slices.Max(row)
	}
	return float64(right) / float64(len(of))
}
