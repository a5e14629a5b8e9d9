package experiments

import (
	"fmt"
	"slices"
)

// Labels is one point of learning from private labels and public features (LDC).
type Labels struct {
	Method  string  `json:"method,omitempty"` // one of LabelMethods
	Epsilon float64 `json:"epsilon,omitempty"`
	// Delta is that of DP-SGD; 0: one over the number of labels.
	Delta float64 `json:"delta,omitempty"`
	// Clusters of the public features, of ClusterRR and of neighbours.
	Clusters int `json:"clusters,omitempty"`
	// Heterogeneity is a public guess at phi.
	Heterogeneity float64 `json:"heterogeneity,omitempty"`
	// Constants are the sound ones, or those that the paper prints.
	Constants string `json:"constants,omitempty"`
	// Against, if above zero: class Against-1 is told from all others, and no more.
	Against int `json:"against,omitempty"`
	// Features that clusters and models see: 50 principal components of pixels if empty, or one of LabelFeatures.
	Features string `json:"features,omitempty"`
}

// LabelFeatures lists the names that Labels.Features takes.
var LabelFeatures = []string{Pixels, OrientedGradients}

const (
	Pixels            = "pixels"    // as they come
	OrientedGradients = "gradients" // 351 principal components of them
)

// LabelMethods are what Labels.Method may be.
var LabelMethods = []string{ClusterRR, UniformRR, LikelihoodRR, TwoStages, DPSGD, PeerToPeer, NoPrivacy}

const (
	ClusterRR    = "cluster-rr"   // LDC, Algorithm 1 and Corollary 2: a curator
	UniformRR    = "uniform-rr"   // LDC, Corollary 1: local
	LikelihoodRR = "rr"           // the same reports, and the likelihood of each: local
	TwoStages    = "lp-2st"       // Ghazi et al. 2021: local, in two rounds
	PeerToPeer   = "peer-to-peer" // LDC, Algorithm 2: two labels, and nobody who holds them all
	DPSGD        = "dp-sgd"       // noisy gradients, with amplification by iteration: a curator
)

func (l Labels) validate(f *faults) {
	f.check(slices.Contains(LabelMethods, l.Method), "method %q: choose one of %v", l.Method, LabelMethods)
	f.check(l.Method == NoPrivacy || l.Epsilon > 0 && l.Epsilon <= 20, "epsilon %v: must be above 0, at most 20", l.Epsilon)
	f.check(l.Delta >= 0 && l.Delta < 1, "delta %v: must be below 1", l.Delta)
	f.check(!l.clustered() || l.Clusters >= 1 && l.Clusters <= 10_000, "%d clusters: %s has 1 to 10000", l.Clusters, l.Method)
	f.check(l.Method != ClusterRR || l.Heterogeneity > 0 && l.Heterogeneity <= 0.5, "heterogeneity %v: must be above 0, at most 0.5", l.Heterogeneity)
	f.check(l.Constants == "" || l.Constants == "sound" || l.Constants == "paper", "constants %q: choose sound or paper", l.Constants)
	f.check(l.Features == "" || slices.Contains(LabelFeatures, l.Features), "features %q: choose one of %v, or none", l.Features, LabelFeatures)
	f.check(l.Against >= 0 && l.Against <= 1000, "class %d against all others: must be one of them", l.Against)
}

// clustered says whether the method works in clusters.
func (l Labels) clustered() bool { return l.Method == ClusterRR || l.Method == PeerToPeer }

// String says what is measured, for progress and for errors.
func (l Labels) String() string {
	s := fmt.Sprintf("%s at %g", l.Method, l.Epsilon)
	if l.clustered() {
		s += fmt.Sprintf(" in %d clusters", l.Clusters)
	}
	if l.Constants == "paper" {
		s += ", constants as printed"
	}
	if l.Features != "" {
		s += ", features: " + l.Features
	}
	return s
}

// Learned is what came of private labels. Numbers are means over runs.
type Learned struct {
	Accuracy          float64 `json:"accuracy"`
	AccuracyStd       float64 `json:"accuracy_std"`        // standard deviation over runs; 0 for one run
	AccuracyNoPrivacy float64 `json:"accuracy_no_privacy"` // of the same model on the labels themselves
	// EpsilonPrinted is what the paper's constants say of the same mechanism; it is no guarantee.
	EpsilonPrinted *float64 `json:"epsilon_printed,omitempty"`
	// Flip is that of labels among peers, and SmallestCluster the cluster that it is for.
	Flip            float64 `json:"flip,omitempty"`
	SmallestCluster int     `json:"smallest_cluster,omitempty"`
	// Clusters are what ClusterRR found of its own, in the first run.
	Clusters *LabelClusters `json:"clusters,omitempty"`
	// Positions are of DP-SGD in a fixed order: the epsilon of records by where they stand.
	Positions []Position `json:"positions,omitempty"`
}

// Position is the epsilon of a record that so large a share of all stand behind or beside.
type Position struct {
	Share   float64 `json:"share"`
	Epsilon float64 `json:"epsilon"`
}

// LabelClusters says how alike the labels of clusters are, and what Algorithm 1 makes of that.
type LabelClusters struct {
	Number   int     `json:"number"`
	Smallest int     `json:"smallest"`
	Phi      float64 `json:"phi"` // of the labels themselves, for the comparison: no release has it
	// PhiPrivate is from counts with noise at PrivateEpsilon, which would add to the total.
	PhiPrivate     Estimate `json:"phi_private"`
	PrivateEpsilon float64  `json:"private_epsilon"`
	Psi            Estimate `json:"psi"`         // from the same noisy counts
	PsiAtMost      float64  `json:"psi_at_most"` // by Lemma 5
}

// Estimate is a number with its standard error.
type Estimate struct {
	Value  float64 `json:"value"`
	StdErr float64 `json:"std_err"`
}
