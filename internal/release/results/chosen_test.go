package results

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/question/latent"
)

// Counts judge models as their law says: the true shares of each cluster score the most, then the likeliest class
// everywhere, and last a model that is the other way round. A public record of no other class is no loss.
func TestCountsJudgeModels(t *testing.T) {
	p, state := planned(t, false, []string{"a", "b"})
	m, err := readLatent(p, state, strings.NewReader(symbolsHead+"respondents,1,a,300,10,\nrespondents,1,b,100,10,\nrespondents,2,a,50,10,\nrespondents,2,b,150,10,\nrespondents,3,a,0,10,\nrespondents,3,b,400,10,\n"))
	if err != nil {
		t.Fatal(err)
	}
	var x []float32
	for range 4 {
		x = append(x, 0, 0, 6, 0, 0, 6)
	}
	public := points(x...)
	a, b := 0, 1
	truth := []int{a, a, b, a, b, b, a, b, b, b, b, b}
	likeliest := []int{a, b, b, a, b, b, a, b, b, a, b, b}
	contrary := []int{b, a, a, b, a, a, b, a, a, b, a, a}
	got, err := judged(m, public, [][]int{likeliest, truth, contrary})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.7, 0.775, -0.7} {
		if math.Abs(got[i].Score-want) > 1e-12 || math.Abs(got[i].Behind-(0.775-want)) > 1e-12 {
			t.Errorf("model %d scores %+v, want %v", i, got[i], want)
		}
		if (got[i].BehindErr > 0) != (i != 1) || !(got[i].StdErr > 0.01 && got[i].StdErr < 0.05) {
			t.Errorf("model %d has errors %+v", i, got[i])
		}
	}
	if _, err := judged(m, blas32.General{Rows: 1, Cols: 3, Stride: 3, Data: make([]float32, 3)}, nil); err == nil {
		t.Error("public records of other columns are taken")
	}
	groups, state := planned(t, false, nil, "old", "new")
	if _, err := Judge(groups, state, []byte(symbolsHead+"old,1,,60,1,\nold,2,,40,1,\nold,3,,0,1,\nnew,1,,200,1,\nnew,2,,0,1,\nnew,3,,800,1,\n"), public, nil); err == nil {
		t.Error("a release without classes judges")
	}
}

// Noisy vectors and classes tell a right model from its contrary, and scores spread over releases as their errors say. Of
// respondents whose classes are the other way round the contrary is the best.
func TestVectorsJudgeModels(t *testing.T) {
	const releases, respondents = 40, 3000
	r := rand.New(rand.NewPCG(5, 6))
	p, _ := planned(t, true, []string{"a", "b"})
	how := device.Report{Vector: device.Laplace{Dim: 2, Length: 8, Points: 16, Epsilon: 4}}
	how.Class.K, how.Class.Epsilon = 2, 1
	public, right, contrary := points(4, 0, 0, 4), []int{0, 1}, []int{1, 0}
	var sum, squares, variance float64
	for n := range releases {
		swapped := n%2 == 1
		m := &latent.Model{Asked: *p.Question.Latent, Vectors: &latent.Vectors{Encoder: ofVectors().Encoder, How: how}}
		for range respondents {
			class := r.IntN(2)
			at := [][]float32{{4, 0}, {0, 4}}[class]
			if swapped {
				class = 1 - class
			}
			v, told, err := how.Split(how.Randomize(r, at, class))
			if err != nil {
				t.Fatal(err)
			}
			m.Vectors.Reports = append(m.Vectors.Reports, latent.Report{Vector: v, Class: told})
		}
		got, err := judged(m, public, [][]int{right, contrary})
		if err != nil {
			t.Fatal(err)
		}
		best, other := got[0], got[1]
		if swapped {
			best, other = other, best
		}
		if best.Behind != 0 || other.Behind < 2*other.BehindErr {
			t.Fatalf("swapped %v: %+v", swapped, got)
		}
		sum, squares, variance = sum+best.Score, squares+best.Score*best.Score, variance+best.StdErr*best.StdErr
	}
	spread := (squares - sum*sum/releases) / (releases - 1)
	if ratio := spread / (variance / releases); ratio < 0.5 || ratio > 2 {
		t.Errorf("scores have %v of the variance that they say", ratio)
	}
}
