package shuffle

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// anew returns a delta next to another, for which nobody has asked: answers are remembered.
func anew(delta float64) float64 { return math.Nextafter(delta, 1) }

// A device's work: the envelope, the grid, the composition.
func BenchmarkDevice(b *testing.B) {
	for _, c := range []struct {
		users, rounds int
		flip          float64
	}{{10_000, 768, 0.27}, {40_000, 768, 0.176}, {1_000_000, 768, 0.01}, {1_000_000, 10_000, 0.3}} {
		b.Run(fmt.Sprintf("n=%d/rounds=%d", c.users, c.rounds), func(b *testing.B) {
			for delta := 1e-6; b.Loop(); delta = anew(delta) {
				forget()
				if _, err := account.Epsilon(account.Repeat{Event: RandomizedResponse{c.users, c.flip}, Rounds: c.rounds}, delta); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCalibrateRR(b *testing.B) {
	for _, users := range []int{40_000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d/rounds=768", users), func(b *testing.B) {
			for delta := 1e-6; b.Loop(); delta = anew(delta) {
				forget()
				if _, _, err := CalibrateRR(calibrate.Target{Users: users, Rounds: 768, Epsilon: 1, Delta: delta}, calibrate.Exact); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCertify certifies over every number of ones among 39,999 others,
// beside a loop that composes the 768 rounds for each of them. The loop is run for
// 20 of them and multiplied; it has our law of the others and our composition, so
// that the ratio is what one envelope over all of them saves.
func BenchmarkCertify(b *testing.B) {
	const users, rounds, sampled = 40_000, 768, 20
	e := RandomizedResponse{users, 0.17569867093921618}
	var ours, naive time.Duration
	for delta := 1e-6; b.Loop(); delta = anew(delta) {
		forget()
		start := time.Now()
		g, err := account.Certify(account.Repeat{Event: e, Rounds: rounds}, delta)
		if err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)
		start = time.Now()
		for i := range sampled {
			ones := i * (users - 1) / (sampled - 1)
			epsilon, err := alone(e, ones, rounds, delta)
			if err != nil {
				b.Fatal(err)
			}
			if epsilon > g.Epsilon*(1+1e-4) { // beyond what the grid costs either
				b.Fatalf("%d ones among the others: epsilon %v, above the certified %v", ones, epsilon, g.Epsilon)
			}
		}
		naive += time.Since(start) * users / sampled
	}
	b.ReportMetric(ours.Seconds()/float64(b.N), "s")
	b.ReportMetric(naive.Seconds()/float64(b.N), "naive-s")
	b.ReportMetric(naive.Seconds()/ours.Seconds(), "naive/ours")
	b.ReportMetric(0, "ns/op") // both together: of no meaning
}

// alone is the epsilon of the rounds if the number of ones among the others is
// known, the target's bit falling from one to zero.
func alone(e RandomizedResponse, ones, rounds int, delta float64) (float64, error) {
	tail := delta * profile.Neglect / float64(rounds)
	var law Others
	_, w := law.law(e.Users-1, ones, RandomizedResponse{Flip: e.Flip}.bit(), tail)
	p := e.Flip
	atoms := make([]pld.Atom, len(w)+1)
	for i := range atoms {
		var before, here float64
		if i > 0 {
			before = w[i-1]
		}
		if i < len(w) {
			here = w[i]
		}
		one, zero := (1-p)*before+p*here, p*before+(1-p)*here
		atoms[i] = pld.Atom{Loss: math.Log(one / zero), Mass: one}
	}
	d, err := pld.FromAtoms(atoms, 0, e.Spread()/account.PointsPerSpread)
	if err != nil {
		return 0, err
	}
	c, err := pld.Compose(d, rounds)
	if err != nil {
		return 0, err
	}
	return c.Epsilon(delta)
}

// BenchmarkEveryWorld measures a certificate at every scale: of one round of randomized response at local epsilon 1, which
// is k-ary response of two symbols.
func BenchmarkEveryWorld(b *testing.B) {
	for users := 1_000_000; users <= account.MaxUsers; users *= 10 {
		b.Run(fmt.Sprintf("n=%d", users), func(b *testing.B) {
			before := costlimit.Used(b)
			for delta := 1e-6; b.Loop(); delta = anew(delta) {
				forget()
				if _, err := account.Certify(RandomizedResponse{users, 1 / (1 + math.E)}, delta); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((costlimit.Used(b)-before).Seconds()/float64(b.N), "processor-s/op")
		})
	}
}

// BenchmarkOneMessage is what a device computes of one opened message, for a density of
// 768 bits, as bits and as buckets (package vectors has the vector).
func BenchmarkOneMessage(b *testing.B) {
	for _, c := range []struct {
		name  string
		event account.Event
	}{
		{"bits", account.Repeat{Event: RandomizedResponse{40_000, 0.0752}, Rounds: 768}},
		{"buckets", account.Repeat{Event: BucketResponse{40_000, 0.03}, Rounds: 128}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				forget()
				if _, err := account.OneMessage(c.event, 1e-6); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFormula is the Gaussian and a closed form of each kind.
func BenchmarkFormula(b *testing.B) {
	for _, c := range []struct {
		name string
		run  func(delta float64) error
	}{
		{"gaussian", func(delta float64) error {
			_, err := account.Epsilon(account.Repeat{Event: central.Gaussian{Sigma: 100, Sensitivity: 1}, Rounds: 768}, delta)
			return err
		}},
		{"calibrate-gaussian", func(delta float64) error {
			_, _, err := central.CalibrateGaussian(calibrate.Target{Rounds: 768, Epsilon: 1, Delta: delta}, 1)
			return err
		}},
		{"kairouz-oh-viswanath", func(delta float64) error { _, err := profile.KairouzOhViswanath(0.01, 1e-10, 768, delta); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for delta := 1e-6; b.Loop(); delta = anew(delta) {
				if err := c.run(delta); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
