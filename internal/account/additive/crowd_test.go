package additive

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
)

// kept is the law of what remains of a crowd of n: size, and -1 for lost.
func (c Crowd) kept(n int) map[int]float64 {
	out := map[int]float64{}
	for z := -n - c.Threshold - 400; z <= n+c.Threshold+400; z++ {
		p := math.Exp(-c.Noise*math.Abs(float64(z))) * math.Tanh(c.Noise/2)
		size := max(0, n+z-c.Threshold)
		if size > n {
			size = -1
		}
		out[size] += p
	}
	return out
}

// The two crowds that a replaced respondent leaves and enters, all sizes up to
// ten: the exact hockey stick is the delta claimed, and is attained.
func TestCrowdEnumerated(t *testing.T) {
	for _, epsilon := range []float64{0.5, 1, 3, 6} {
		const delta = 0.02
		c, err := NewCrowd(epsilon, delta)
		if err != nil {
			t.Fatal(err)
		}
		g := c.Guarantee(account.Replacement)
		if g.Delta > delta || g.Epsilon > epsilon || c.lost() > delta/2 {
			t.Errorf("epsilon %v: %v, lost %v", epsilon, g, c.lost())
		}
		worst := 0.0
		for n := range 10 {
			for m := range 10 {
				// One crowd shrinks from n+1 to n, the other grows from m to m+1.
				p1, q1, p2, q2 := c.kept(n+1), c.kept(n), c.kept(m), c.kept(m+1)
				stick := 0.0
				for i, a := range p1 {
					for j, b := range p2 {
						stick += math.Max(0, a*b-math.Exp(g.Epsilon)*q1[i]*q2[j])
					}
				}
				worst = max(worst, stick)
				one := 0.0
				for i, a := range p1 {
					one += math.Max(0, a-math.Exp(c.Noise)*q1[i])
				}
				accounttest.Within(t, "one crowd", one, c.Guarantee(account.Removal).Delta, 1e-9)
			}
		}
		if worst > g.Delta*(1+1e-9) {
			t.Errorf("epsilon %v: delta %v, promised %v", epsilon, worst, g.Delta)
		}
	}
}

// The rule of Theorem V.1 alone, P(Z > T) <= delta/2, breaks its promise where
// e^(epsilon/2) > 3: the broken twin of NewCrowd.
func TestCrowdNeedsSecondCondition(t *testing.T) {
	const epsilon, delta = 6, 0.02
	c := Crowd{Noise: epsilon / 2}
	for c.lost() > delta/2 {
		c.Threshold++
	}
	if told := c.Guarantee(account.Removal).Delta; told <= delta {
		t.Errorf("threshold %d has delta %v: no need for a second condition", c.Threshold, told)
	}
	if right, err := NewCrowd(epsilon, delta); err != nil || right.Threshold <= c.Threshold {
		t.Errorf("NewCrowd: %+v, %v", right, err)
	}
	// Where it is enough, T is the published one.
	mild, err := NewCrowd(1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	mild.Threshold--
	if mild.lost() <= 1e-6/2 {
		t.Errorf("threshold %d would do", mild.Threshold)
	}
}
