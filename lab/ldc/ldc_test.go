package ldc

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/lab/train/synthetic"
	"github.com/confetti-dp/confetti/release"
)

func quiet(string, int, int) {}

// Every method on documents that are made up: within its budget, far better than chance, and with
// whom it trusts; what is drawn of it is a page.
func TestEveryMethodLearns(t *testing.T) {
	set, err := dataset.Generate(1, dataset.GenerateOptions{Train: 4000, Test: 500})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{data: experiments.Data{Set: func(string) (*dataset.Set, error) { return set, nil }}}
	var all []experiments.Measured
	for _, method := range experiments.LabelMethods {
		c := experiments.Cell{Dataset: "mnist", Seed: 1, Runs: 2, Labels: experiments.Labels{Method: method, Epsilon: 3}}
		switch method {
		case experiments.ClusterRR:
			c.Labels = clustered(3, 20, "")
		case experiments.PeerToPeer:
			c.Labels.Clusters, c.Labels.Against = 60, 1
		case experiments.NoPrivacy:
			c.Labels.Epsilon = 0
		}
		m, err := b.Measure(c)
		if err != nil || m.Result == nil {
			t.Fatalf("%s: %v, %+v", method, err, m)
		}
		got := m.Result.Learned
		if got.Accuracy < 0.5 || got.Accuracy > got.AccuracyNoPrivacy+0.02 {
			t.Errorf("%s: accuracy %v, %v without privacy", method, got.Accuracy, got.AccuracyNoPrivacy)
		}
		if method == experiments.NoPrivacy {
			continue
		}
		all = append(all, m)
		local := !slices.Contains([]string{experiments.ClusterRR, experiments.DPSGD, experiments.PeerToPeer}, method)
		if e := m.Result.Epsilon; e == nil || *e > 3 || *e < 2.9 || m.Result.Adjacency != "label" || (m.Result.EpsilonLocal != nil) != (local || method == experiments.PeerToPeer) || (m.Result.Trust == "local") != local {
			t.Errorf("%s: %+v", method, m.Result.Promised)
		}
	}
	for _, s := range Specs() {
		d := release.Document{Title: s.Title, Sections: s.Sections(s, all)}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		for _, c := range s.Cells(experiments.Options{Seed: 1}) {
			if err := c.Validate(); err != nil {
				t.Errorf("%s: %s: %v", s.Name, c, err)
			}
		}
	}
}

// Clusters and models see other features where a cell says so. Records that have none of these are a cell without a result.
func TestFeatures(t *testing.T) {
	set, err := dataset.Generate(1, dataset.GenerateOptions{Train: 1000, Test: 200})
	if err != nil {
		t.Fatal(err)
	}
	images, labels := synthetic.Labelled(seeded.New(1), 1200, 4)
	stacked := featuremap.Stacked(images)
	part := func(from, to int) dataset.Labelled {
		return dataset.Labelled{X: blas32.General{Rows: to - from, Cols: stacked.Cols, Stride: stacked.Stride, Data: stacked.Data[from*stacked.Stride:]}, Y: labels[from:to]}
	}
	drawn := &dataset.Set{Name: "drawn", Synthetic: true, Classes: []string{"a", "b", "c", "d"}, Train: part(0, 1000), Test: part(1000, 1200)}
	b := &bench{data: experiments.Data{Set: func(name string) (*dataset.Set, error) {
		if name == "drawn" {
			return drawn, nil
		}
		return set, nil
	}}}
	measure := func(of, features string) experiments.Measured {
		l := clustered(3, 20, "")
		l.Features = features
		m, err := b.Measure(experiments.Cell{Dataset: of, Seed: 1, Runs: 1, Labels: l})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	found := map[float64]bool{}
	for _, features := range append(experiments.LabelFeatures, "") {
		m := measure("drawn", features)
		if m.Result == nil || m.Result.Learned.Accuracy < 0.5 {
			t.Fatalf("%q: %+v", features, m)
		}
		found[m.Result.Learned.AccuracyNoPrivacy] = true
	}
	if len(found) != 3 {
		t.Errorf("three kinds of features give %v without privacy", found)
	}
	if m := measure("mnist", experiments.OrientedGradients); m.Result != nil || !strings.Contains(m.Reason, "oriented gradients are of 28 by 28 pixels") {
		t.Errorf("%+v", m)
	}
	if err := (experiments.Cell{Dataset: "mnist", Runs: 1, Labels: experiments.Labels{Method: experiments.UniformRR, Epsilon: 1, Features: "smells"}}).Validate(); err == nil || !strings.Contains(err.Error(), `features "smells"`) {
		t.Errorf("features that nobody has: %v", err)
	}
}

// A threshold that is too large for so many classes is a cell without a result, and says why.
func TestInadmissibleParameters(t *testing.T) {
	set, err := dataset.Generate(1, dataset.GenerateOptions{Train: 400, Test: 50})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{data: experiments.Data{Set: func(string) (*dataset.Set, error) { return set, nil }}}
	l := clustered(1, 5, "")
	l.Heterogeneity = 0.416
	m, err := b.Measure(experiments.Cell{Dataset: "mnist", Seed: 1, Runs: 1, Labels: l})
	if err != nil || m.Result != nil || !strings.Contains(m.Reason, "least share of 0.416") {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := Run(experiments.Cell{Dataset: "mnist", Runs: 1, Labels: experiments.Labels{Method: experiments.UniformRR, Epsilon: 1, Against: 9}}, set, quiet); err == nil {
		t.Error("class 9 of a few")
	}
}
