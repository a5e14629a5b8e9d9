package sgd

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/plan"
)

// Where gradients are cut far below what a wrong example says, the few who are wrong late in training still pull as long as a
// liar does: the lies of one respondent in twenty cost little. A twin whose clip cuts hardly anything loses to liars.
func TestAShortClipHoldsLiars(t *testing.T) {
	const most = 0.01
	of := func(clip, rate float64, lie string) float64 {
		c := experiments.Gradient{Report: "vector", NoiseBy: plan.NoiseAggregators, Rounds: 10, Epsilon: 12, Clip: clip, Rate: rate}
		if lie != "" {
			c.Liars, c.Lie = 0.05, lie
		}
		r := measured(t, c)
		if r.Trust != account.AggregatorHonest {
			t.Fatalf("a sum relies on %q", r.Trust)
		}
		t.Logf("clip %v, lie %q: %.3f", clip, lie, r.Accuracy)
		return r.Accuracy
	}
	honest := of(0.3, 8, "")
	for _, lie := range []string{"next", "one"} { // which cost most
		if got := of(0.3, 8, lie); got < honest-most {
			t.Errorf("%s: accuracy %.3f, and %.3f where nobody lies", lie, got, honest)
		}
	}
	if got := of(linearClip, 0.8, "next"); got > honest-most {
		t.Errorf("a clip of %.2f holds liars: accuracy %.3f", linearClip, got)
	}
}
