package plan

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// sample is a valid plan of version 2, which is read for ever; tests change one thing at a time.
func sample() Plan {
	key := "x25519:" + strings.Repeat("A", 43)
	return Plan{
		Version: 2,
		Title:   "What do people read?",
		Question: Question{Kind: "density", Unfit: "reference", Density: &Density{
			Dimension:   256,
			Kernel:      Kernel{Name: "gaussian", Bandwidth: 1, Seed: strings.Repeat("0f", 32)},
			Repetitions: 52,
			Bitsum:      Bitsum{Name: "rr", Accounting: "exact", FlipProbability: 0.125},
		}},
		Budget:    Budget{Epsilon: 4, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: 5, DishonestShare: 0.05},
		Crowd:     Crowd{Names: []string{"Business", "Sci/Tech", "Sports", "World"}, Minimum: 400},
		Envelopes: Envelopes{PerDevice: 52, PayloadBytes: 8, Suite: "x25519"},
		Route: Route{Kind: "mix", Mix: &Mix{Instances: []Instance{{Hops: []Party{
			{Operator: "North", Key: key}, {Operator: "South", Key: key},
		}}}}},
		Analyzer: Party{Operator: "Research", Key: key},
		Times:    Times{Opens: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Closes: time.Date(2026, 12, 8, 0, 0, 0, 0, time.UTC)},
	}
}

func TestCanonicalFormIsGolden(t *testing.T) {
	golden(t, "canonical.json", append(sample().Canonical(), '\n')) // with it every plan's name changes
	const name = "0fb6f79650d448bcd2fb4a7c7a57c61bb40135a153f74a6eeb30f98a546f3326"
	if sample().Name() != name {
		t.Errorf("name = %s, want %s", sample().Name(), name)
	}
}

func TestTheCanonicalFormReadsBackTheSamePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := sample()
		p.Title = rapid.StringMatching(`[a-zA-Z<>&é]{1,20}`).Draw(t, "title")
		p.Budget.Epsilon = rapid.Float64Range(1e-300, 1e300).Draw(t, "epsilon")
		p.Crowd.Minimum = rapid.IntRange(20, MaxCrowd).Draw(t, "minimum")
		q, err := Parse(p.Canonical())
		if err != nil || !cmp.Equal(p, q) {
			t.Fatalf("read back another plan: %v\n%s", err, cmp.Diff(p, q))
		}
	})
}

func TestTimeZoneDoesNotChangeTheName(t *testing.T) {
	p := sample()
	q := sample()
	q.Times.Opens = q.Times.Opens.In(time.FixedZone("east", 3600))
	if p.Hash() != q.Hash() {
		t.Error("the same instant in another zone gave another name")
	}
}

func TestProblemsAreListedTogether(t *testing.T) {
	p := sample()
	p.Title = " "
	p.Question.Unfit, p.Question.Histogram = "silence", &Histogram{}
	p.Crowd.Names = []string{"a", "a", ""}
	p.Budget = Budget{Epsilon: -1, Delta: 1, Adjacency: "neighbours", LabelEpsilon: -2, DishonestShare: 1}
	p.Crowd.Minimum = 0
	p.Envelopes = Envelopes{PerDevice: 0, PayloadBytes: 1, Suite: "rot13"}
	err := p.Validate()
	var ps Problems
	if !errors.As(err, &ps) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"title", "question.histogram does not belong", "question.unfit", `crowd.names: "a" is named twice`, "the name at 3 is empty", "budget.epsilon", "budget.delta", "budget.adjacency", "label_epsilon",
		"dishonest_share", "crowd.minimum", "per_device", "payload_bytes", "suite"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported in:\n%v", want, err)
		}
	}
}

func TestTheLastPartsOfAPlanAreCheckedToo(t *testing.T) {
	p := sample()
	p.Route.Mix.Instances[0].Hops[0].Operator = ""
	p.Route.Mix.Instances[0].Hops[1].Key = "rot13:AAAA"
	p.Analyzer.Key = ""
	p.Times.Closes = p.Times.Opens
	err := p.Validate()
	for _, want := range []string{"4 problems", "hops[0].operator", "hops[1].key", "analyzer.key", "times.opens"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported in:\n%v", want, err)
		}
	}
}

// Of all the texts that mean a plan one is read.
func TestParseRefusesEveryOtherForm(t *testing.T) {
	good := string(sample().Canonical())
	edit := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the sample no longer contains %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	older, err := os.ReadFile("testdata/vectors/v1/canonical.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":          {edit(`"dimension":`, `"dim":3,"dimension":`), `"dim"`},
		"key in another case":  {edit(`"title":`, `"Title":`), "canonical"},
		"repeated key":         {edit(`"title":`, `"title":"x","title":`), "canonical"},
		"another order":        {edit(`"epsilon":4,"delta":0.00001`, `"delta":0.00001,"epsilon":4`), "canonical"},
		"another notation":     {edit(`"epsilon":4`, `"epsilon":4.0`), "canonical"},
		"another time zone":    {edit(`2026-12-01T00:00:00Z`, `2026-12-01T01:00:00+01:00`), "canonical"},
		"white space":          {good + "\n", "canonical"},
		"trailing text":        {good + "{}", "after top-level"},
		"cut short":            {good[:len(good)/2], "canonical"},
		"wrong type":           {edit(`"dimension":256`, `"dimension":"many"`), "dimension"},
		"not valid":            {edit(`"minimum":400`, `"minimum":0`), "crowd.minimum must be at least"},
		"another kind":         {edit(`"kind":"density"`, `"kind":"histogram"`), "question.histogram is missing"},
		"no kind":              {edit(`"kind":"density"`, `"kind":"Density"`), `question.kind must be one of "density"`},
		"a time past its form": {edit(`2026-12-08T00:00:00Z`, `9999-12-31T23:59:59-01:00`), "years 1 to 9999"},
		"newer version":        {edit(`"version":2`, `"version":5,"news":1`), "version is 5"},
		"older version":        {string(bytes.TrimSpace(older)), "have the author write and sign the plan anew"},
		"empty":                {"", "canonical"},
		"TOML":                 {"version = 1", "canonical"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not mention %q", err, c.want)
			}
		})
	}
}

func TestMinHonestNeverRoundsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := sample()
		p.Crowd.Minimum = rapid.IntRange(1, 1<<30).Draw(t, "minimum")
		p.Budget.DishonestShare = float64(rapid.IntRange(0, 99).Draw(t, "percent")) / 100
		exact := float64(p.Crowd.Minimum) * (100 - math.Round(100*p.Budget.DishonestShare)) / 100
		if got := float64(p.MinHonest()); got > exact || got < exact-1-1e-6 {
			t.Fatalf("floor of %v is not %v", exact, got)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(sample().Canonical())
	f.Add([]byte(`{"version":2,"title":"x","question":{"kind":"density"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p Plan
		var err error
		costlimit.Heap(t, parseFactor, len(text), func() { p, err = Parse(text) })
		if err == nil && !bytes.Equal(p.Canonical(), text) {
			t.Error("two texts of one plan were read")
		}
	})
}
