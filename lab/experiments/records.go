package experiments

import (
	"fmt"
	"slices"
)

// Records is one point of learning from records whose features and labels are private, though everyone
// colludes (LTN).
type Records struct {
	Application string  `json:"application,omitempty"` // one of RecordApplications
	Mechanism   string  `json:"mechanism,omitempty"`   // one of RecordMechanisms
	Epsilon     float64 `json:"epsilon,omitempty"`     // local, of all that a respondent says
	// Clusters of symbols; 0: by the rule, from public numbers alone.
	Clusters int `json:"clusters,omitempty"`
	// Level, of vlm, is what classifiers see: one of RecordLevels, or nothing for the first.
	Level string `json:"level,omitempty"`
	// Central, if above zero, is the epsilon (delta 1e-5, a record that counts for nothing in its place) that is kept of what
	// clusters, encoder and network are made of: of symbols all of it is private, of vlm the half that a
	// second stage sees, which trains the encoder, or where rows are joined the decoder alone. PaperStages has both stages of vlm see all, as LTN prints it: nothing is proved.
	Central     float64 `json:"central,omitempty"`
	PaperStages bool    `json:"paper_two_stage,omitempty"`
	// Of vlm, in the place of our settings those of LTN's tables: Dim numbers of the code, its ball, the
	// epsilon of the noise of training (or a scale that is learned), and the vector's part of Epsilon.
	Dim     int     `json:"dim,omitempty"`
	Length  float64 `json:"length,omitempty"`
	Noise   float64 `json:"noise,omitempty"`
	Learned bool    `json:"learned,omitempty"`
	Split   float64 `json:"split,omitempty"`
	// Gaussian noise, of vectors, is in the place of Laplace's. Of pca Dim is how many components there are.
	Gaussian bool `json:"gaussian,omitempty"`
	// Turned is by how many degrees public pictures are, of symbols: those of the respondents are as they are.
	Turned float64 `json:"turned,omitempty"`
}

// What Records may name.
var (
	RecordApplications = []string{Collecting, Novel, Joining}
	RecordMechanisms   = []string{Symbols, VLM, PrivUnit, PCA, Direct}
	RecordLevels       = []string{"latent", FeatureLevel}
)

const (
	Collecting = "collection" // classes, from records with labels
	Novel      = "novel"      // a class that no public record has, from the features of two groups
	Joining    = "joining"    // an outcome, from columns as they are and noisy ones of another party

	Symbols  = "symbols"  // a public cluster and the class, jointly
	VLM      = "vlm"      // the code of a variational encoder, with Laplace noise
	PrivUnit = "privunit" // a direction from a cap about that code
	PCA      = "pca"      // principal components, with Laplace noise
	Direct   = "direct"   // the record itself, with Laplace noise

	FeatureLevel = "feature" // records that noisy codes stand for
)

// Validate lists everything that is wrong.
func (r Records) Validate() error {
	f := &faults{}
	r.validate(f)
	return f.join()
}

func (r Records) validate(f *faults) {
	f.check(slices.Contains(RecordApplications, r.Application), "application %q: choose one of %v", r.Application, RecordApplications)
	f.check(slices.Contains(RecordMechanisms, r.Mechanism), "mechanism %q: choose one of %v", r.Mechanism, RecordMechanisms)
	f.check(r.Epsilon >= 0.01 && r.Epsilon <= 20, "epsilon %v: give a number from 0.01 to 20", r.Epsilon)
	f.check(r.Clusters == 0 || r.Clusters >= 2 && r.Clusters <= 1000, "%d clusters: give 2 to 1000, or 0 for the rule", r.Clusters)
	f.check(r.Mechanism == Symbols || r.Clusters == 0, "mechanism %q has no clusters: leave them out, or take %q", r.Mechanism, Symbols)
	f.check(r.Level == "" || slices.Contains(RecordLevels, r.Level), "level %q: choose one of %v", r.Level, RecordLevels)
	f.check(r.Level != FeatureLevel || r.Mechanism == VLM, "level %q: only codes of vlm stand for records", FeatureLevel)
	made := r.Application == Collecting && r.Mechanism == Symbols || r.Application != Joining && r.Mechanism == VLM || r.Application == Joining && r.Level == FeatureLevel
	f.check(r.Central == 0 || r.Central >= 0.1 && r.Central <= 100 && made, "central epsilon %v: collections by symbols have one, collections and novel classes by vlm, and what vlm joins at level %q, from 0.1 to 100", r.Central, FeatureLevel)
	f.check(!r.PaperStages || r.Central > 0 && r.Mechanism == VLM, "the paper's two stages are of vlm, at a central epsilon")
	f.check(!r.Gaussian || slices.Contains([]string{VLM, PCA, Direct}, r.Mechanism), "mechanism %q has no Gaussian noise: leave it out, or take vlm, pca or direct", r.Mechanism)
	f.check(r.Turned == 0 || r.Turned > -180 && r.Turned <= 180 && r.Application == Collecting && r.Mechanism == Symbols && r.Central == 0, "public pictures turned by %v: collections by symbols of public clusters take up to 180 degrees", r.Turned)
	if r.Mechanism == PCA && r.Dim >= 1 && r.Dim <= 256 {
		r.Dim = 0
	}
	own := r.Dim != 0 || r.Length != 0 || r.Noise != 0 || r.Learned || r.Split != 0
	f.check(!own || r.Mechanism == VLM && r.Dim >= 2 && r.Dim <= 256 && r.Length > 0 && r.Length <= 1e6 && r.Noise > 0 && r.Noise <= 1e6 && r.Split >= 0 && r.Split < 1, "settings of vlm (of pca dim alone): give all of dim (2 to 256), length and noise (above 0), and a split below 1, or none")
}

// String says what is measured, for progress and for errors.
func (r Records) String() string {
	s := fmt.Sprintf("%s by %s at %g", r.Application, r.Mechanism, r.Epsilon)
	if r.Level != "" {
		s += ", level " + r.Level
	}
	if r.Central > 0 {
		s += fmt.Sprintf(", central %g", r.Central)
	}
	if r.Gaussian {
		s += ", Gaussian noise"
	}
	if r.Mechanism == PCA && r.Dim > 0 {
		s += fmt.Sprintf(", %d components", r.Dim)
	}
	if r.PaperStages {
		s += " in two stages as printed"
	}
	if r.Turned != 0 {
		s += fmt.Sprintf(", public pictures turned by %g", r.Turned)
	}
	if r.Noise > 0 {
		s += fmt.Sprintf(", %d numbers in a ball of %g, noise of training %g", r.Dim, r.Length, r.Noise)
		if r.Learned {
			s += ", learned from there"
		}
	}
	return s
}

// Recorded is what was learned from private records. Numbers are means over runs, and the deviations
// beside them are over runs.
type Recorded struct {
	AccuracyClean      float64 `json:"accuracy_clean"` // of the model, on records as they are; of joined rows where the other party tells all
	AccuracyCleanStd   float64 `json:"accuracy_clean_std"`
	AccuracyPrivate    float64 `json:"accuracy_private"` // of its answer as a device tells it, at the same epsilon; of joined rows with noise
	AccuracyPrivateStd float64 `json:"accuracy_private_std"`
	// AccuracyTold is of records of which a device tells the vector alone.
	AccuracyTold      float64 `json:"accuracy_told,omitempty"`
	AccuracyToldStd   float64 `json:"accuracy_told_std,omitempty"`
	AccuracyNoPrivacy float64 `json:"accuracy_no_privacy,omitempty"`
	AccuracyPaper     float64 `json:"accuracy_paper,omitempty"` // of LTN's own learner from the same reports
	AccuracyAlone     float64 `json:"accuracy_alone,omitempty"` // of joined columns without the other party's
	// AccuracyClusters is of the likeliest class of a record's cluster, without a network, and Stated the share of
	// respondents who have the likeliest class of theirs, as a release's own counts say.
	AccuracyClusters    float64 `json:"accuracy_clusters,omitempty"`
	AccuracyClustersStd float64 `json:"accuracy_clusters_std,omitempty"`
	Stated              float64 `json:"stated,omitempty"`
	StatedStd           float64 `json:"stated_std,omitempty"`
	// EpsilonMade is kept of private records that clusters, encoder and network were made of; Claim says
	// what is, in a word.
	EpsilonMade float64 `json:"epsilon_made,omitempty"`
	Claim       string  `json:"claim,omitempty"`
	Clusters    int     `json:"clusters,omitempty"`
	Tests       int     `json:"tests"` // records that it was tested on
}
