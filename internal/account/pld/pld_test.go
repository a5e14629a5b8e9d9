package pld

import (
	"math"
	"testing"
)

// twoPoint is the law of randomized response, whose k-fold composition has a
// closed form: the losses are +-e.
func twoPoint(e float64) []Atom {
	p := 1 / (1 + math.Exp(-e))
	return []Atom{{e, p}, {-e, 1 - p}}
}

// kFold is the exact delta of k rounds of twoPoint(e), by summing the binomial.
func kFold(e float64, k int, epsilon float64) float64 {
	lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	up := -math.Log1p(math.Exp(-e))
	sum := 0.0
	for j := k; j >= 0; j-- {
		loss := float64(2*j-k) * e
		if loss <= epsilon {
			break
		}
		log := lg(float64(k+1)) - lg(float64(j+1)) - lg(float64(k-j+1)) + float64(k)*up - float64(k-j)*e
		sum += -math.Expm1(epsilon-loss) * math.Exp(log)
	}
	return sum
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestTwoPointOnGridIsExact(t *testing.T) {
	for _, c := range []struct {
		e    float64
		k    int
		eps  float64
		tiny float64
	}{{0.05, 768, 2, 1e-9}, {0.1, 100, 4, 1e-9}, {0.1, 100, 9, 1e-7}, {0.5, 10, 0, 1e-9}, {0.5, 10, 4.9, 1e-9}, {0.01, 768, 4, 1e-6}} {
		want := kFold(c.e, c.k, c.eps)
		for _, build := range []func([]Atom, float64, float64) (*Distribution, error){FromAtoms, LowerFromAtoms} {
			d := must[*Distribution](t)(build(twoPoint(c.e), 0, c.e/20))
			got := must[float64](t)(must[*Composition](t)(Compose(d, c.k)).Delta(c.eps))
			if math.Abs(got/want-1) > c.tiny {
				t.Errorf("e=%v k=%d eps=%v lower=%v: delta %.12g, want %.12g", c.e, c.k, c.eps, d.lower, got, want)
			}
		}
	}
}

func TestEpsilonInvertsDelta(t *testing.T) {
	d := must[*Distribution](t)(FromAtoms(twoPoint(0.1), 0, 0.005))
	c := must[*Composition](t)(Compose(d, 200))
	for _, eps := range []float64{0.3, 1, 3, 6, 10, 15, 19.5} {
		delta := must[float64](t)(c.Delta(eps))
		back := must[float64](t)(c.Epsilon(delta))
		if math.Abs(back-eps) > 1e-7 {
			t.Errorf("epsilon(delta(%v) = %v) = %v", eps, delta, back)
		}
	}
}

// Off the grid the two sides must bracket the truth, closely.
func TestBracket(t *testing.T) {
	e := 0.1
	for _, step := range []float64{0.03, 0.0071, 0.001} {
		up := must[*Composition](t)(Compose(must[*Distribution](t)(FromAtoms(twoPoint(e), 0, step)), 100))
		down := must[*Composition](t)(Compose(must[*Distribution](t)(LowerFromAtoms(twoPoint(e), 0, step)), 100))
		for _, eps := range []float64{0.5, 2, 5, 8} {
			want := kFold(e, 100, eps)
			hi, lo := must[float64](t)(up.Delta(eps)), must[float64](t)(down.Delta(eps))
			if !(lo <= want && want <= hi) {
				t.Errorf("step %v eps %v: %v <= %v <= %v fails", step, eps, lo, want, hi)
			}
		}
	}
}

// poisson atoms: a law with many atoms off the grid and a loss unbounded above.
func poissonShift(lambda float64, most int) (atoms []Atom, infinite float64) {
	// P = 1 + Poisson, Q = Poisson: loss at k is ln(k/lambda), never infinite;
	// reversed roles: infinite at 0.
	for k := 1; k <= most; k++ {
		lg, _ := math.Lgamma(float64(k))
		atoms = append(atoms, Atom{math.Log(float64(k) / lambda), math.Exp(float64(k-1)*math.Log(lambda) - lambda - lg)})
	}
	return atoms, 0
}

func TestSidesAndHalvingTheStep(t *testing.T) {
	atoms, inf := poissonShift(400, 800)
	var ups, downs []float64
	for _, step := range []float64{0.004, 0.002, 0.001, 0.0005} {
		up := must[*Composition](t)(Compose(must[*Distribution](t)(FromAtoms(atoms, inf, step)), 50))
		down := must[*Composition](t)(Compose(must[*Distribution](t)(LowerFromAtoms(atoms, inf, step)), 50))
		ups = append(ups, must[float64](t)(up.Epsilon(1e-6)))
		downs = append(downs, must[float64](t)(down.Epsilon(1e-6)))
	}
	for i := range ups {
		if i > 0 && (ups[i] > ups[i-1]*(1+1e-9) || downs[i] < downs[i-1]*(1-1e-9)) {
			t.Errorf("not monotone in the step: %v %v", ups, downs)
		}
		if downs[i] > ups[i] {
			t.Errorf("lower %v above upper %v", downs[i], ups[i])
		}
	}
	// The lower side moves mass by up to the distance of two atoms, here five
	// steps, to shift an atom by one.
	if gap := ups[3]/downs[3] - 1; gap > 2e-4 {
		t.Errorf("bracket of relative width %v: not of second order: %v %v", gap, ups, downs)
	}
}

func TestCurvesAgreeWithAtoms(t *testing.T) {
	e, step := 0.8, 0.01
	var h []float64
	for i := 0; i <= 80; i++ {
		h = append(h, kFold(e, 1, float64(i)*step))
	}
	h[80] = 0
	d := must[*Distribution](t)(FromCurves(h, h, step))
	c := must[*Composition](t)(Compose(d, 7))
	for _, eps := range []float64{0, 1, 3, 5} {
		if got, want := must[float64](t)(c.Delta(eps)), kFold(e, 7, eps); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("eps %v: %v, want %v", eps, got, want)
		}
	}
	// Noise above the curve keeps it an upper bound.
	for i := range h[:80] {
		h[i] += 1e-9 * float64(i%3)
		if i > 0 {
			h[i] = math.Min(h[i], h[i-1])
		}
	}
	n := must[*Composition](t)(Compose(must[*Distribution](t)(FromCurves(h, h, step)), 7))
	for _, eps := range []float64{0, 1, 3, 5} {
		if got, want := must[float64](t)(n.Delta(eps)), kFold(e, 7, eps); got < want*(1-1e-12) || got > want+1e-6 {
			t.Errorf("noisy, eps %v: %v, want %v", eps, got, want)
		}
	}
}

func TestHeterogeneousEqualsRepeated(t *testing.T) {
	d := must[*Distribution](t)(FromAtoms(twoPoint(0.1), 1e-9, 0.01))
	all := must[*Composition](t)(Compose(d, 30))
	split := must[*Composition](t)(Compose(d, 11))
	if err := split.Add(d, 19); err != nil {
		t.Fatal(err)
	}
	for _, eps := range []float64{0, 0.5, 2, 2.9} {
		a, b := must[float64](t)(all.Delta(eps)), must[float64](t)(split.Delta(eps))
		if math.Abs(a/b-1) > 1e-9 {
			t.Errorf("eps %v: %v and %v", eps, a, b)
		}
	}
}

func TestInfiniteMass(t *testing.T) {
	d := must[*Distribution](t)(FromAtoms([]Atom{{0, 0.999}}, 0.001, 1))
	c := must[*Composition](t)(Compose(d, 10))
	want := 1 - math.Pow(0.999, 10)
	if got := must[float64](t)(c.Delta(3)); math.Abs(got-want) > 1e-14 {
		t.Errorf("delta %v, want %v", got, want)
	}
	if got := must[float64](t)(c.Epsilon(want / 2)); !math.IsInf(got, 1) {
		t.Errorf("epsilon %v below the infinite mass", got)
	}
	if got := must[float64](t)(c.Epsilon(want * 1.01)); got != 0 {
		t.Errorf("epsilon %v, want 0", got)
	}
}

func TestRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, err := range map[string]error{
		"mass short":    second(FromAtoms([]Atom{{0, 0.9}}, 0, 1)),
		"mass over":     second(FromAtoms([]Atom{{0, 0.9}, {1, 0.2}}, 0, 1)),
		"negative mass": second(FromAtoms([]Atom{{0, 1.1}, {1, -0.1}}, 0, 1)),
		"NaN loss":      second(FromAtoms([]Atom{{nan, 1}}, 0, 1)),
		"infinite loss": second(FromAtoms([]Atom{{inf, 1}}, 0, 1)),
		"step 0":        second(FromAtoms([]Atom{{0, 1}}, 0, 0)),
		"step NaN":      second(FromAtoms([]Atom{{0, 1}}, 0, nan)),
		"huge span":     second(FromAtoms([]Atom{{0, 0.5}, {1e300, 0.5}}, 0, 1)),
		"rising curve":  second(FromCurves([]float64{0.1, 0.2}, []float64{0.1, 0}, 1)),
		"no curve":      second(FromCurves(nil, nil, 1)),
		"not a pair":    second(FromCurves([]float64{0.9, 0}, []float64{0.9, 0}, 1e-3)),
		"two starts":    second(FromCurves([]float64{0.2, 0}, []float64{0.1, 0}, 1)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	d := must[*Distribution](t)(FromAtoms([]Atom{{0, 1}}, 0, 1))
	other := must[*Distribution](t)(FromAtoms([]Atom{{0, 1}}, 0, 2))
	c := must[*Composition](t)(Compose(d, 1))
	if c.Add(d, 0) == nil || c.Add(other, 1) == nil {
		t.Error("0 rounds or another step accepted")
	}
	for _, x := range []float64{0, -1, 1, nan, inf} {
		if _, err := c.Epsilon(x); err == nil {
			t.Errorf("delta %v accepted", x)
		}
	}
	for _, x := range []float64{-1, nan, inf} {
		if _, err := c.Delta(x); err == nil {
			t.Errorf("epsilon %v accepted", x)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func BenchmarkEpsilon768(b *testing.B) {
	atoms, inf := poissonShift(400, 800)
	d := must[*Distribution](b)(FromAtoms(atoms, inf, 0.0005))
	for b.Loop() {
		c := must[*Composition](b)(Compose(d, 768))
		must[float64](b)(c.Epsilon(1e-6))
	}
}

// A walk over many epsilons is as good as one convolution each, on either side, and ends
// where nothing is left.
func TestDeltasAreThoseOfEachEpsilon(t *testing.T) {
	for _, build := range []func([]Atom, float64, float64) (*Distribution, error){FromAtoms, LowerFromAtoms} {
		d := must[*Distribution](t)(build(twoPoint(0.1), 0, 0.005))
		c := must[*Composition](t)(Compose(d, 200))
		var at []float64
		for i := range 4000 {
			at = append(at, float64(i)*0.00473)
		}
		const neglect = 1e-40
		got := must[[]float64](t)(c.Deltas(at, neglect))
		if len(got) < 1000 || len(got) == len(at) {
			t.Fatalf("%d of %d epsilons", len(got), len(at))
		}
		for i := 0; i < len(got); i += 37 {
			want := must[float64](t)(c.Delta(at[i]))
			if math.Abs(got[i]/want-1) > 1e-6 {
				t.Errorf("lower %v: delta(%v) = %v, want %v", d.lower, at[i], got[i], want)
			}
			if exact := kFold(0.1, 200, at[i]); d.lower && got[i] > exact*(1+1e-9) || !d.lower && got[i] < exact*(1-1e-9) {
				t.Errorf("lower %v: delta(%v) = %v, exactly %v", d.lower, at[i], got[i], exact)
			}
		}
		if next := must[float64](t)(c.Delta(at[len(got)])); next > neglect*1.01 {
			t.Errorf("ended where %v is left", next)
		}
	}
	d := must[*Distribution](t)(FromAtoms([]Atom{{0, 0.9}}, 0.1, 1))
	c := must[*Composition](t)(Compose(d, 1))
	if got := must[[]float64](t)(c.Deltas([]float64{0, 1, 5}, 1e-9)); len(got) != 3 || got[2] != 0.1 {
		t.Errorf("infinite mass: %v", got)
	}
	for _, bad := range [][]float64{{-1}, {math.NaN()}, {1, 0.5}} {
		e := must[*Composition](t)(Compose(must[*Distribution](t)(FromAtoms(twoPoint(2), 0, 0.01)), 3))
		if got, err := e.Deltas(bad, 0); err == nil {
			t.Errorf("epsilons %v were taken: %v", bad, got)
		}
	}
}
