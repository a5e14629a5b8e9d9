package all

import (
	"encoding/hex"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/registry"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// A report of every kind is told in words, of each way that the kind has, with the coin's share; and
// nothing of nothing. Of no word is the message itself.
func TestEveryKindIsTold(t *testing.T) {
	counts := func(symbols ...int) [][]byte {
		m := tally.NewMessages(len(symbols))
		for _, s := range symbols {
			m.Say(uint32(s), 0)
		}
		return m.Bodies
	}
	kind := func(q plan.Question, b plan.Budget) plan.Plan {
		p := example.Gradient("direction")
		p.Question, p.Budget = q, b
		return p
	}
	label := func(l plan.Label) plan.Plan {
		l.Classes = []string{"ham", "spam"}
		return kind(plan.Question{Kind: "label", Unfit: "reference", Label: &l}, plan.Budget{Epsilon: 2, Delta: 1e-6, Adjacency: plan.AdjacencyLabel})
	}
	latent := func(l plan.Latent) plan.Plan {
		l.Features, l.Classes = 2, []string{"ham", "spam"}
		p := kind(plan.Question{Kind: "latent", Unfit: "reference", Latent: &l}, plan.Budget{LocalEpsilon: 2, Delta: 1e-6, Adjacency: "replacement"})
		p.State = strings.Repeat("0", 64)
		return p
	}
	told := map[string]bool{}
	for name, c := range map[string]struct {
		plan   plan.Plan
		bodies func(question.Question) [][]byte
		want   string
	}{
		"histogram":         {example.Histograms()["categories"], func(question.Question) [][]byte { return counts(1) }, "tea; one such word in "},
		"density":           {example.Density("rr"), func(question.Question) [][]byte { return counts(0, 1, 2) }, "three bits of your features; at least one such bit in "},
		"density of noises": {example.Density("3nb"), func(question.Question) [][]byte { return counts(0, 0) }, "two bits of your features; at least "},
		"direction":         {example.Gradient("direction"), func(question.Question) [][]byte { return [][]byte{make([]byte, 17)} }, "one step of a model, as a direction near it; at least "},
		"signs of a step":   {example.Gradient("vector"), func(question.Question) [][]byte { return counts(0, 1) }, "one step of a model, as two signs of its numbers mixed; at least "},
		"vector":            {example.Vector(plan.VectorRound{Sums: plan.SumsMoments, Answered: 5}), func(question.Question) [][]byte { return counts(0) }, "one sign of your record, all its numbers mixed; at least "},
		"table":             {example.Table(), func(question.Question) [][]byte { return counts(0, 1, 2) }, "three values, drowned in three coins; at least "},
		"experiment":        {example.Experiment(), func(question.Question) [][]byte { return counts(0, 1, 2) }, "your arm and two numbers, mixed into three signs; at least "},
		"strings":           {example.Strings(), func(question.Question) [][]byte { return counts(0, 1, 2) }, "one string, drowned in three coins; at least "},
		"label":             {label(plan.Label{Report: plan.LabelEach, Records: 4}), func(question.Question) [][]byte { return counts(5) }, "spam; one such word in "},
		"label in clusters": {label(plan.Label{Report: plan.LabelClusters, Features: 2, Clusters: 2}), func(question.Question) [][]byte { return counts(0) }, "ham; "},
		"label in sums":     {label(plan.Label{Report: plan.LabelSums, Features: 2, Seed: example.Seed}), func(question.Question) [][]byte { return counts(0) }, "one sign of your record"},
		"latent":            {latent(plan.Latent{Report: plan.LatentSymbols, Clusters: 3}), func(question.Question) [][]byte { return counts(3) }, "cluster 2 with spam; "},
		"latent, right":     {latent(plan.Latent{Report: plan.LatentRight, Clusters: 2}), func(question.Question) [][]byte { return counts(1) }, "the model is right; "},
		"latent, numbered":  {latent(plan.Latent{Report: plan.LatentSymbols, Clusters: 3, Records: 8}), func(question.Question) [][]byte { return [][]byte{{0, 0, 0, 1, 1 << 3}} }, "cluster 2 with spam; "},
		"latent vector": {latent(plan.Latent{Report: plan.LatentVector, Vector: &plan.Latents{Dim: 2, Mechanism: device.NameCap}}), func(question.Question) [][]byte {
			return [][]byte{append(make([]byte, 16), 0, 1)}
		}, "the 2 numbers of an encoder, with noise in each; and spam; one such word in "},
	} {
		proto := example.Runnable(t, example.Design(t, c.plan))
		told[proto.Plan.Question.Kind] = true
		q := proto.Question.(question.Describer)
		bodies := c.bodies(proto.Question)
		got := q.Tell(bodies)
		if !strings.HasPrefix(got, c.want) || !strings.HasSuffix(got, " the coin's") {
			t.Errorf("%s is told as %q, want %q", name, got, c.want)
		}
		for _, b := range bodies {
			if strings.Contains(got, hex.EncodeToString(b)) {
				t.Errorf("%s is told as a message: %q", name, got)
			}
		}
		if got := q.Tell([][]byte{}); got != "nothing, as happens by chance" {
			t.Errorf("%s: nothing is told as %q", name, got)
		}
	}
	for _, name := range registry.Names() {
		if !told[name] {
			t.Errorf("no report of a %s is told", name)
		}
	}
}
