package design_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
)

// A valid plan that makes no sense is doubted in a sentence that says why; one that does is not.
func TestDoubts(t *testing.T) {
	doubted := func(name string, p plan.Plan, want ...string) {
		t.Helper()
		p, err := design.Fill(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		proto, err := protocol.New(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := design.Doubts(proto)
		if len(got) != len(want) {
			t.Errorf("%s: %q", name, got)
			return
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("%s: %q, want %q", name, got[i], want[i])
			}
		}
	}
	for name, p := range example.Histograms() {
		doubted(name, p)
	}
	for _, noise := range []string{plan.NoiseAggregators, plan.NoiseShared, plan.NoiseDevices} {
		doubted("summed, noise "+noise, example.Summed(example.Histograms()["replacement"], noise))
	}
	p := example.Histograms()["categories"]
	p.Budget.Delta = 1 / float64(p.Crowd.Minimum)
	doubted("delta of 1/n", p)
	p.Budget.Delta *= 1.01
	doubted("delta above 1/n", p, "Delta 0.0")
	p = example.Histograms()["categories"]
	p.Budget.Epsilon = 0.001
	doubted("an error above the values", p, "even a value that all of them hold cannot be told")

	p = example.Density("rr")
	doubted("a density", p)
	with := func(kernel plan.Kernel, normalize bool) plan.Plan {
		p := example.Density("rr")
		q := *p.Question.Density
		kernel.Seed = q.Kernel.Seed
		q.Kernel, q.Normalize, q.Dimension, q.Repetitions = kernel, normalize, 256, 16
		p.Question.Density, p.Crowd.Minimum = &q, 1000
		p.Budget.Epsilon = 4
		return p
	}
	doubted("laplacian 1 on unit vectors", with(plan.Kernel{Name: "laplacian-sign", Bandwidth: 1}, true), "the kernel laplacian-sign is some 1e-08 at a bandwidth of 1")
	doubted("laplacian 18", with(plan.Kernel{Name: "laplacian-sign", Bandwidth: 18}, true))
	doubted("laplacian of what is not scaled", with(plan.Kernel{Name: "laplacian-sign", Bandwidth: 1}, false))
	doubted("gaussian 1", with(plan.Kernel{Name: "gaussian", Bandwidth: 1}, true))
	doubted("gaussian 0.5", with(plan.Kernel{Name: "gaussian", Bandwidth: 0.5}, true), "Take a bandwidth of some 1.4.")
	p = with(plan.Kernel{Name: "gaussian", Bandwidth: 1}, true)
	p.Budget.Epsilon = 0.001
	doubted("an error above every density", p, "a density is 1 at most")
}
