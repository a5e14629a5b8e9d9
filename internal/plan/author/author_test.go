package author_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/plan"
)

// sample is the golden plan of package plan.
func sample(t testing.TB) plan.Plan {
	t.Helper()
	text, err := os.ReadFile("../../../plan/testdata/vectors/v2/canonical.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse(bytes.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBothLanguagesReadBackTheSamePlan(t *testing.T) {
	golden := sample(t)
	rapid.Check(t, func(t *rapid.T) {
		p := golden
		d := *golden.Question.Density
		p.Question.Density = &d
		p.Title = rapid.StringMatching(`[a-zA-Z<>&é]{1,20}`).Draw(t, "title")
		p.Budget.Epsilon = rapid.Float64Range(1e-300, 1e300).Draw(t, "epsilon")
		p.Budget.LabelEpsilon = plan.LabelEpsilon(rapid.SampledFrom([]float64{-1, 1e-9, 0.1, 5, 1e9}).Draw(t, "label"))
		p.Budget.LocalEpsilon = rapid.SampledFrom([]float64{0, 1e-9, 7.25, 1e9}).Draw(t, "local")
		p.Budget.DishonestShare = rapid.Float64Range(0, 0.9).Draw(t, "share")
		p.Crowd.Minimum = rapid.IntRange(20, plan.MaxCrowd).Draw(t, "minimum")
		p.Question.Density.Bitsum.FlipProbability = rapid.Float64Range(0, 0.499).Draw(t, "flip")
		if rapid.Bool().Draw(t, "summed") {
			p.Route = plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Noise: plan.NoiseShared, Law: plan.LawLaplace, Decay: rapid.Float64Range(0x1p-40, 9).Draw(t, "decay"), Circuit: plan.Circuit{Kind: plan.CircuitHistogram, Length: 3}}}
		}
		for _, text := range [][]byte{p.Canonical(), author.TOML(p)} {
			q, err := author.Parse(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if q.Hash() != p.Hash() || !cmp.Equal(p, q) {
				t.Fatalf("read back another plan:\n%s", cmp.Diff(p, q))
			}
		}
	})
}

func TestParseRefuses(t *testing.T) {
	good := string(sample(t).Canonical())
	edit := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the sample no longer contains %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"unknown keys, all of them": {edit(`"title":`, `"titel":1,"budget2":2,"title":`), `"budget2"`},
		"unknown nested key":        {edit(`"dimension":`, `"dim":3,"dimension":`), `"question.density.dim"`},
		"key in another case":       {edit(`"title":`, `"Title":`), `"Title"`},
		"repeated key":              {edit(`"title":`, `"title":"x","title":`), "twice"},
		"wrong type":                {edit(`"dimension":256`, `"dimension":"many"`), "whole number"},
		"fraction for a count":      {edit(`"dimension":256`, `"dimension":2.5`), "whole number"},
		"label epsilon zero":        {edit(`"label_epsilon":5`, `"label_epsilon":0`), "none"},
		"trailing text":             {good + "{}", "goes on"},
		"cut short":                 {good[:len(good)/2], "plan:"},
		"not finite":                {edit(`"delta":0.00001`, `"delta":1e999`), "delta"},
		"a kind that ended":         {"[[question.histogram.attributes]]\nname = 'word'\nkind = 'prefixes'\n[question.histogram.attributes.search]\nalphabet = 'ab'", "question.histogram.attributes[0].kind: prefixes ended with plan version 4: use strings"},
		"empty":                     {"", "title"},
		"broken TOML":               {"a = = 1", "line 1"},
		"infinite TOML":             {"version = inf", "finite"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := author.Parse([]byte(c.text))
			if err == nil {
				err = p.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not mention %q", err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample(f).Canonical())
	f.Add(author.TOML(sample(f)))
	f.Add([]byte("version = 2\n[question]\nkind = 'density'"))
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			p, err := author.Parse(text)
			if err != nil || p.Validate() != nil {
				return
			}
			if q, err := plan.Parse(p.Canonical()); err != nil || q.Hash() != p.Hash() {
				t.Errorf("the canonical form of an accepted plan reads back as another (%v)", err)
			}
		})
	})
}
