package kmeans

import (
	"math"
	"slices"
	"testing"

	learned "github.com/confetti-dp/confetti/lab/train/cluster"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// Of four heaps private clusters are the heaps where noise is small beside them, and none are believed where it is not; no
// row, however long, moves a round's sums by more than is accounted for.
func TestPrivateClusters(t *testing.T) {
	r := stattest.Rand(t)
	x, of := blas32.General{Rows: 4000, Cols: 6, Stride: 6}, make([]int, 4000)
	for i := range of {
		of[i] = i % 4
		for j := range x.Cols {
			v := 0.05 * r.NormFloat64()
			if j == of[i] {
				v += 0.9
			}
			x.Data = append(x.Data, float32(v))
		}
	}
	purity := func(noise float64) float64 {
		s, err := Private{Clusters: 8, Rounds: 6, NoiseMultiplier: noise}.Fit(r, r, x, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		counts, right := make([][4]int, s.Len()), 0
		for i, c := range learned.All(s, x) {
			counts[c][of[i]]++
		}
		for _, n := range counts {
			right += max(n[0], n[1], n[2], n[3])
		}
		return float64(right) / 4000
	}
	if p := purity(4); p < 0.95 {
		t.Errorf("purity %v", p)
	}
	lost, err := Private{Clusters: 4, Rounds: 1, NoiseMultiplier: 1e5}.Fit(r, r, x, func(string, int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	for c, n := range lost.Sizes {
		if n != 0 && n < 3e5 {
			t.Errorf("cluster %d of %d rows stands out of noise of 1e5", c, n)
		}
	}
	g, err := account.Epsilon(Private{Clusters: 8, Rounds: 6, NoiseMultiplier: 4}.noise().Event(), 1e-5)
	if err != nil || g.Adjacency != account.Removal || g.Rounds != 10 || g.Epsilon < 3 || g.Epsilon > 4.5 {
		t.Errorf("%+v, %v", g, err)
	}
	long := shortened(blas32.General{Rows: 3, Cols: 2, Stride: 2, Data: []float32{300, 400, 0.3, 0.4, float32(math.Inf(1)), 1}})
	if n := math.Hypot(float64(long.Data[0]), float64(long.Data[1])); n > 1 || n < 0.999 || long.Data[2] != 0.3 || long.Data[4] != 0 || long.Data[5] != 0 {
		t.Errorf("%v", long.Data)
	}
	if _, err := (Private{Clusters: 0, NoiseMultiplier: 1}).Fit(r, r, x, nil); err == nil {
		t.Error("no clusters")
	}
}

// As many clusters are taken as have centres that can be told from their noise: fewer where less is to be learned of a row,
// or fewer rows are there, and never none.
func TestMostPrivateClusters(t *testing.T) {
	const rows, columns, delta = 45_000, 324, 5e-6
	p := Private{Clusters: 500, Rounds: 5}
	last := 0
	for _, epsilon := range []float64{0.5, 2.5, 60} {
		most, err := p.Most(rows, columns, epsilon, delta)
		if err != nil {
			t.Fatal(err)
		}
		fewer, err := p.Most(rows/10, columns, epsilon, delta)
		if err != nil || most < last || most < 1 || most > 500 || fewer > most {
			t.Errorf("epsilon %v: %d clusters of all rows, %d of a tenth, %d before; %v", epsilon, most, fewer, last, err)
		}
		if last = most; most == 1 {
			continue
		}
		kept, _, err := Private{Clusters: most, Rounds: 5}.Keeping(rows, epsilon, delta)
		if noise := kept.NoiseMultiplier * math.Sqrt(2*columns) / (rows / float64(most)); err != nil || noise > clearCentre {
			t.Errorf("epsilon %v: %d clusters, whose centres have noise of length %v; %v", epsilon, most, noise, err)
		}
	}
	if last != 500 {
		t.Errorf("%d clusters at epsilon 60", last)
	}
	if _, err := p.Most(rows, columns, -1, delta); err == nil {
		t.Error("an epsilon below nothing was taken")
	}
}

// No row, whatever its numbers are, moves sums and numbers by more than sqrt 2. As it was read one does, or makes them no
// numbers.
func TestNoRowMovesASumFurtherThanIsAccountedFor(t *testing.T) {
	r := stattest.Rand(t)
	rows := blas32.General{Rows: 30, Cols: 5, Stride: 5}
	for range rows.Rows * rows.Cols {
		rows.Data = append(rows.Data, float32(r.NormFloat64()))
	}
	s := &cluster.State{Centres: zeros(3, 5), Sizes: make([]int, 3)}
	for i := range s.Centres.Data {
		s.Centres.Data[i] = float32(r.NormFloat64())
	}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	moved := func(row []float32, as func(blas32.General) blas32.General) float64 {
		one, squares := blas32.General{Rows: 1, Cols: 5, Stride: 5, Data: row}, 0.0
		all := blas32.General{Rows: 31, Cols: 5, Stride: 5, Data: append(slices.Clone(rows.Data), row...)}
		without := sumsOf(s, as(rows))
		for i, v := range sumsOf(s, as(all)) {
			squares += (v - without[i]) * (v - without[i])
		}
		if sums := sumsOf(s, as(one)); math.Abs(sums[5]+sums[11]+sums[17]-1) > 0 {
			t.Errorf("%v counts %v times", row, sums)
		}
		return math.Sqrt(squares)
	}
	asTheyAre := func(x blas32.General) blas32.General { return x }
	for _, v := range []float32{3e38, float32(math.Inf(-1)), float32(math.NaN()), 1e-45, 1e19} {
		for _, row := range [][]float32{{v, v, v, v, v}, {0.1, v, 0.2, 0, 0}} {
			if d := moved(row, shortened); !(d <= math.Sqrt2) {
				t.Errorf("%v moves sums by %v", row, d)
			}
			if d := moved(row, asTheyAre); d <= math.Sqrt2 && v > 1 {
				t.Errorf("%v as it is moves sums by %v: the test tells nothing", row, d)
			}
		}
	}
}
