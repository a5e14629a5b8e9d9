package ldc

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/labeldp"
	"github.com/confetti-dp/confetti/release"
)

const (
	runs          = 5    // the paper's
	paperClusters = 100  // LDC, section 7
	guess         = 0.03 // at phi, from nothing private
	sweepEpsilon  = 0.5  // of the last panel of Figure 1
)

// clustered is ClusterRR with the public guess at phi.
func clustered(epsilon float64, clusters int, constants string) experiments.Labels {
	return experiments.Labels{Method: experiments.ClusterRR, Epsilon: epsilon, Clusters: clusters, Heterogeneity: guess, Constants: constants}
}

// cells returns those of a spec: what is measured at each of some numbers, five times, as the paper does.
func cells(of func(at float64) []experiments.Labels, at ...float64) func(experiments.Options, string) []experiments.Cell {
	return func(o experiments.Options, _ string) (all []experiments.Cell) {
		for _, x := range o.Some(at...) {
			for _, l := range of(x) {
				all = append(all, experiments.Cell{Labels: l, Runs: runs})
			}
		}
		return all
	}
}

// against are ways in which one digit is told from all others: 3, since the paper does not say.
func against(ways ...experiments.Labels) []experiments.Labels {
	for i := range ways {
		ways[i].Against = 4 // the fourth class
	}
	return ways
}

// few is a fifth of CIFAR-10.
const few = "cifar10_subset"

// sets are the paper's, of the third a fifth.
var sets = []string{"mnist", "fashion-mnist", few}

// Specs returns the measurements, in the order of the paper.
func Specs() []experiments.Spec {
	return []experiments.Spec{
		{
			Name: "ldc-figure1", Datasets: sets, Title: "Private labels, public features", Kind: Kind, Sections: overEpsilon,
			Paper: "LDC, Figure 1, without its last panel: accuracy over that without privacy, against the total epsilon for one label, of logistic regression on 50 principal components of pixels. ClusterRR and DP-SGD are a curator's; UniformRR, RR with the likelihood of each report, and LP-2ST are each device's own. The paper prints no numbers in it. ClusterRR's totals are three times its parameter with the noise that a label needs, and twice as printed, which is no guarantee. The printed threshold, phi of the private labels, is above one over the number of classes, so that there is no such mechanism: here it is a public 0.03.",
			Of: cells(func(e float64) []experiments.Labels {
				all := []experiments.Labels{clustered(e, paperClusters, ""), clustered(e, paperClusters, "paper")}
				for _, method := range []string{experiments.UniformRR, experiments.LikelihoodRR, experiments.TwoStages, experiments.DPSGD} {
					all = append(all, experiments.Labels{Method: method, Epsilon: e})
				}
				return all
			}, 0.1, 0.25, 0.5, 1, 2, 4),
		},
		{
			Name: "ldc-clusters", Datasets: sets[:2], Title: "How many clusters", Kind: Kind, Sections: overClusters,
			Paper: "LDC, the last panel of Figure 1: ClusterRR at a total epsilon of 0.5 by the number of clusters. Few are not alike, and in many the noise is felt. Beside it how alike labels are (phi), from the labels themselves and privately, and how far noisy shares are off (psi) beside Lemma 5.",
			Of: cells(func(j float64) []experiments.Labels {
				return []experiments.Labels{clustered(sweepEpsilon, int(j), "")}
			}, 5, 10, 20, 50, 100, 200, 500, 1000, 2000),
		},
		{
			Name: "ldc-figure2", Datasets: sets[:1], Title: "One digit against all others", Kind: Kind, Sections: overEpsilon,
			Paper: "LDC, Figure 2: ClusterRR and LP-2ST where one digit is told from all others. The paper does not say which; here it is 3. LP-2ST expects one label of most and asks for no other.",
			Of: cells(func(e float64) []experiments.Labels {
				return against(clustered(e, paperClusters, ""), experiments.Labels{Method: experiments.TwoStages, Epsilon: e}, experiments.Labels{Method: experiments.UniformRR, Epsilon: e})
			}, 0.1, 0.25, 0.5, 1, 2, 4),
		},
		{
			Name: "ldc-peers", Datasets: sets[:1], Title: "Labels among peers", Kind: Kind, Sections: amongPeers,
			Paper: "LDC, section 5 at the size of its experiments: Algorithm 2 in 100 clusters where the digit 3 is told from all others, with the flips that the exact law needs, beside Lemma 9 as it is printed. A neighbour sees one flipped label, and the cluster does not hide it. Theorem 3 has no flip for clusters of less than some eleven thousand.",
			Of: cells(func(e float64) []experiments.Labels {
				return against(experiments.Labels{Method: experiments.PeerToPeer, Epsilon: e, Clusters: paperClusters})
			}, 0.1, 0.25, 0.5, 1),
		},
		{
			Name: "ldc-features", Datasets: sets[:2], Title: "Pixels as they come, and our features", Kind: Kind, Sections: overEpsilon,
			Paper: "LDC, Figure 1, on the features that it is printed of, all pixels, and on ours: 351 principal components of oriented gradients. Clusters and models see the same.",
			Of: cells(func(e float64) (all []experiments.Labels) {
				for _, features := range experiments.LabelFeatures {
					for _, l := range []experiments.Labels{clustered(e, paperClusters, ""), {Method: experiments.UniformRR, Epsilon: e}, {Method: experiments.TwoStages, Epsilon: e}, {Method: experiments.DPSGD, Epsilon: e}} {
						l.Features = features
						all = append(all, l)
					}
				}
				return all
			}, 0.1, 0.25, 0.5, 1, 2, 4),
		},
		{
			Name: "ldc-table1", Datasets: sets[:2], Title: "Excess risk, and what the rates say", Kind: Kind, Sections: rates,
			Paper: "LDC, Table 1 at these data sets' size: its rates without their constants, with the dimension of the logistic model and the phi that was measured, beside the errors that are made more than without privacy. Rates order mechanisms; they are not errors.",
			Of: cells(func(e float64) []experiments.Labels {
				return []experiments.Labels{clustered(e, paperClusters, ""), {Method: experiments.UniformRR, Epsilon: e}}
			}, 0.25, 0.5, 1, 2),
		},
	}
}

// way returns what a line of a figure is of.
func way(m experiments.Measured) string {
	l := m.Cell.Labels
	names := map[string]string{
		experiments.ClusterRR: "ClusterRR (a curator)", experiments.UniformRR: "UniformRR (local)", experiments.LikelihoodRR: "RR, likelihood (local)",
		experiments.TwoStages: "LP-2ST (local)", experiments.DPSGD: "DP-SGD (a curator)", experiments.PeerToPeer: "peer to peer", experiments.NoPrivacy: "no privacy",
	}
	switch {
	case l.Constants == "paper":
		return "ClusterRR as printed (no guarantee)"
	case l.Features != "":
		return names[l.Method] + ", " + l.Features
	}
	return names[l.Method]
}

// accuracies returns the table of all cells.
func accuracies(cells []experiments.Measured) (release.Table, string) {
	t := release.Table{
		Title:   "Accuracy of the model on test records",
		Columns: []release.Column{{Title: "labels"}, {Title: "epsilon, total"}, {Title: "accuracy", Unit: release.Share}, {Title: "without privacy", Unit: release.Share}, {Title: "trust"}, {Title: "as printed"}, {Title: "seconds"}},
		Note:    "Every epsilon is for one label exchanged for any other; features are public. A curator sees all labels; local is what holds though everybody colludes. \"As printed\" is the epsilon that LDC's constants give the same mechanism, and no guarantee.",
	}
	gaps := ""
	for _, m := range cells {
		if m.Result == nil {
			gaps += fmt.Sprintf("No %s: %s. ", m.Cell.Labels, m.Reason)
			continue
		}
		got, printed := m.Result.Learned, release.Text("–")
		if got.EpsilonPrinted != nil {
			printed = release.Number(*got.EpsilonPrinted, 0)
		}
		t.Rows = append(t.Rows, []release.Cell{
			release.Text(way(m)), release.Number(m.Cell.Labels.Epsilon, 0), release.Number(got.Accuracy, got.AccuracyStd), release.Number(got.AccuracyNoPrivacy, 0),
			release.Text(m.Result.Trust), printed, release.Number(m.Result.Seconds, 0),
		})
	}
	return t, gaps
}

// figure draws accuracies over those without privacy, a line for each group.
func figure(name, title, set string, x release.Axis, cells []experiments.Measured, at func(experiments.Measured) float64) release.Figure {
	f := release.Figure{
		Name: name + "-" + set, Title: title, Kind: release.Lines, X: x, Y: release.Axis{Title: "accuracy over that without privacy"},
		Alt: fmt.Sprintf("Accuracy on %s over that without privacy, against the %s, a line for each mechanism.", set, x.Title),
	}
	names, of := experiments.Split(cells, way)
	for _, name := range names {
		line := release.Series{Title: name}
		for _, m := range of[name] {
			if m.Result == nil || !(at(m) > 0) { // the axis is logarithmic
				continue
			}
			got := m.Result.Learned
			y, spread := got.Accuracy/got.AccuracyNoPrivacy, got.AccuracyStd/got.AccuracyNoPrivacy
			line.X, line.Y = append(line.X, at(m)), append(line.Y, y)
			line.Low, line.High = append(line.Low, y-spread), append(line.High, y+spread)
		}
		if len(line.X) > 0 {
			f.Series = append(f.Series, line)
		}
	}
	return f
}

func overEpsilon(s experiments.Spec, all []experiments.Measured) []release.Section {
	return experiments.PerDataset(all, func(set string, cells []experiments.Measured) release.Section {
		t, gaps := accuracies(cells)
		sec := release.Section{Text: gaps, Tables: []release.Table{t}, Figures: []release.Figure{
			figure(s.Name, s.Title+": "+set, set, release.Axis{Title: "total label epsilon", Log: true}, cells, func(m experiments.Measured) float64 { return m.Cell.Labels.Epsilon }),
		}}
		if p := positions(cells); len(p.Rows) > 0 {
			sec.Tables = append(sec.Tables, p)
		}
		return sec
	})
}

// positions returns the epsilons of DP-SGD by where a record stands.
func positions(cells []experiments.Measured) release.Table {
	t := release.Table{
		Title:   "DP-SGD with amplification by iteration",
		Columns: []release.Column{{Title: "epsilon of all"}, {Title: "of the first half"}, {Title: "of the first 90 %"}, {Title: "of the first 99 %"}},
		Note:    "Batches come in one order, and the noise of later ones hides earlier records better. Only the first column holds for everybody.",
	}
	for _, m := range cells {
		if m.Result == nil || m.Result.Epsilon == nil || len(m.Result.Learned.Positions) == 0 {
			continue
		}
		row := []release.Cell{release.Number(*m.Result.Epsilon, 0)}
		for _, p := range m.Result.Learned.Positions {
			row = append(row, release.Number(p.Epsilon, 0))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func overClusters(s experiments.Spec, all []experiments.Measured) []release.Section {
	return experiments.PerDataset(all, func(set string, cells []experiments.Measured) release.Section {
		t := release.Table{
			Title: "ClusterRR by the number of clusters", Columns: []release.Column{{Title: "clusters"}, {Title: "smallest", Unit: release.Count}, {Title: "accuracy", Unit: release.Share},
				{Title: "phi"}, {Title: "phi, privately"}, {Title: "psi"}, {Title: "psi, Lemma 5"}},
			Note: "Phi is of the labels themselves, which no release has; privately it takes an epsilon of 0.1 beside the total. Psi is from the same noisy counts.",
		}
		for _, m := range cells {
			if m.Result == nil || m.Result.Learned.Clusters == nil {
				continue
			}
			got, c := m.Result.Learned, m.Result.Learned.Clusters
			t.Rows = append(t.Rows, []release.Cell{
				release.Number(float64(c.Number), 0), release.Number(float64(c.Smallest), 0), release.Number(got.Accuracy, got.AccuracyStd),
				release.Number(c.Phi, 0), release.Number(c.PhiPrivate.Value, c.PhiPrivate.StdErr), release.Number(c.Psi.Value, c.Psi.StdErr), release.Number(c.PsiAtMost, 0),
			})
		}
		return release.Section{Tables: []release.Table{t}, Figures: []release.Figure{
			figure(s.Name, s.Title+": "+set, set, release.Axis{Title: "clusters", Log: true}, cells, func(m experiments.Measured) float64 { return float64(m.Cell.Labels.Clusters) }),
		}}
	})
}

// amongPeers has what each observer may learn.
func amongPeers(s experiments.Spec, all []experiments.Measured) []release.Section {
	return experiments.PerDataset(all, func(set string, cells []experiments.Measured) release.Section {
		t := release.Table{
			Title: "Peer to peer", Columns: []release.Column{{Title: "epsilon, learner"}, {Title: "delta"}, {Title: "flip"}, {Title: "epsilon, neighbour"}, {Title: "Lemma 9"}, {Title: "smallest cluster", Unit: release.Count},
				{Title: "accuracy", Unit: release.Share}, {Title: "without privacy", Unit: release.Share}},
			Note: "The learner's epsilon holds while no peer tells it what was asked or answered; the neighbour's, with delta 0, whoever colludes. Lemma 9 is the printed formula at the same flip and delta, inside its domain or not.",
		}
		for _, m := range cells {
			if m.Result == nil || m.Result.Learned.Flip == 0 {
				continue
			}
			r, got, lemma := m.Result, m.Result.Learned, release.Text("–")
			if got.EpsilonPrinted != nil {
				lemma = release.Number(*got.EpsilonPrinted, 0)
			}
			t.Rows = append(t.Rows, []release.Cell{
				release.Number(*r.Epsilon, 0), release.Number(r.Delta, 0), release.Number(got.Flip, 0), release.Number(*r.EpsilonLocal, 0), lemma, release.Number(float64(got.SmallestCluster), 0),
				release.Number(got.Accuracy, got.AccuracyStd), release.Number(got.AccuracyNoPrivacy, 0),
			})
		}
		return release.Section{Tables: []release.Table{t}, Figures: []release.Figure{
			figure(s.Name, s.Title+": "+set, set, release.Axis{Title: "total label epsilon", Log: true}, cells, func(m experiments.Measured) float64 { return m.Cell.Labels.Epsilon }),
		}}
	})
}

// rates returns those of Table 1, without constants and logarithms.
func rates(_ experiments.Spec, all []experiments.Measured) []release.Section {
	return append(experiments.PerDataset(all, func(_ string, cells []experiments.Measured) release.Section {
		t := release.Table{
			Title:   "Excess risk",
			Columns: []release.Column{{Title: "labels"}, {Title: "epsilon, total"}, {Title: "rate"}, {Title: "at a third of epsilon"}, {Title: "of which stays"}, {Title: "without privacy"}, {Title: "more errors", Unit: release.Share}},
			Note:    "The rate of ClusterRR is K sqrt(d/n) + K^2 phi/(1 + (e^eps-1) phi), whose second part stays however many labels there are, at the whole epsilon and at the third of it that its total leaves as its parameter; UniformRR's K/eps sqrt(d/n) (Corollary 1) is for eps below one.",
		}
		for _, m := range cells {
			if m.Result == nil {
				continue
			}
			l, got := m.Cell.Labels, m.Result.Learned
			rate, stays, base := Rate(m, l.Epsilon)
			third := release.Text("–")
			if l.Method == experiments.ClusterRR {
				at, _, _ := Rate(m, l.Epsilon/3)
				third = release.Number(at, 0)
			}
			t.Rows = append(t.Rows, []release.Cell{
				release.Text(way(m)), release.Number(l.Epsilon, 0), release.Number(rate, 0), third, release.Number(stays, 0), release.Number(base, 0), release.Number(got.AccuracyNoPrivacy-got.Accuracy, got.AccuracyStd),
			})
		}
		return release.Section{Tables: []release.Table{t}}
	}), association())
}

// Rate returns what Table 1 says of a cell at its data set's size and at an epsilon, without constants and logarithms: the
// rate, what of it stays however many labels there are, and the rate without privacy.
func Rate(m experiments.Measured, epsilon float64) (rate, stays, base float64) {
	const classes, dimension = 10, 10 * (components + 1)
	base = math.Sqrt(dimension / float64(m.Result.Users))
	if c := m.Result.Learned.Clusters; c != nil {
		stays = classes * classes * c.Phi / (1 + math.Expm1(epsilon)*c.Phi)
		return classes*base + stays, stays, base
	}
	return classes / epsilon * base, 0, base
}

// PeersRate returns that of peers who exchange two labels, in clusters of so large a phi.
func PeersRate(users int, epsilon, phi float64) float64 {
	const dimension = components + 1
	return math.Sqrt(dimension/(epsilon*float64(users))) + phi
}

// association is Theorem 5 in numbers: the best threshold of noisy counts, and what any mechanism
// reaches at most.
func association() release.Section {
	const classes = 1000
	t := release.Table{
		Title:   "Which labels occur in a cluster, of a thousand classes",
		Columns: []release.Column{{Title: "epsilon"}, {Title: "examples in a cluster", Unit: release.Count}, {Title: "precision times recall of noisy counts"}, {Title: "at most, for any mechanism"}},
		Note:    "Each example of a cluster has another class (LDC, Definition 2). Where clusters hold few examples beside the number of classes, no mechanism tells which.",
	}
	for _, epsilon := range []float64{0.5, 1, 2} {
		for _, size := range []int{1, 10, 100} {
			best := 0.0
			for threshold := -20; threshold <= 60; threshold++ {
				if precision, recall, err := labeldp.LabelAssociation(classes, size, epsilon, threshold); err == nil {
					best = math.Max(best, precision*recall)
				}
			}
			bound := math.Min(1, labeldp.LabelAssociationBound(classes, size, epsilon))
			t.Rows = append(t.Rows, []release.Cell{release.Number(epsilon, 0), release.Number(float64(size), 0), release.Number(best, 0), release.Number(bound, 0)})
		}
	}
	return release.Section{Title: "The lower bound", Tables: []release.Table{t}}
}
