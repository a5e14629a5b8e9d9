package sum_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/vdaf"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"pgregory.net/rapid"
)

func route(c plan.Circuit, by, law string, parameter float64) plan.Plan {
	s := &plan.Sum{Circuit: c, Chunk: sum.Chunk(c), Noise: by, Law: law}
	if law == plan.LawGaussian {
		s.Sigma = parameter
	} else {
		s.Decay = parameter
	}
	return plan.Plan{Route: plan.Route{Kind: plan.RouteSum, Sum: s}}
}

// The chunk of a design has the shortest of all proofs.
func TestChunkIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := plan.Circuit{Kind: plan.CircuitHistogram, Length: rapid.IntRange(1, 60).Draw(t, "length")}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 1:
			c.Kind, c.Weight = plan.CircuitMultihot, rapid.IntRange(1, c.Length).Draw(t, "weight")
		case 2:
			c.Kind, c.Max = plan.CircuitSumVec, rapid.IntRange(1, 9).Draw(t, "max")
		case 3:
			c.Kind, c.Max = plan.CircuitSumVec, 2*rapid.IntRange(1, 9).Draw(t, "half")
			c.Square = rapid.IntRange(1, c.Length*c.Max*c.Max/4).Draw(t, "square")
		}
		size := func(chunk int) int {
			p := route(c, plan.NoiseDevices, "", 0)
			p.Route.Sum.Chunk = chunk
			v, err := vdaf.New(p.Route.Sum, nil)
			if err != nil {
				return math.MaxInt
			}
			_, leader, _ := v.ShareSizes()
			return leader
		}
		best := size(sum.Chunk(c))
		for chunk := 1; chunk <= 8*c.Length; chunk++ {
			if size(chunk) < best {
				t.Fatalf("%+v: a chunk of %d has a share of %d bytes, and that of %d %d", c, chunk, size(chunk), sum.Chunk(c), best)
			}
		}
	})
}

// What both aggregators add has the law that is stated, and each of them its part of it.
// The twins are of another law or parameter.
func TestNoise(t *testing.T) {
	const numbers, top = 200_000, 12
	c := plan.Circuit{Kind: plan.CircuitSumVec, Length: numbers, Max: 1}
	for name, k := range map[string]struct {
		p          plan.Plan
		one, both  func(k int) float64 // log probabilities
		halfBroken float64             // a parameter that is caught
	}{
		"aggregators, laplace":  {route(c, plan.NoiseAggregators, plan.LawLaplace, 0.7), noise.DiscreteLaplace{Decay: 0.7}.LogProb, nil, 0.73},
		"aggregators, gaussian": {route(c, plan.NoiseAggregators, plan.LawGaussian, 1.5), noise.DiscreteGaussian{Sigma: 1.5}.LogProb, nil, 1.55},
		"shared, laplace":       {route(c, plan.NoiseShared, plan.LawLaplace, 0.7), nil, noise.DiscreteLaplace{Decay: 0.7}.LogProb, 0.73},
		"shared, gaussian":      {route(c, plan.NoiseShared, plan.LawGaussian, 1.5), noise.DiscreteGaussian{Sigma: 1.5}.LogProb, nil, 1.55},
	} {
		t.Run(name, func(t *testing.T) {
			draw := func(p plan.Plan, aggregators int) []int {
				s, err := sum.New(p)
				if err != nil {
					t.Fatal(err)
				}
				counts, all := make([]int, 2*top+1), make([]int64, numbers)
				r := stattest.Rand(t)
				for range aggregators {
					for i, z := range s.Noise(r) {
						all[i] += z
					}
				}
				for _, z := range all {
					counts[max(-top, min(top, int(z)))+top]++
				}
				return counts
			}
			law, aggregators := k.one, 1
			if law == nil {
				law, aggregators = k.both, 2
			}
			stattest.GTest(t, table(law, top), draw(k.p, aggregators))
			twin := route(c, k.p.Route.Sum.Noise, k.p.Route.Sum.Law, k.halfBroken)
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, table(law, top), draw(twin, aggregators)) })
		})
	}
}

// table is a law on -top..top, the tails in its ends.
func table(law func(k int) float64, top int) []float64 {
	t := make([]float64, 2*top+1)
	for k := -top - 400; k <= top+400; k++ {
		t[max(-top, min(top, k))+top] += math.Exp(law(k))
	}
	return t
}

func TestDevicesNoiseIsTheirOwn(t *testing.T) {
	s, err := sum.New(route(plan.Circuit{Kind: plan.CircuitMultihot, Length: 9, Weight: 2}, plan.NoiseDevices, "", 0))
	if err != nil || s.Noise(stattest.Rand(t)) != nil {
		t.Errorf("aggregators add noise too (%v)", err)
	}
	v, err := vdaf.New(route(plan.Circuit{Kind: plan.CircuitMultihot, Length: 9, Weight: 2}, plan.NoiseDevices, "", 0).Route.Sum, []byte("a context"))
	if err != nil {
		t.Fatal(err)
	}
	var nonce [prio3.NonceSize]byte
	if _, _, _, err := v.Split(zeros{}, nonce, []uint64{1, 1, 1, 0, 0, 0, 0, 0, 0}); err == nil {
		t.Error("three ones were split where two are allowed")
	}
	if _, err := sum.New(plan.Plan{}); err == nil {
		t.Error("a plan without a sum was made runnable")
	}
}

// A verifier takes exactly the routes that a device and an aggregator can run.
func TestWhatIsTakenRuns(t *testing.T) {
	numbers := []int{-1, 0, 1, 2, 7, 1 << 21, 1 << 22, 1<<22 + 1, 1 << 32, 1<<32 + 1, math.MaxInt}
	taken := 0
	for _, kind := range []string{plan.CircuitHistogram, plan.CircuitMultihot, plan.CircuitSumVec, "another"} {
		for _, length := range numbers {
			for _, of := range numbers {
				for _, chunk := range numbers {
					c := plan.Circuit{Kind: kind, Length: length}
					switch kind {
					case plan.CircuitMultihot:
						c.Weight = of
					case plan.CircuitSumVec:
						c.Max = of
					}
					s := &plan.Sum{Circuit: c, Chunk: chunk}
					_, err := sum.New(plan.Plan{Route: plan.Route{Sum: s}})
					if _, runs := vdaf.New(s, nil); (err == nil) != (runs == nil) {
						t.Errorf("%+v, chunk %d: %v, and run: %v", c, chunk, err, runs)
					}
					if err == nil {
						taken++
					}
				}
			}
		}
	}
	if taken < 50 {
		t.Errorf("%d routes are taken: nothing was compared", taken)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }
