package encoder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/rng"
)

func quiet(string, int, int) {}

// stripes are pictures of 8 x 8 with a bar in one of four places.
func stripes(r *rand.Rand, n int) (x blas32.General, y []int) {
	const side = 8
	x = blas32.General{Rows: n, Cols: side * side, Stride: side * side}
	for i := range n {
		class := i % 4
		for p := range side * side {
			v := 0.1 * r.Float32()
			if p/side/2 == class {
				v = 0.9 - 0.2*r.Float32()
			}
			x.Data = append(x.Data, v)
		}
		y = append(y, class)
	}
	return x, y
}

func tiny() VAE {
	return VAE{Dim: 3, Hidden: []int{32}, Length: 8, Epsilon: 30, Likelihood: Bernoulli, Epochs: 25, Batch: 50, Rate: 3e-3}
}

// Codes tell the pictures apart, codes inside the ball stand for pictures like theirs, and the
// same seed gives the same network.
func TestTheAutoencoder(t *testing.T) {
	x, y := stripes(rand.New(rand.NewPCG(1, 1)), 800)
	for _, likelihood := range likelihoods {
		v := tiny()
		v.Likelihood, v.Learned = likelihood, likelihood == Normal
		m, err := v.Fit(rand.New(rand.NewPCG(2, 2)), x, quiet)
		if err != nil {
			t.Fatal(err)
		}
		e, err := New(rand.New(rand.NewPCG(3, 3)), m.Encoder, v.Length, x, device.Trained{Claim: device.ClaimPublic}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		codes, far, all := learn.Codes(e, x), 0.0, 0.0
		for i := range 40 {
			code := codes.Data[i*codes.Stride:][:codes.Cols]
			sum := 0.0
			for _, c := range code {
				sum += math.Abs(float64(c))
			}
			if sum > v.Length*(1+1e-6) {
				t.Fatalf("%s: a code of length %v", likelihood, sum)
			}
			for j, p := range m.Reconstruct(likelihood, code) {
				d := float64(p - x.Data[i*x.Stride+j])
				far, all = far+d*d, all+float64(x.Data[i*x.Stride+j]*x.Data[i*x.Stride+j])
			}
		}
		if far > 0.2*all && likelihood != Normal || // of variance one, which hides pictures like these
			m.Loss[len(m.Loss)-1] > m.Loss[0] {
			t.Errorf("%s: reconstructions are off by %v of %v; losses %v", likelihood, far, all, m.Loss)
		}
		if likelihood != Bernoulli {
			continue
		}
		again, err := v.Fit(rand.New(rand.NewPCG(2, 2)), x, quiet)
		if err != nil || again.Encoder.Params[5] != m.Encoder.Params[5] {
			t.Errorf("another network of the same seed: %v", err)
		}
		learns(t, e, x, y)
	}
	for name, change := range map[string]func(*VAE){
		"no code": func(v *VAE) { v.Dim = 0 }, "no ball": func(v *VAE) { v.Length = 0 }, "no epochs": func(v *VAE) { v.Epochs = 0 },
		"no likelihood": func(v *VAE) { v.Likelihood = "" }, "more than there are": func(v *VAE) { v.Batch = 801 },
	} {
		v := tiny()
		change(&v)
		if _, err := v.Fit(rand.New(rand.NewPCG(2, 2)), x, quiet); err == nil {
			t.Errorf("%s: trained", name)
		}
	}
}

// learns holds classifiers from private reports to the classes of records as they are; those
// learned from other classes say these.
func learns(t *testing.T, e *device.Encoder, x blas32.General, y []int) {
	t.Helper()
	how := device.Report{Vector: device.Laplace{Dim: e.Dim(), Length: e.Length, Points: 1 << 12, Epsilon: 12}, Class: randomize.KRR{K: 4, Epsilon: 3}}
	accuracy := func(of func(i int) int) float64 {
		r, told, reports := rng.New(), []int(nil), [][]byte(nil)
		for i := range y {
			vector, class, err := how.Split(how.Randomize(r, e.Encode(x.Data[i*x.Stride:][:x.Cols]), of(i)))
			if err != nil {
				t.Fatal(err)
			}
			told, reports = append(told, class), append(reports, vector)
		}
		weights := learn.Reported(e, how.Vector, reports)
		c, err := learn.ByPrototypes(rand.New(rand.NewPCG(4, 4)), e.Prototypes, weights, told, 3, 4, quiet)
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		for i, class := range c.Classes(learn.Codes(e, x)) {
			if class == y[i] {
				right++
			}
		}
		return float64(right) / float64(len(y))
	}
	if a := accuracy(func(i int) int { return y[i] }); a < 0.8 {
		t.Errorf("accuracy %v", a)
	}
	if a := accuracy(func(i int) int { return 3 - y[i] }); a > 0.2 {
		t.Errorf("accuracy %v from classes of others", a)
	}
}

// An epoch of LTN's network on so many pictures of 28 x 28: its own are 45,000.
func BenchmarkEpoch(b *testing.B) {
	for _, pictures := range []int{1_000, 45_000} {
		b.Run(fmt.Sprintf("pictures=%d", pictures), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			x := blas32.General{Rows: pictures, Cols: 784, Stride: 784, Data: make([]float32, pictures*784)}
			for i := range x.Data {
				x.Data[i] = r.Float32()
			}
			v := Paper()
			v.Epochs = 1
			for b.Loop() {
				if _, err := v.Fit(r, x, quiet); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
