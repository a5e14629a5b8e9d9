package bitnoise

import (
	"math"
	"math/cmplx"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/prob"
)

// thinnedLaw is the law of the messages of rho times as many respondents of which a
// share came through, from the definition: each message by itself.
func thinnedLaw(e NegativeBinomialSum, rho, share float64, width int) []float64 {
	law := make([]float64, width)
	for k := range 4 * width {
		w := math.Exp(prob.LogNegativeBinomialPMF(k, rho*e.Shape, e.Prob))
		if w < 1e-18 {
			continue
		}
		for j := range min(k+1, width) {
			law[j] += w * math.Exp(prob.LogBinomialPMF(j, k, share))
		}
	}
	return law
}

// bitMoves is the worse hockey stick of a law and the same one higher.
func bitMoves(law []float64, epsilon float64) float64 {
	up := append([]float64{0}, law...)
	law = append(append([]float64{}, law...), 0)
	return math.Max(accounttest.Stick(law, up, epsilon), accounttest.Stick(up, law, epsilon))
}

// Against the thinned law, for every number of respondents and share that a hop may
// leave. The bound is near the worst of them, and the noise as it was meant does not
// bound it.
func TestThinnedNoiseEnumerated(t *testing.T) {
	for _, e := range []NegativeBinomialSum{{10, 20, 0.5}, {10, 3, 0.8}} {
		const times, width = 4, 150
		for _, epsilon := range []float64{0.2, 0.5, 1} {
			g, err := account.Delta(ThinnedNegativeBinomialSum{e, times}, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for _, rho := range []float64{1, 1.01, 1.3, 2, 3, times} {
				for _, share := range []float64{1 / rho, math.Min(1, 1.3/rho), 1} {
					worst = math.Max(worst, bitMoves(thinnedLaw(e, rho, share, width), epsilon))
				}
			}
			if worst > g.Delta*(1+1e-9) || worst < 0.9*g.Delta {
				t.Errorf("%+v: delta(%v) = %v, the worst found %v", e, epsilon, g.Delta, worst)
			}
			if plain, err := account.Delta(e, epsilon); err != nil || plain.Delta > 0.9*worst && epsilon < 0.3 { // in the tails the noise as it was meant is worse
				t.Errorf("%+v: what is not thinned gives %v (%v), the thinned law %v: the test is too weak", e, plain.Delta, err, worst)
			}
		}
	}
}

// What thinning costs noise of one negative binomial with p = 1/2, over 768 channels: at
// most sqrt2 in epsilon, as the variance falls from twice the mean to the mean.
func TestThinningCostsAtMostARootOfTwo(t *testing.T) {
	target := calibrate.Target{Users: 1000, Rounds: 768, Epsilon: 1, Delta: 1e-5}
	e, _, err := CalibrateThinnedNegativeBinomialSum(target, 0.5, 1)
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for _, times := range []float64{1, 2, 4, 100} {
		g, err := account.Epsilon(account.Repeat{Event: ThinnedNegativeBinomialSum{e, times}, Rounds: target.Rounds}, target.Delta)
		if err != nil || g.Epsilon < last || g.Epsilon > 1.47 || times == 1 && g.Epsilon > 1 {
			t.Errorf("times %v: %v, %v", times, g, err)
		}
		last = g.Epsilon
		t.Logf("times %v: epsilon %.4f", times, g.Epsilon)
	}
	safe, g, err := CalibrateThinnedNegativeBinomialSum(target, 0.5, 4)
	if err != nil || g.Epsilon > 1 || safe.RMSE() < e.RMSE() || safe.RMSE() > 1.35*e.RMSE() {
		t.Errorf("calibrated %+v (%v, %v), without thinning %+v", safe, g, err, e)
	}
}

// thinnedThreeNB is the law of both counts of 3NB noise of rho times as many
// respondents, of whose messages the share 1/rho came through, each by itself, on m x m
// outcomes: generating functions, in which thinning puts 1-s+sz for z, at the roots of
// unity.
func thinnedThreeNB(e ThreeNB, rho float64, m int) []float64 {
	through, noise := make([]complex128, m), make([]complex128, m)
	nb := func(r, p float64, z complex128) complex128 {
		return cmplx.Exp(complex(rho*r, 0) * (complex(math.Log1p(-p), 0) - cmplx.Log(1-complex(p, 0)*z)))
	}
	for k := range through {
		z := cmplx.Exp(complex(0, -2*math.Pi*float64(k)/float64(m)))
		through[k] = complex(1-1/rho, 0) + complex(1/rho, 0)*z
		noise[k] = nb(1, math.Exp(-e.Noise), through[k])
	}
	g := make([]complex128, m*m)
	for i := range m {
		for j := range m {
			g[i*m+j] = noise[i] * noise[j] * nb(e.FloodShape, e.FloodProb, through[i]*through[j])
		}
	}
	f, column, law := fourier.NewCmplxFFT(m), make([]complex128, m), make([]float64, m*m)
	for i := range m {
		f.Sequence(g[i*m:][:m], g[i*m:][:m])
	}
	for j := range m {
		for i := range m {
			column[i] = g[i*m+j]
		}
		f.Sequence(column, column)
		for i, v := range column {
			law[i*m+j] = real(v) / float64(m*m)
		}
	}
	return law
}

// composedEpsilon is that of so many rounds in which an m x m law is compared with the
// same one higher in the first count, the worse direction in all rounds.
func composedEpsilon(t *testing.T, law []float64, m, rounds int, delta float64) float64 {
	worst := 0.0
	for _, falls := range []bool{true, false} {
		var atoms []pld.Atom
		impossible := 1.0 // less what follows
		for i, p := range law {
			q := 0.0
			if i >= m {
				q = law[i-m]
			}
			if !falls {
				p, q = q, p
			}
			if p >= 1e-16 && q >= 1e-16 { // what Fourier transforms are right to
				atoms = append(atoms, pld.Atom{Loss: math.Log(p / q), Mass: p})
				impossible -= p
			}
		}
		d, err := pld.FromAtoms(atoms, math.Max(0, impossible), 1e-3)
		if err != nil {
			t.Fatal(err)
		}
		c, err := pld.Compose(d, rounds)
		if err != nil {
			t.Fatal(err)
		}
		epsilon, err := c.Epsilon(delta)
		if err != nil {
			t.Fatal(err)
		}
		worst = math.Max(worst, epsilon)
	}
	return worst
}

// 3NB loses nothing where a third of everybody's messages comes through, of three times
// as many respondents: what its two noises lose in spread, the floods gain that are not
// dropped in pairs. Of a hundred times as many it does lose. The law of both counts,
// with as much noise in relation to the flood as plans for thousands have; no proof is
// known for other parameters.
func TestThreeNBBearsBeingThinnedToAThird(t *testing.T) {
	e, m := ThreeNB{Noise: 0.06, FloodShape: 12, FloodProb: 0.889}, 1024
	for _, rounds := range []int{16, 60, 240} {
		whole := composedEpsilon(t, thinnedThreeNB(e, 1, m), m, rounds, 1e-4)
		if g, err := account.Epsilon(account.Repeat{Event: e, Rounds: rounds}, 1e-4); err != nil || whole > g.Epsilon*(1+1e-3) || whole < 0.9*g.Epsilon {
			t.Errorf("%d rounds: %v, the accountant says %v, %v", rounds, whole, g, err)
		}
		for _, rho := range []float64{1.1, 1.5, 2, 3, 8, 100} {
			thin := composedEpsilon(t, thinnedThreeNB(e, rho, m), m, rounds, 1e-4)
			t.Logf("%d rounds, %v times as many: %.3f of the epsilon", rounds, rho, thin/whole)
			if rho <= 3 && thin > whole || rho >= 8 && thin <= whole {
				t.Errorf("%d rounds, %v times as many: epsilon %v, %v whole", rounds, rho, thin, whole)
			}
		}
	}
}

func TestThinnedNoiseRefuses(t *testing.T) {
	for _, times := range []float64{0, 0.5, 1e5, math.Inf(1), math.NaN()} {
		if g, err := account.Epsilon(ThinnedNegativeBinomialSum{NegativeBinomialSum{10, 20, 0.5}, times}, 1e-6); err == nil {
			t.Errorf("times %v gives %v", times, g)
		}
	}
}
