package latent

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// plane are vectors of two numbers, inside the ball, on its surface and beyond it.
func plane(length float64) (all [][]float32) {
	const steps = 24
	for i := -steps; i <= steps; i++ {
		for j := -steps; j <= steps; j++ {
			all = append(all, []float32{float32(1.5 * length * float64(i) / steps), float32(1.5 * length * float64(j) / steps)})
		}
	}
	return append(all, []float32{float32(math.NaN()), 1}, []float32{float32(math.Inf(1)), 0}, []float32{math.MaxFloat32, -math.MaxFloat32}, []float32{1e-45, 0})
}

// The ratio of laws of whole reports, vector and class, over all pairs of grid points that vectors
// lead to and all reports near them: it reaches the local epsilon and does not pass it. A twin
// does that counts with the distance of vectors before they were rounded, which moves each number
// by up to half a step.
func TestLaplaceByEnumeration(t *testing.T) {
	class := randomize.KRR{K: 3, Epsilon: 0.4}
	ratio := func(points map[[2]int]bool, decay float64) (most float64) {
		for a := range points {
			for b := range points {
				for i := -10; i <= 10; i++ {
					for j := -10; j <= 10; j++ {
						log := 0.0
						for k, said := range []int{i, j} {
							log += prob.LogDiscreteLaplacePMF(said-a[k], decay) - prob.LogDiscreteLaplacePMF(said-b[k], decay)
						}
						most = max(most, log)
					}
				}
			}
		}
		return most + math.Log(class.Prob(0, 0)/class.Prob(1, 0))
	}
	for _, points := range []int{1, 2, 3, 5} {
		m, reached := Laplace{Dim: 2, Length: 2.5, Points: points, Epsilon: 1.2}, map[[2]int]bool{}
		for _, x := range plane(2.5) {
			reached[[2]int(m.Snap(x))] = true
		}
		claimed := Report{m, class}.Local(account.Replacement).Epsilon
		if got := ratio(reached, m.Decay()); got > claimed+1e-12 || got < claimed-1e-6 {
			t.Errorf("%d points tell %v, and %v is claimed", points, got, claimed)
		}
	}
	rounded := map[[2]int]bool{} // steps of length one in a ball of 2.5
	for _, x := range plane(2.5) {
		if math.Abs(float64(x[0]))+math.Abs(float64(x[1])) <= 2.5 {
			rounded[[2]int{int(math.Round(float64(x[0]))), int(math.Round(float64(x[1])))}] = true
		}
	}
	if ratio(rounded, 1.2/(2*2.5)) < 1.6*1.1 {
		t.Error("a twin that forgets rounding keeps the claim")
	}
}

// No two vectors are further apart on the grid than is accounted for, whatever the dimension.
func TestNothingLeavesTheGrid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	for range 2000 {
		m := Laplace{Dim: 1 + r.IntN(9), Length: math.Exp(2 * r.NormFloat64()), Points: 1 + r.IntN(12), Epsilon: 1}
		x := make([]float32, m.Dim)
		for j := range x {
			x[j] = float32(m.Length * r.NormFloat64())
		}
		sum := 0
		for _, n := range m.Snap(x) {
			sum += max(n, -n)
		}
		if sum > m.Points {
			t.Fatalf("%+v: %v is %d steps from the centre", m, x, sum)
		}
	}
}

// No two points of a Gaussian's grid are further apart in the two-norm than is accounted for, whatever the vectors; and
// some are as far. A twin that rounds and goes back no step leaves the ball.
func TestNothingLeavesTheGaussiansGrid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	farthest, outside := 0.0, 0
	for range 2000 {
		m := Gaussian{Dim: 1 + r.IntN(9), Length: math.Exp(2 * r.NormFloat64()), Points: 1 + r.IntN(12)}
		x := make([]float32, m.Dim)
		for j := range x {
			x[j] = float32(m.Length * r.NormFloat64())
		}
		squares, rounded := 0, 0.0
		pull := math.Min(1, m.Length/norm(x)) * float64(m.Points) / m.Length
		for j, n := range m.Snap(x) {
			squares += n * n
			rounded += math.Pow(math.Round(float64(x[j])*pull), 2)
		}
		if squares > m.Points*m.Points {
			t.Fatalf("%+v: %v is %v steps from the centre", m, x, math.Sqrt(float64(squares)))
		}
		farthest = max(farthest, math.Sqrt(float64(squares))/float64(m.Points))
		if rounded > float64(m.Points*m.Points) {
			outside++
		}
	}
	if farthest < 1 || outside < 100 {
		t.Errorf("the farthest is at %v of the ball, and %d of the twin are outside", farthest, outside)
	}
}

// A Gaussian with a class keeps the epsilon that it was calibrated for, and says so with its delta; the class is accounted
// with the vector, so that there is less noise than where each had its part.
func TestAGaussianKeepsItsEpsilon(t *testing.T) {
	class := randomize.KRR{K: 10, Epsilon: 0.9}
	m, err := NewGaussian(8, 3, 1<<12, class, 3, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	g := Report{m, class}.Local(account.Replacement)
	if g.Epsilon > 3 || g.Epsilon < 2.999 || g.Delta != 1e-6 || g.Trust != account.Local || g.Adjacency != account.Replacement {
		t.Errorf("%+v", g)
	}
	parts, err := NewGaussian(8, 3, 1<<12, randomize.KRR{}, 3-0.9, 1e-6)
	if err != nil || parts.Sigma <= m.Sigma {
		t.Errorf("sigma %v together, %v in parts: %v", m.Sigma, parts.Sigma, err)
	}
	if e := (Report{m, class}).Event(100); e != (Report{m, class}).Event(1) {
		t.Error("others hide a report of which no theorem says so")
	}
	for name, bad := range map[string]Gaussian{
		"no numbers": {Length: 1, Points: 9, Sigma: 100, Delta: 1e-6}, "no delta": {Dim: 1, Length: 1, Points: 9, Sigma: 100}, "no noise": {Dim: 1, Length: 1, Points: 9, Delta: 1e-6},
	} {
		if bad.Validate() == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if g := (Gaussian{Dim: 1, Length: 1, Points: 9, Sigma: 1, Delta: 1e-6}).Local(account.Replacement); !math.IsInf(g.Epsilon, 1) {
		t.Errorf("without a proof it promises %v", g.Epsilon)
	}
	e := small(t)
	if got := [3]float64{e.Ball(NameLaplace), e.Ball(NameGaussian), e.Ball(NameCap)}; got != [3]float64{2, 1, 0} {
		t.Errorf("balls %v", got)
	}
}

// Where a Gaussian has less noise than Laplace's law follows from both laws, as docs/noisy-records.md prints it.
func TestWhereAGaussianHasLessNoise(t *testing.T) {
	for epsilon, want := range map[float64]struct {
		gaussian, laplace, times float64
		numbers                  int
	}{1: {8.45, 2.83, 2.99, 14}, 2: {4.46, 1.41, 3.15, 16}, 4: {2.39, 0.71, 3.38, 18}, 8: {1.31, 0.35, 3.69, 21}} {
		m, err := NewGaussian(8, 1, 1<<12, randomize.KRR{}, epsilon, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		gaussian, decay := m.Sigma/float64(m.Points), Laplace{Points: 1 << 12, Epsilon: epsilon}.Decay()
		laplace := math.Sqrt2 / decay / (1 << 12)
		numbers := 1 // of a direction drawn at random the sum of magnitudes is Gamma(n/2)/Gamma((n+1)/2) n/root pi
		for ratio := 0.0; ratio < gaussian/laplace; numbers++ {
			n := float64(numbers + 1)
			above, _ := math.Lgamma((n + 1) / 2)
			below, _ := math.Lgamma(n / 2)
			ratio = n / math.Sqrt(math.Pi) * math.Exp(below-above)
		}
		if math.Abs(gaussian-want.gaussian) > 0.005 || math.Abs(laplace-want.laplace) > 0.005 || math.Abs(gaussian/laplace-want.times) > 0.005 || numbers != want.numbers {
			t.Errorf("epsilon %v: %.3f, %.3f, %.3f times, from %d numbers on", epsilon, gaussian, laplace, gaussian/laplace, numbers)
		}
	}
}

// Devices draw from the Gaussian law, and not from that of less noise; log probabilities are its own.
func TestDevicesDrawFromTheGaussian(t *testing.T) {
	m := Gaussian{Dim: 1, Length: 1, Points: 50, Sigma: 64, Delta: 1e-6}
	const half, wide = 12, 20
	counts, x := make([]int, 2*half+1), []float32{0.6}
	r, like := stattest.Rand(t), m.LogProb(x)
	for range 20_000 {
		report := m.Randomize(r, x)
		got, err := m.Read(report)
		if err != nil {
			t.Fatal(err)
		}
		off := int(math.Round(float64(got[0])*50)) - 30
		if want := -float64(off*off) / (2 * 64 * 64); math.Abs(like(report)-want) > 1e-12 {
			t.Fatalf("log probability %v, want %v", like(report), want)
		}
		counts[max(0, min(2*half, half+int(math.Round(float64(off)/wide))))]++
	}
	law := func(sigma float64) []float64 {
		p, total := make([]float64, len(counts)), 0.0
		for k := -1000; k <= 1000; k++ {
			w := math.Exp(-float64(k*k) / (2 * sigma * sigma))
			p[max(0, min(2*half, half+int(math.Round(float64(k)/wide))))] += w
			total += w
		}
		for i := range p {
			p[i] /= total
		}
		return p
	}
	stattest.GTest(t, law(64), counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law(0.9*64), counts) })
}

// Devices draw from the law that is enumerated, and not from that of a smaller epsilon.
func TestDevicesDrawFromTheLaw(t *testing.T) {
	m := Laplace{Dim: 1, Length: 1, Points: 2, Epsilon: 2}
	const half = 40
	counts, x := make([]int, 2*half+1), []float32{0.6}
	r := stattest.Rand(t)
	for range 20_000 {
		got, err := m.Read(m.Randomize(r, x))
		if err != nil {
			t.Fatal(err)
		}
		counts[max(0, min(2*half, half+int(math.Round(float64(got[0])*2))))]++
	}
	law := func(decay float64) []float64 {
		p, left := make([]float64, len(counts)), 1.0
		for i := range p {
			p[i] = math.Exp(prob.LogDiscreteLaplacePMF(i-half-1, decay))
			left -= p[i]
		}
		p[0] += left
		return p
	}
	stattest.GTest(t, law(m.Decay()), counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law(0.8*m.Decay()), counts) })
	if a, b := m.LogProb([]float32{0})(m.Randomize(r, x)), 0.0; a > b {
		t.Errorf("log probability %v above that of the same point", a)
	}
}

// A cap's report with its class is as likely, up to the epsilon of both, whatever the vector and the
// class; its law is internal/dp/direction's. A twin does that has the cap of a larger epsilon. Alone a cap hides
// in a crowd as its own law says, and with a class as any randomizer of the sum does.
func TestCapByEnumeration(t *testing.T) {
	const epsilon, claimed = 1.5, 1.9
	class := randomize.KRR{K: 3, Epsilon: claimed - epsilon}
	if worst := capRatio(t, BestCap(3, epsilon), class); worst > claimed+1e-9 || worst < claimed-1e-6 {
		t.Errorf("reports tell %v, and %v is claimed", worst, claimed)
	}
	if worst := capRatio(t, BestCap(3, 1.1*epsilon), class); worst <= claimed+1e-9 {
		t.Errorf("a twin with more than its share tells %v, and keeps the claim", worst)
	}
	var shuffled [3]float64
	for i, event := range []account.Event{Report{Vector: BestCap(8, epsilon)}.Event(1000), Report{Vector: Laplace{Dim: 8, Length: 1, Points: 9, Epsilon: epsilon}}.Event(1000), Report{BestCap(8, epsilon), class}.Event(1000)} {
		g, err := account.Epsilon(event, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		shuffled[i] = g.Epsilon
	}
	if !(shuffled[0] < shuffled[1] && shuffled[1] < shuffled[2]) {
		t.Errorf("shuffled epsilons %v", shuffled)
	}
}

// capRatio is the largest logarithm of a ratio of laws of some drawn reports.
func capRatio(t *testing.T, m Cap, class randomize.KRR) (worst float64) {
	t.Helper()
	vectors := [][]float32{{1, 0, 0}, {-5, 0, 0}, {0, 1e-20, 3}, {0, 0, 0}, {float32(math.NaN()), 0, 0}, {1e30, -1e30, 1e30}}
	r := rng.New()
	for range 400 {
		report := m.Randomize(r, vectors[r.IntN(len(vectors))])
		for _, a := range vectors {
			for _, b := range vectors {
				worst = max(worst, m.LogProb(a)(report)-m.LogProb(b)(report))
			}
		}
	}
	for range 100 { // a vector of any length but zero has a direction that is certain
		report := m.Randomize(r, vectors[0])
		if p := m.LogProb(vectors[0])(report); p != m.LogProb([]float32{7, 0, 0})(report) {
			t.Fatal("the length of a vector is told")
		}
	}
	return worst + math.Log(class.Prob(0, 0)/class.Prob(1, 0))
}

func small(t testing.TB) *Encoder {
	t.Helper()
	net, err := nn.New(rand.New(rand.NewPCG(1, 2)), nn.Dense{In: 3, Out: 2})
	if err != nil {
		t.Fatal(err)
	}
	return &Encoder{Net: net, Length: 2, Prototypes: blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{0, 1, 1, 0}}, Sizes: []int{3, 5},
		Trained: Trained{Method: "pca", Of: "made-up records", Records: 8, Claim: ClaimPublic}}
}

func TestTheEncodersForm(t *testing.T) {
	e := small(t)
	text, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseEncoder(text)
	if err != nil {
		t.Fatal(err)
	}
	x := []float32{1, 2, 3}
	if a, b := e.Encode(x), back.Encode(x); a[0] != b[0] || a[1] != b[1] || back.Dim() != 2 || back.Inputs() != 3 || back.Trained != e.Trained {
		t.Errorf("%v, %v", a, b)
	}
	for name, change := range map[string]func(*Encoder){
		"a claim":              func(e *Encoder) { e.Trained.Claim = "trust us" },
		"a promise of nothing": func(e *Encoder) { e.Trained.Claim = ClaimPrivate },
		"a public promise":     func(e *Encoder) { e.Trained.Epsilon = 1 },
		"more than there are":  func(e *Encoder) { e.Trained = Trained{"vae", "", 8, ClaimPrivate, 1, 1e-5, 9, ZeroingOut} },
		"an adjacency":         func(e *Encoder) { e.Trained = Trained{"vae", "", 8, ClaimPrivate, 1, 1e-5, 4, "removal"} },
		"an adjacency of none": func(e *Encoder) { e.Trained.Adjacency = ZeroingOut },
		"no ball":              func(e *Encoder) { e.Length = 0 },
		"a size":               func(e *Encoder) { e.Sizes = []int{1, -1} },
		"a layer": func(e *Encoder) {
			e.Net.Layers = append(e.Net.Layers, nn.Laplace{Size: 2, Length: 1, Scale: 1, Prior: 1, Weight: 1})
		},
		"no number": func(e *Encoder) { e.Prototypes.Data[1] = float32(math.NaN()) },
	} {
		wrong := small(t)
		change(wrong)
		text, err := wrong.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseEncoder(text); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := ParseEncoder(append([]byte(" "), text...)); err == nil {
		t.Error("another form is taken")
	}
	for _, adjacency := range []string{"", ZeroingOut} { // encoders of before have none
		private := small(t)
		private.Trained = Trained{"vae", "", 8, ClaimPrivate, 1, 1e-5, 4, adjacency}
		if text, err = private.Marshal(); err != nil {
			t.Fatal(err)
		}
		if back, err := ParseEncoder(text); err != nil || back.Trained != private.Trained {
			t.Errorf("adjacency %q: %v", adjacency, err)
		}
	}
}

func FuzzParseEncoder(f *testing.F) {
	text, err := small(f).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"confetti_latent":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e *Encoder
		var err error
		costlimit.Heap(t, costlimit.Factor, len(text), func() { e, err = ParseEncoder(text) })
		if err != nil {
			return
		}
		if again, err := e.Marshal(); err != nil || !bytes.Equal(again, text) {
			t.Error("two forms of one encoder")
		}
	})
}
