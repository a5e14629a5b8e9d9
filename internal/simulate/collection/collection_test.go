package collection_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// asked asks the small set by a few bits a device; tests change one thing
// at a time.
func asked() collection.Collection {
	return collection.Collection{
		Title:  "What are the classes about?",
		Kernel: plan.Kernel{Name: "gaussian", Bandwidth: 1.3}, Repetitions: 96, Normalize: true,
		Bitsum: "rr", Accounting: "exact",
		Budget:  plan.Budget{Epsilon: 8, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: 5},
		Minimum: 350, Instances: 1, Hops: 2, Suite: "x25519", Seed: 3,
	}
}

func quiet(string, int, int) {}

// generated is a small data set of four classes.
func generated(t testing.TB) *dataset.Set {
	t.Helper()
	set, err := dataset.Generate(1, dataset.GenerateOptions{Train: 2000, Test: 300})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestCollectionIsTheSameForASeed(t *testing.T) {
	set := generated(t)
	collect := func(c collection.Collection) collection.Collected {
		out, err := c.Run(set, quiet)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	c := asked()
	one, other := collect(c), collect(c)
	if !cmp.Equal(one.Crowds, other.Crowds) || !cmp.Equal(one.Release.Headline, other.Release.Headline) || !cmp.Equal(one.Release.Sections, other.Release.Sections) {
		t.Error("two runs of one seed differ")
	}
	if one.Plan.Hash() == other.Plan.Hash() {
		t.Error("two collections share their keys")
	}
	c.Seed++
	if other := collect(c); cmp.Equal(one.Crowds, other.Crowds) {
		t.Error("two seeds gave the same")
	}
	if !one.Release.Synthetic || one.Release.Created.IsZero() || !strings.Contains(one.Release.Provenance.Randomness, "seed 3") {
		t.Errorf("release %+v", one.Release.Provenance)
	}
	if err := one.Release.Validate(); err != nil {
		t.Error(err)
	}
	if a := one.Release.Headline[0]; a.Name != "accuracy" || a.Value < 0.5 {
		t.Errorf("headline %+v", a)
	}
}

// The numbers beside a release are its own: what a terminal prints is what the page
// says, the headline first.
func TestCollectionIsMeasuredByItsRelease(t *testing.T) {
	set := generated(t)
	for _, classifier := range []string{measure.HighestDensity, measure.NearestMean} {
		c := asked()
		c.Kernel, c.Budget.LabelEpsilon = plan.Kernel{Name: "ip-signs"}, plan.Unprotected
		out, err := c.Run(set, quiet)
		if err != nil {
			t.Fatal(err)
		}
		res, err := out.Measure(set, classifier, quiet)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]float64{}
		for _, m := range out.Release.Headline {
			values[m.Name] = m.Value
		}
		if res.Accuracy != out.Release.Headline[0].Value || res.Classifier != classifier || res.AccuracyHighestDensity != values["accuracy"] || res.AccuracyNoPrivacy != values["accuracy_no_privacy"] {
			t.Errorf("measured %+v, and the release says %+v", res, out.Release.Headline)
		}
		if classifier == measure.NearestMean && res.AccuracyNearestMean != res.Accuracy {
			t.Errorf("%+v", res)
		}
		if res.KDERMSE <= 0 || res.RMSEBitsum <= 0 || res.Users < 350 || *res.Epsilon > 8 || res.Plan.Question.Density.Bitsum.FlipProbability <= 0 {
			t.Errorf("%+v", res)
		}
		if out.Release.Source != release.Simulation || out.Release.Full {
			t.Errorf("a simulation by the law is called %q, full: %v", out.Release.Source, out.Release.Full)
		}
	}
}

// At fidelity full the same devices answer through seals and hops.
func TestCollectionAtFullFidelity(t *testing.T) {
	set := generated(t)
	c := asked()
	c.Full, c.Repetitions, c.Minimum, c.Budget.LabelEpsilon, c.Hops = true, 4, 40, plan.Unprotected, 1
	some := *set
	some.Train = set.Train.Head(240)
	out, err := c.Run(&some, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if out.Devices != 240 || out.Fragments != 240*4 || out.Dropped != 0 || len(out.Withheld) != 0 {
		t.Errorf("%+v", out.Collection)
	}
	if !out.Release.Full {
		t.Error("the release does not say that devices, hops and the analyzer ran")
	}
	if err := out.Release.Validate(); err != nil {
		t.Error(err)
	}
}

func TestCollectionRefusesBadConfigurations(t *testing.T) {
	set := generated(t)
	for name, c := range map[string]struct {
		change func(c *collection.Collection)
		want   string
	}{
		"title":          {func(c *collection.Collection) { c.Title = "" }, "title"},
		"kernel":         {func(c *collection.Collection) { c.Kernel.Name = "cosine" }, "kernel"},
		"bandwidth":      {func(c *collection.Collection) { c.Kernel.Bandwidth = -1 }, "bandwidth"},
		"repetitions":    {func(c *collection.Collection) { c.Repetitions = 0 }, "repetitions"},
		"bitsum":         {func(c *collection.Collection) { c.Bitsum = "2nb" }, "bitsum"},
		"accounting":     {func(c *collection.Collection) { c.Accounting = "guess" }, "accounting"},
		"epsilon":        {func(c *collection.Collection) { c.Budget.Epsilon = 0 }, "epsilon"},
		"label epsilon":  {func(c *collection.Collection) { c.Budget.LabelEpsilon = 0 }, "label_epsilon"},
		"no crowd":       {func(c *collection.Collection) { c.Minimum = 0 }, "users"},
		"too few people": {func(c *collection.Collection) { c.Minimum = 1000 }, "withheld"},
		"no instances":   {func(c *collection.Collection) { c.Instances = 0 }, "instances"},
		"no hops":        {func(c *collection.Collection) { c.Hops = 0 }, "hops"},
		"suite":          {func(c *collection.Collection) { c.Suite = "rot13" }, "suite"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := asked()
			bad.Repetitions = 8
			c.change(&bad)
			if _, err := bad.Run(set, quiet); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not mention %q", err, c.want)
			}
		})
	}
}
