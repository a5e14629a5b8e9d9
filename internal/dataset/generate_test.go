package dataset

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"
)

func generate(t testing.TB, seed uint64, o GenerateOptions) *Set {
	t.Helper()
	s, err := Generate(seed, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGeneratedTopicsAreLearnable(t *testing.T) {
	for seed := range uint64(3) {
		s := generate(t, seed, GenerateOptions{})
		if s.Train.Len() != 12000 || s.Test.Len() != 3000 || !s.Synthetic || len(s.Words) < 300 {
			t.Errorf("generated %s", s)
		}
		if inner, euclid := nearestMean(s); inner < 0.85 || inner > 0.95 || euclid < 0.85 {
			t.Errorf("seed %d: nearest mean %.3f and %.3f, want 0.85 to 0.95", seed, inner, euclid)
		}
		for _, x := range []blas32.General{s.Train.X, s.Test.X, s.WordX} {
			for i := range x.Rows {
				if n := blas32.Nrm2(blas32.Vector{N: x.Cols, Inc: 1, Data: row(x, i)}); math.Abs(float64(n)-1) > 1e-5 {
					t.Fatalf("row %d has length %v", i, n)
				}
			}
		}
		if err := s.Train.check(len(s.Classes)); err != nil {
			t.Error(err)
		}
	}
}

// The words nearest to a class mean are words of that topic.
func TestGeneratedWordsNameTheirTopic(t *testing.T) {
	s := generate(t, 7, GenerateOptions{Train: 4000})
	w := newWriter()
	for c, block := range s.Train.ByClass(len(s.Classes)) {
		mean := make([]float32, dimension)
		for i := range block.Rows {
			add(mean, 1, row(block, i))
		}
		order := make([]int, len(s.Words))
		score := make([]float32, len(s.Words))
		for i := range order {
			order[i] = i
			score[i] = blas32.Dot(blas32.Vector{N: dimension, Inc: 1, Data: mean}, blas32.Vector{N: dimension, Inc: 1, Data: row(s.WordX, i)})
		}
		slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, float64(score[b]-score[a]))) })
		var named []string
		for _, i := range order[:10] {
			named = append(named, s.Words[i])
			if !slices.Contains(w.topics[c].word, i) {
				t.Errorf("%s: %q is not one of its words", s.Classes[c], s.Words[i])
			}
		}
		t.Logf("%s: %v", s.Classes[c], named)
	}
}

func TestSeedsRepeat(t *testing.T) {
	o := GenerateOptions{Train: 50, Test: 10}
	a, b, c := generate(t, 1, o), generate(t, 1, o), generate(t, 2, o)
	if fmt.Sprint(a) != fmt.Sprint(b) || !slices.Equal(a.Train.X.Data, b.Train.X.Data) || !slices.Equal(a.Test.Y, b.Test.Y) {
		t.Error("one seed gave two sets")
	}
	if slices.Equal(a.Train.X.Data, c.Train.X.Data) {
		t.Error("two seeds gave one set")
	}
	if _, err := Generate(1, GenerateOptions{Train: -1}); err == nil {
		t.Error("a negative number of documents was accepted")
	}
}

func BenchmarkGenerate(b *testing.B) {
	for b.Loop() {
		generate(b, 1, GenerateOptions{})
	}
}
