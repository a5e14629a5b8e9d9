package hdc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/seeded"
	"gonum.org/v1/gonum/blas/blas32"
)

const dimension = 6

func identity(t testing.TB) *kernelmap.Features {
	t.Helper()
	f, err := kernelmap.New(kernelmap.Spec{Kernel: kernelmap.InnerIdentity, Dimension: dimension, Repetitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func vectors(r *rand.Rand, n int) blas32.General {
	x := blas32.General{Rows: n, Cols: dimension, Stride: dimension, Data: make([]float32, n*dimension)}
	for i := range x.Data {
		x.Data[i] = float32(r.NormFloat64())
	}
	for i := range n {
		v := blas32.Vector{N: dimension, Inc: 1, Data: x.Data[i*dimension : (i+1)*dimension]}
		blas32.Scal(1/blas32.Nrm2(v), v)
	}
	return x
}

// around is the density of n respondents whose mean is mu, without noise.
func around(f *kernelmap.Features, n int, mu ...float64) kde.Density {
	d := kde.Density{Features: f, Sums: make([]estimate.Value, dimension), Respondents: n}
	for c := range d.Sums {
		d.Sums[c].Mean = float64(n) / 2
		if c < len(mu) {
			d.Sums[c].Mean = float64(n) * (1 + mu[c]) / 2
		}
	}
	return d
}

func block(rows ...[]float32) blas32.General {
	x := blas32.General{Rows: len(rows), Cols: dimension, Stride: dimension}
	for _, r := range rows {
		x.Data = append(x.Data, append(r, make([]float32, dimension-len(r))...)...)
	}
	return x
}

func model(t testing.TB, ds ...kde.Density) *Model {
	t.Helper()
	names := strings.Fields("north east south west")[:len(ds)]
	m, err := New(names, ds)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestHighestDensityWins(t *testing.T) {
	f := identity(t)
	m := model(t, around(f, 100, 0.5), kde.Density{}, around(f, 50, 0, 0.5), around(f, 70, 0.2, 0.2))
	if fmt.Sprint(m.Missing()) != "[1]" {
		t.Errorf("missing %v", m.Missing())
	}
	p, err := m.Classify(block([]float32{1}, []float32{0, 1}, []float32{0.6, 0.8}, []float32{0, 0, 1}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		class, second int
		margin        float64
	}{{0, 3, 0.3}, {2, 3, 0.3}, {2, 0, 0.1}, {0, 2, 0}} { // the last is a tie of all at 0
		if p[i].Class != want.class || p[i].RunnerUp != want.second || math.Abs(p[i].Margin.Mean-want.margin) > 1e-6 {
			t.Errorf("record %d: %+v, want %+v", i, p[i], want)
		}
		if !math.IsNaN(p[i].Scores[1].Mean) {
			t.Errorf("record %d: a missing class has score %v", i, p[i].Scores[1])
		}
	}
	e, err := m.Evaluate(block([]float32{1}, []float32{0, 1}, []float32{0.6, 0.8}, []float32{1}), []int{0, 2, 0, 1})
	if err != nil || e.Right != 2 || e.Accuracy != 0.5 || fmt.Sprint(e.Confusion) != "[[1 0 1 0] [1 0 0 0] [0 0 1 0] [0 0 0 0]]" {
		t.Errorf("evaluation %+v, %v", e, err)
	}
}

// By density the long mean wins at every record near it; the nearest mean is another.
// Groups are so large that rounding has no length.
func TestNearestMean(t *testing.T) {
	f := identity(t)
	const many = 1 << 40
	m := model(t, around(f, many, 0.9), kde.Density{}, around(f, many, 0.5, 0.1))
	x := block([]float32{0.8, 0.6}, []float32{1}, []float32{0.6, 0.8})
	dense, err := m.Classify(x)
	if err != nil {
		t.Fatal(err)
	}
	near, err := m.NearestMean()
	if err != nil {
		t.Fatal(err)
	}
	p, err := near.Classify(x)
	if err != nil {
		t.Fatal(err)
	}
	for i, class := range []int{2, 0, 2} {
		var square [3]float64 // half the squared distances of the means, exactly
		for j, mu := range [][]float64{0: {0.9, 0}, 2: {0.5, 0.1}} {
			for c, v := range mu {
				square[j] += (math.Pow(float64(x.Data[i*dimension+c])-v, 2)) / 2
			}
		}
		if dense[i].Class != 0 || p[i].Class != class || math.Abs(p[i].Margin.Mean-math.Abs(square[0]-square[2])) > 1e-6 ||
			math.Abs(p[i].Scores[0].Mean-(0.5-square[0])) > 1e-6 {
			t.Errorf("record %d: class %d by density, %+v by mean; half squares %v", i, dense[i].Class, p[i], square)
		}
	}
	distances, err := kernelmap.New(kernelmap.Spec{Kernel: kernelmap.Gaussian, Dimension: dimension, Repetitions: dimension, Bandwidth: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model(t, around(distances, 9)).NearestMean(); err == nil || !strings.Contains(err.Error(), "inner products") {
		t.Errorf("a kernel of distances: %v", err)
	}
}

func TestOneClassHasNoRunnerUp(t *testing.T) {
	p, err := model(t, around(identity(t), 3)).Classify(block([]float32{1}))
	if err != nil || p[0].Class != 0 || p[0].RunnerUp != -1 || !p[0].Decided() {
		t.Errorf("%+v, %v", p, err)
	}
}

// With what label noise does in expectation to the sums, debiasing gives back
// the densities of the true classes, of whatever sizes.
func TestDebiasUndoesTheExpectedNoise(t *testing.T) {
	f := identity(t)
	krr := randomize.KRR{K: 3, Epsilon: 1.5}
	truth := []kde.Density{around(f, 3000000, 0.5, 0.1), around(f, 1000000, -0.2, 0.4), around(f, 6000000, 0, 0, -0.7)}
	reported := make([]kde.Density, 3)
	for y := range reported {
		var n float64
		reported[y] = around(f, 0)
		for x, d := range truth {
			share := krr.Prob(y, x)
			n += share * float64(d.Respondents)
			for c, s := range d.Sums {
				reported[y].Sums[c].Mean += share * s.Mean
			}
		}
		reported[y].Respondents = int(math.Round(n))
	}
	debiased, err := model(t, reported...).Debias(krr)
	if err != nil {
		t.Fatal(err)
	}
	x := vectors(seeded.New(1), 20)
	want, _ := model(t, truth...).Classify(x)
	got, err := debiased.Classify(x)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		for c := range truth {
			if math.Abs(got[i].Scores[c].Mean-want[i].Scores[c].Mean) > 1e-5 {
				t.Errorf("record %d, class %d: score %v, truth %v", i, c, got[i].Scores[c], want[i].Scores[c])
			}
		}
	}
}

func TestDebiasRefuses(t *testing.T) {
	f := identity(t)
	krr := randomize.KRR{K: 2, Epsilon: 1}
	if _, err := model(t, around(f, 5), kde.Density{}).Debias(krr); err == nil || !strings.Contains(err.Error(), `"east" is missing`) {
		t.Errorf("missing class: %v", err)
	}
	if _, err := model(t, around(f, 5), around(f, 5)).Debias(randomize.KRR{K: 3, Epsilon: 1}); err == nil {
		t.Error("another number of classes was accepted")
	}
	if _, err := model(t, around(f, 2), around(f, 2)).Debias(krr); err == nil || !strings.Contains(err.Error(), "noise of the labels") {
		t.Errorf("tiny classes: %v", err)
	}
	debiased, err := model(t, around(f, 7311), around(f, 2689)).Debias(krr) // what 10,000 and 0 report
	if err != nil || fmt.Sprint(debiased.Missing()) != "[1]" {
		t.Errorf("a class that nobody holds: %v, %v", debiased, err)
	}
}

// The interval is that of the rule, computed here word by word, and holds the
// rank. Seeds are fixed, for a difference may by chance be as large as its error.
func TestRankIntervals(t *testing.T) {
	f := identity(t)
	for seed := range uint64(60) {
		r := seeded.New(seed)
		x := vectors(r, 1+r.IntN(30))
		words := make([]string, x.Rows)
		index := map[string]int{}
		for i := range words {
			words[i] = fmt.Sprint(i)
			index[words[i]] = i
		}
		d := around(f, 1<<40, 0.5, 0.1, -0.3) // so many that rounding does not matter
		noise := []float64{0, 0.02, 0.3}[seed%3]
		for c := range d.Sums {
			d.Sums[c].StdErr = noise * float64(d.Respondents)
		}
		m, err := New([]string{"class"}, []kde.Density{d})
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := m.Decode(words, x, 1+r.IntN(40))
		if err != nil {
			t.Fatal(err)
		}
		row := func(i int) []float32 { return x.Data[i*dimension : (i+1)*dimension] }
		mu := []float64{0.5, 0.1, -0.3, 0, 0, 0}
		for _, w := range decoded[0] {
			highest, lowest := 1, x.Rows
			for j := range x.Rows {
				var rise, square float64
				for c, v := range row(j) {
					delta := float64(v - row(index[w.Word])[c])
					rise += mu[c] * delta
					square += math.Pow(2*noise*delta, 2)
				}
				z := estimate.Quantile(estimate.Joint(Level, max(1, x.Rows*(x.Rows-1)/2))) * math.Sqrt(square)
				switch {
				case j == index[w.Word]:
				case rise > z:
					highest++
				case rise < -z:
					lowest--
				}
			}
			if w.Highest != highest || w.Lowest != lowest || w.Rank < w.Highest || w.Rank > w.Lowest {
				t.Fatalf("%+v, want %d to %d", w, highest, lowest)
			}
			if noise == 0 && w.Highest != w.Lowest {
				t.Fatalf("%+v without noise", w)
			}
		}
	}
}

func TestDecode(t *testing.T) {
	f := identity(t)
	m := model(t, around(f, 10, 0.5), kde.Density{}, around(f, 10, 0, 0.5))
	got, err := m.Decode([]string{"up", "right", "back"}, block([]float32{1}, []float32{0, 1}, []float32{-0.6, 0.8}), 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[1] != nil || got[0][0].Word != "up" || got[2][0].Word != "right" || got[2][1].Word != "back" {
		t.Errorf("decoded %+v", got)
	}
}

// A word that is common to all classes leads each of them and distinguishes none.
func TestDistinguish(t *testing.T) {
	f := identity(t)
	m := model(t, around(f, 10, 0.3, 0, 0, 0.6), kde.Density{}, around(f, 20, 0, 0.3, 0, 0.6), around(f, 20, 0, 0, 0.3, 0.6))
	words, x := []string{"north", "south", "west", "all"}, block([]float32{1}, []float32{0, 1}, []float32{0, 0, 1}, []float32{0, 0, 0, 1})
	plain, err := m.Decode(words, x, 1)
	if err != nil {
		t.Fatal(err)
	}
	own, err := m.Distinguish(words, x, 4)
	if err != nil {
		t.Fatal(err)
	}
	for c, name := range m.Classes() {
		if name == "east" {
			if own[c] != nil {
				t.Errorf("missing class decoded as %v", own[c])
			}
			continue
		}
		if plain[c][0].Word != "all" || own[c][0].Word != name || math.Abs(own[c][0].Score.Mean-0.3) > 1e-6 || math.Abs(own[c][1].Score.Mean) > 1e-6 || math.Abs(own[c][3].Score.Mean+0.15) > 1e-6 {
			t.Errorf("%s: decoded %v, distinguished by %v", name, plain[c], own[c])
		}
	}
	if _, err := model(t, around(f, 3)).Distinguish(words, x, 1); err == nil {
		t.Error("one class was distinguished")
	}
}

func TestBadModelsAndQuestions(t *testing.T) {
	f := identity(t)
	if _, err := New([]string{"a"}, nil); err == nil {
		t.Error("classes without densities accepted")
	}
	if _, err := New([]string{"a"}, []kde.Density{{}}); err == nil || !strings.Contains(err.Error(), "withheld") {
		t.Errorf("nothing to learn from: %v", err)
	}
	if _, err := New([]string{"a"}, []kde.Density{{Features: f, Respondents: 3}}); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("sums missing: %v", err)
	}
	m := model(t, around(f, 10, 0.5))
	if _, err := m.Classify(block([]float32{1}, []float32{2})); err == nil || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("a record of length 2: %v", err)
	}
	if _, err := m.Evaluate(block([]float32{1}), []int{1}); err == nil || !strings.Contains(err.Error(), "row 0") {
		t.Errorf("a label beyond the classes: %v", err)
	}
	if _, err := m.Evaluate(blas32.General{}, nil); err == nil {
		t.Error("nothing to evaluate accepted")
	}
	if _, err := m.Decode([]string{"a", "b"}, block([]float32{1}), 1); err == nil {
		t.Error("words without vectors accepted")
	}
}

// The end points of the Wilson interval are the q with |p - q| = z sqrt(q(1-q)/n).
func TestWilson(t *testing.T) {
	z := estimate.Quantile(Level)
	for _, c := range []struct{ p, n float64 }{{0.5, 10}, {0.9, 50}, {0.02, 300}} {
		lo, hi := wilson(c.p, c.n)
		for _, q := range []float64{lo, hi} {
			if want := z * math.Sqrt(q*(1-q)/c.n); math.Abs(math.Abs(c.p-q)-want) > 1e-12 {
				t.Errorf("p = %v, n = %v: %v is %v off, want %v", c.p, c.n, q, math.Abs(c.p-q), want)
			}
		}
	}
	if lo, hi := wilson(1, 20); hi != 1 || lo < 0.8 || lo > 0.9 {
		t.Errorf("all right: %v to %v", lo, hi)
	}
}
