package attack

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
)

// Models keep their claim; of one that has hardly any noise its examples are guessed.
func TestMembershipOfModels(t *testing.T) {
	private := dpsgd.Training{Sampling: 0.5, NoiseMultiplier: 4, Steps: 20, Clip: 1, Expected: 1, Rate: 1}
	open := private
	open.NoiseMultiplier, open.Steps = 0.05, 150
	find := func(train dpsgd.Training, examples int) []audit.Finding {
		findings, err := Trained(train, examples, seed(t)).Attack(claimed(t, train.Event(), 1e-5), seed(t), quiet)
		if err != nil {
			t.Fatal(err)
		}
		return findings
	}
	for _, f := range find(private, 100) {
		t.Logf("%s: %v of %v", f.Attack, f.Lower, f.Claimed.Epsilon)
		holds(t, f)
	}
	for _, f := range find(open, 120) {
		t.Logf("without noise, %s: %v", f.Attack, f.Lower)
		if f.Lower < 0.3 {
			t.Errorf("%s finds nothing of a model that knows its examples by heart: %v", f.Attack, f.Lower)
		}
	}
}

// Canaries in the steps of training: a good part is found, and the claim is kept. The
// claim is of the worst of both directions, and the sums' Gaussian shift smaller.
func TestCanariesInTraining(t *testing.T) {
	train := dpsgd.Training{Sampling: 0.5, NoiseMultiplier: 3, Steps: 20, Clip: 1, Expected: 1, Rate: 1}
	claim := claimed(t, train.Event(), 1e-5)
	findings, err := Steps(train, 1000, claim, seed(t), quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Logf("%s: %v of %v", f.Assumes, f.Lower, claim.Epsilon)
		holds(t, f)
	}
	if f := findings[1]; f.Lower < 0.5*claim.Epsilon {
		t.Errorf("found %v of %v", f.Lower, claim.Epsilon)
	}
}

func quiet(int, int) {}

func seed(t testing.TB) uint64 { return stattest.Rand(t).Uint64() }

// claimed is what an event promises at a delta.
func claimed(t testing.TB, e account.Event, delta float64) account.Guarantee {
	t.Helper()
	g, err := account.Epsilon(e, delta)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// holds fails where an attack proves the claim false: once in a million seeds of a true one.
func holds(t testing.TB, f audit.Finding) {
	t.Helper()
	if f.False() {
		t.Errorf("%s: %s; claimed %v", f.Attack, f.Verdict(), f.Claimed.Epsilon)
	}
}
