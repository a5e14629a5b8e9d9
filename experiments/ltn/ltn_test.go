package ltn

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/stattest"
)

// Of exact numbers the shares come back, whatever the clusters hold.
func TestDecodingExactNumbers(t *testing.T) {
	got, err := decode([]float64{30, 10, 0, 60, 3, -3}, []float64{0.4, 0.6, 0}, 2, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.75, 0.25, 0, 1} {
		if math.Abs(got[i/2][i%2]-want) > 1e-12 {
			t.Errorf("share %d is %v, want %v", i, got[i/2][i%2], want)
		}
	}
	if got[2] != nil {
		t.Errorf("a cluster that holds nobody has the shares %v", got[2])
	}
}

// The rule takes more clusters where more is said, never fewer than it may, and at those that it
// takes a typical cell stands out.
func TestTheRuleForClusters(t *testing.T) {
	before := 0
	for _, e := range []float64{0.5, 1, 2, 4, 8} {
		j := clusters(13_500, 10, e)
		if j < before || j < fewest || j > most {
			t.Errorf("%d clusters at epsilon %v, after %d", j, e, before)
		}
		if j > fewest {
			m := randomize.SubsetSelection{K: 10 * j, W: randomize.SubsetSize(10*j, e), Epsilon: e}
			if noise := math.Sqrt(m.Variance(0, 13_500)); 13_500/float64(j) < apart*noise {
				t.Errorf("at epsilon %v a typical cell of %d clusters is %v errors", e, j, 13_500/float64(j)/noise)
			}
		}
		before = j
	}
}

// The graph puts points of a ring together that k-means would cut.
func TestTheGraphFollowsRings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := blas32.General{Rows: 200, Cols: 2, Stride: 2}
	for i := range x.Rows {
		radius, angle := float64(1+4*(i%2)), 2*math.Pi*float64(i)/200+0.01*r.Float64()
		x.Data = append(x.Data, float32(radius*math.Cos(angle)), float32(radius*math.Sin(angle)))
	}
	y, err := embedded(x, 2)
	if err != nil {
		t.Fatal(err)
	}
	dot := func(i, j int) float64 { return float64(y.Data[2*i]*y.Data[2*j] + y.Data[2*i+1]*y.Data[2*j+1]) }
	for i := 2; i < x.Rows; i++ {
		if same, other := dot(i, i%2), dot(i, 1-i%2); same < 0.99 || other > 0.2 {
			t.Fatalf("point %d: %v to its ring, %v to the other", i, same, other)
		}
	}
}

// quarters are pictures with a bar in one of four directions, and noise.
func quarters(r *rand.Rand, n int) dataset.Labelled {
	const side = 16
	out := dataset.Labelled{X: blas32.General{Rows: n, Cols: side * side, Stride: side * side}}
	for i := range n {
		y, shift := i%4, 2*r.Float64()-1
		sin, cos := math.Sincos(float64(y) * math.Pi / 4)
		for p := range side * side {
			u, v := float64(p%side)-7.5, float64(p/side)-7.5
			x := 0.05 * r.Float64()
			if math.Abs(u*sin-v*cos-shift) < 1.5 {
				x = 0.9
			}
			out.X.Data = append(out.X.Data, float32(x))
		}
		out.Y = append(out.Y, y)
	}
	return out
}

// From symbols alone a net tells the bars apart, and two groups show which of them is new; a
// cell's result says what it cost.
func TestLearningFromSymbols(t *testing.T) {
	r := stattest.Rand(t)
	set := &dataset.Set{Name: "bars", Classes: []string{"a", "b", "c", "d"}, Train: quarters(r, 1600), Test: quarters(r, 200)}
	for application, least := range map[string]float64{collection: 0.9, novel: 0.7} {
		res, err := Run(Cell{Application: application, Mechanism: "symbols", Epsilon: 6, Seed: 3}, set, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v", application, res)
		if res.AccuracyClean < least || res.EpsilonLocal != 6 || !(res.EpsilonCentral > 0 && res.EpsilonCentral <= 6) || res.Clusters < fewest {
			t.Errorf("%s: %+v", application, res)
		}
	}
	if _, err := Run(Cell{Application: collection, Mechanism: "symbols", Epsilon: 6}, &dataset.Set{Train: dataset.Labelled{X: blas32.General{Cols: 10}}}, nil); err == nil {
		t.Error("what is no picture was taken")
	}
}
