// Package labeldp implements the mechanisms of "Label differential privacy via clustering" (LDC), which protect
// labels alone. Used by lab/ldc and lab/labels/settle.
//
// Algorithm 1 is a curator's, who holds all labels: no device runs it, and its guarantees say so.
package labeldp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/resample"
)

// Constants say which accounting a guarantee follows.
type Constants string

const (
	// Sound: a label that is exchanged moves two counts of its cluster.
	Sound Constants = "sound"
	// Paper: as printed in LDC, Theorem 1, which counts one of them. It is no guarantee.
	Paper Constants = "paper"
)

// slack is far above what roundings make of a probability, in parts of an epsilon.
const slack = 1e-9

// Curator is Algorithm 1 of LDC: label counts of each cluster with Laplace noise, kept away
// from zero; then each label is exchanged for a draw of its cluster's with some probability.
type Curator struct {
	Classes   int     // K, >= 2
	Threshold float64 // tau, in (0, 1/K]: what a noisy share is at least
	Scale     float64 // sigma, of the noise of a count, > 0; infinite: counts are not looked at
	Resample  float64 // lambda, in (0, 1]: how often a label is drawn anew
	Correct   float64 // beta, in [0, 1): how far the loss takes that back
}

// Validate says what is wrong with the parameters. With a threshold above 1/K shares cannot
// add up to one (Theorem 6 needs that).
func (c Curator) Validate() error {
	switch {
	case !(c.Scale > 0):
		return fmt.Errorf("labeldp: scale %v: give a number above 0", c.Scale)
	case !(c.Correct >= 0 && c.Correct < 1):
		return fmt.Errorf("labeldp: correction %v: give a number in [0, 1)", c.Correct)
	}
	return c.resampled().Validate()
}

// Uniform is UniformRR (Corollary 1): a uniform label with probability K/(K-1+e^epsilon), taken
// back entirely by the loss. It looks at no counts, so that every device can do it alone.
func Uniform(classes int, epsilon float64) Curator {
	k := float64(classes)
	epsilon /= 1 + 2*slack
	lambda := k / (k + math.Expm1(epsilon))
	return Curator{Classes: classes, Threshold: 1 / k, Scale: math.Inf(1), Resample: lambda, Correct: lambda}
}

// Clustered is ClusterRR (Corollary 2) with a total of epsilon: its parts are a third of that
// each (half, as printed). Heterogeneity is phi, which is a property of private labels: it is
// a guess from public knowledge, or paid for elsewhere.
func Clustered(classes int, epsilon, heterogeneity float64, by Constants) Curator {
	part := epsilon / (1 + 2*slack) / 3
	if by == Paper {
		part = epsilon / 2
	}
	return Curator{Classes: classes, Threshold: heterogeneity, Scale: 1 / part, Resample: resample.At(classes, part, heterogeneity).Resample}
}

// Parts returns the epsilons of the two steps: the counts, and the labels that are drawn anew. With
// the sound constants they are rounded up.
func (c Curator) Parts(by Constants) (counts, labels float64) {
	moved := 2.0
	if by == Paper {
		moved = 1
	}
	if !math.IsInf(c.Scale, 1) {
		counts = moved / c.Scale
	}
	labels = c.resampled().Epsilon()
	if by != Paper {
		counts, labels = counts*(1+slack), labels*(1+slack)
	}
	return counts, labels
}

// Guarantee returns what Algorithm 1 promises (Theorem 1), among so many labels.
func (c Curator) Guarantee(users int, by Constants) (account.Guarantee, error) {
	if err := c.Validate(); err != nil {
		return account.Guarantee{}, err
	}
	g := account.Guarantee{
		Adjacency: account.Label, Trust: account.Central, Users: users, Rounds: 1, Bound: account.Upper,
		Method: "counts with discrete Laplace noise, of which a label moves two, and resampling", Source: "LDC, Theorem 1, with 2/sigma",
	}
	if by == Paper {
		g.Method, g.Source = "as printed: the noise of one count where a label moves two; no guarantee", "LDC, Theorem 1"
	}
	if math.IsInf(c.Scale, 1) {
		g.Method, g.Source, g.Trust = "randomized response on every device", "LDC, Corollary 1", account.Local
	}
	counts, labels := c.Parts(by)
	g.Epsilon = profile.AddUp(counts, labels)
	return g, nil
}

// Shares returns the noisy shares of labels in a cluster with these counts (lines 2 to 20). Noise is
// discrete, on counts: a share's is that over the cluster's size, which is public.
func (c Curator) Shares(r *rand.Rand, counts []int) []float64 {
	if len(counts) != c.Classes {
		panic(fmt.Sprintf("labeldp: %d counts of %d classes", len(counts), c.Classes))
	}
	q := make([]float64, c.Classes)
	if math.IsInf(c.Scale, 1) {
		for y := range q {
			q[y] = 1 / float64(c.Classes)
		}
		return q
	}
	size := 0
	for _, n := range counts {
		size += n
	}
	d := noise.DiscreteLaplace{Decay: 1 / c.Scale}
	for y, n := range counts {
		q[y] = float64(n+d.Sample(r)) / float64(max(1, size))
	}
	return c.resampled().Shares(q)
}

// Label returns what becomes of a label in a cluster with noisy shares q (line 24).
func (c Curator) Label(r *rand.Rand, y int, q []float64) int { return c.resampled().Report(r, y, q) }

// Law returns the probability of each report of a label in a cluster with noisy shares q.
func (c Curator) Law(y int, q []float64) []float64 { return c.resampled().Law(y, q) }

// resampled returns the second step, which a shipped command has too.
func (c Curator) resampled() resample.Mechanism {
	return resample.Mechanism{K: c.Classes, Least: c.Threshold, Resample: c.Resample}
}

// Targets returns the weights of the true loss at each class in the modified loss of a reported
// label (line 30): column y of the inverse of (1-beta) I + beta q 1', which is, by Sherman and
// Morrison, (e_y - beta q)/(1-beta). They add up to one, and some are negative.
func (c Curator) Targets(y int, q []float64) []float64 {
	w := make([]float64, len(q))
	for o, p := range q {
		w[o] = -c.Correct * p / (1 - c.Correct)
	}
	w[y] += 1 / (1 - c.Correct)
	return w
}

// Relabel is Algorithm 1 on labels in clusters: the targets of the modified loss for each, a row
// of Classes. Nothing else of the labels leaves.
func (c Curator) Relabel(r *rand.Rand, labels, clusters []int) []float32 {
	counts := make([][]int, slices.Max(clusters)+1)
	for i := range counts {
		counts[i] = make([]int, c.Classes)
	}
	for i, y := range labels {
		counts[clusters[i]][y]++
	}
	shares := make([][]float64, len(counts))
	for i, n := range counts {
		shares[i] = c.Shares(r, n)
	}
	targets := make([]float32, 0, len(labels)*c.Classes)
	for i, y := range labels {
		q := shares[clusters[i]]
		for _, w := range c.Targets(c.Label(r, y, q), q) {
			targets = append(targets, float32(w))
		}
	}
	return targets
}
