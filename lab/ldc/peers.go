package ldc

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/theorems"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/labeldp"
	"github.com/confetti-dp/confetti/lab/literature"
)

// peerToPeer is LDC, Algorithm 2, in which everybody passes a label on: flips are those that the
// smallest cluster needs by the exact law, and every other size is held to it. Delta is one over
// the square of the smallest, as in Theorem 3, unless another is given.
func peerToPeer(t *task, l experiments.Labels, run int, res *experiments.Result) (float64, error) {
	if t.classes != 2 {
		return 0, &inadmissible{errors.New("peers exchange two labels: tell one class from all others")}
	}
	of, err := t.in(l.Clusters, run)
	if err != nil {
		return 0, err
	}
	sizes := make([]int, slices.Max(of)+1)
	for _, c := range of {
		sizes[c]++
	}
	slices.Sort(sizes)
	delta := cmp.Or(l.Delta, 1/float64(sizes[0]*sizes[0]))
	e, err := labeldp.CalibratePeers(sizes[0], sizes[0], l.Epsilon, delta)
	if err != nil {
		return 0, &inadmissible{err}
	}
	for _, n := range slices.Compact(slices.Clone(sizes)) {
		g, err := account.Delta(labeldp.Peers{Users: n, Answers: n, Flip: e.Flip}, l.Epsilon)
		if err != nil {
			return 0, &inadmissible{err}
		}
		if g.Delta > delta {
			return 0, errors.New("ldc: a larger cluster hides a label less than the smallest")
		}
	}
	if run == 0 {
		if err := promisePeers(e, delta, len(of), res); err != nil {
			return 0, err
		}
	}
	who, passed := labeldp.Exchange{Flip: e.Flip, Share: 1}.Run(seeded.New(t.seed, forNoise, uint64(run)), t.labels, of)
	part := *t
	part.train = dataset.Rows(t.train, who)
	_, accuracy, err := part.learn(training.OneHot(passed, 2), entropy, run)
	return accuracy, err
}

// promisePeers states what the learner may learn, what a neighbour sees, and what the paper says.
func promisePeers(e labeldp.Peers, delta float64, users int, res *experiments.Result) error {
	g, err := account.Epsilon(e, delta)
	if err != nil {
		return err
	}
	neighbour, err := e.Neighbour()
	if err != nil {
		return err
	}
	res.Promised = measure.PromisedBy(g)
	res.EpsilonLocal, res.Users = &neighbour.Epsilon, users
	printed, err := literature.PeerToPeer(e.Users, 1, e.Flip, delta)
	if outside, ok := errors.AsType[*theorems.DomainError](err); ok {
		printed.Epsilon = outside.Formula
	} else if err != nil {
		return err
	}
	if !math.IsNaN(printed.Epsilon) {
		res.Learned.EpsilonPrinted = &printed.Epsilon
	}
	res.Learned.Flip, res.Learned.SmallestCluster = e.Flip, e.Users
	return nil
}
