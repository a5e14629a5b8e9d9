package labels

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/train/cluster"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/lab/train/labels"
	"github.com/confetti-dp/confetti/plan"
)

// crowds counts labels in public clusters of the respondents' features.
func (t *task) crowds() error {
	j, err := t.chosen()
	if err != nil {
		return err
	}
	s, err := cluster.Means(seeded.New(t.Seed, forClusters), t.x, cluster.Options{Clusters: j, Least: t.x.Rows / (2 * j), Balanced: true}, featuremap.Progress(t.tell))
	if err != nil {
		return err
	}
	t.out.Clusters, t.out.Smallest, t.out.Largest = s.Len(), slices.Min(s.Sizes), slices.Max(s.Sizes)
	of := cluster.All(s, t.x)
	m, err := t.learned(plan.Label{Features: t.x.Cols, Report: plan.LabelClusters, Clusters: s.Len()}, t.out.Smallest, s.Marshal())
	if err != nil {
		return err
	}
	posteriors := make([][]float64, s.Len())
	for _, table := range m.Counts.Tables {
		if posteriors[table.Crowd], err = training.Posterior(table.Values, float64(table.Respondents)); err != nil {
			return err
		}
		t.out.Noise += table.Values[0].StdErr / float64(len(m.Counts.Tables))
	}
	net, err := labels.Usual.InClusters(seeded.New(t.Seed, forTraining), t.scale.Examples(t.x), of, posteriors, len(t.classes), featuremap.Progress(t.tell))
	if err != nil {
		return err
	}
	return t.judge(net)
}

// chosen returns the number of clusters: as many as leave a typical count clear of its noise, which
// a curator's Gaussian gives among those relied upon.
func (t *task) chosen() (int, error) {
	if t.Clusters > 0 {
		return t.Clusters, nil
	}
	noise, _, err := central.CalibrateGaussian(calibrate.Target{Rounds: 1, Epsilon: t.Epsilon, Delta: t.Delta}, math.Sqrt2)
	if err != nil {
		return 0, fmt.Errorf("labels: how many clusters: %w", err)
	}
	return cluster.Choose(t.x.Rows, func(float64) float64 { return noise.Sigma / math.Sqrt(1-dishonest) }), nil
}

// rr reports each label by itself, through randomized response.
func (t *task) rr() error {
	m, err := t.learned(plan.Label{Report: plan.LabelEach, Records: len(t.y)}, len(t.y), nil)
	if err != nil {
		return err
	}
	t.out.Trust = string(account.Local)
	reported := make([]int, len(t.y))
	for _, r := range m.Reports {
		reported[r.Number] = r.Class
	}
	net, err := labels.Usual.OneByOne(seeded.New(t.Seed, forTraining), t.scale.Examples(t.x), reported, m.Epsilon, len(t.classes), featuremap.Progress(t.tell))
	if err != nil {
		return err
	}
	return t.judge(net)
}
