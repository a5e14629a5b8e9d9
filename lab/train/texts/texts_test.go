package texts

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// By hand: three texts of which two words are in two each; weights ln(4/3)+1.
func TestVocabularyKnown(t *testing.T) {
	s, rows, err := vocabulary([]string{"aa bb", "bb aa aa", "cc"}, lsa.Words{Common: 1})
	if err != nil || !slices.Equal(s.Words, []string{"aa", "bb"}) {
		t.Fatalf("%q, %v", s.Words, err)
	}
	if want := math.Log(4./3) + 1; math.Abs(float64(s.Weights[0])-want) > 1e-6 {
		t.Errorf("weight %v, want %v", s.Weights[0], want)
	}
	tf := 1 + math.Ln2 // of aa in the second text
	if want := tf / math.Hypot(tf, 1); math.Abs(float64(rows[1][0].Weight)-want) > 1e-6 || len(rows[2]) != 0 {
		t.Errorf("rows %v, want %v", rows, want)
	}
}

// Two words that follow each other in six texts count once more, and rarer pairs do not.
func TestPairs(t *testing.T) {
	texts := []string{"oil prices", "oil price", "oils price", "oil price", "oil price", "the oil prices", "price oil", "the oil"}
	s, rows, err := vocabulary(texts, lsa.Words{Common: 1, Pairs: true, Singular: true})
	if err != nil || !slices.Equal(s.Words, []string{"oil", "oil price", "price", "the"}) {
		t.Fatalf("%q, %v", s.Words, err)
	}
	if len(rows[0]) != 3 || len(rows[6]) != 2 {
		t.Errorf("rows %v", rows)
	}
	read := lsa.State{Words: s.Words, Weights: s.Weights, Directions: [][]float32{{0}, {1}, {0}, {0}}, Singular: true}
	if err := read.Prepare(); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, 1)
	if read.Apply("Oil prices!", out); out[0] == 0 {
		t.Error("what was read knows no pairs")
	}
}

func TestCommonWordsDoNotCount(t *testing.T) {
	s, _, err := vocabulary([]string{"the aa", "the aa bb", "the bb", "the bb"}, lsa.Words{Common: 0.75})
	if err != nil || !slices.Equal(s.Words, []string{"aa", "bb"}) {
		t.Errorf("%q, %v", s.Words, err)
	}
}

// Texts of made-up topics, against the singular vectors of the dense matrix.
func TestFitAgainstDense(t *testing.T) {
	r := stattest.Rand(t)
	var texts []string
	for i := range 150 {
		var text []string
		for range 12 {
			word := r.IntN(80)
			if r.Float64() < 0.7 {
				word = 10*(i%8) + r.IntN(10)
			}
			text = append(text, fmt.Sprintf("word%02d", word))
		}
		texts = append(texts, strings.Join(text, " "))
	}
	const kept = 7
	s, err := Fit(r, texts, kept, lsa.Words{Common: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, rows, err := vocabulary(texts, lsa.Words{Common: 1})
	if err != nil {
		t.Fatal(err)
	}
	dense := mat.NewDense(len(texts), len(s.Words), nil)
	for i, row := range rows {
		for _, x := range row {
			dense.Set(i, x.Word, float64(x.Weight))
		}
	}
	var svd mat.SVD
	if !svd.Factorize(dense, mat.SVDThin) {
		t.Fatal("no singular values")
	}
	var v mat.Dense
	svd.VTo(&v)
	for k := range kept {
		dot, squares := 0.0, 0.0
		for w := range s.Words {
			x := float64(s.Directions[w][k])
			dot += x * v.At(w, k)
			squares += x * x
		}
		if math.Abs(math.Abs(dot)-1) > 0.01 || math.Abs(squares-1) > 1e-4 {
			t.Errorf("direction %d meets the singular vector with %v and has square %v", k, dot, squares)
		}
	}
	out := make([]float32, s.Len())
	s.Apply(texts[3], out)
	for k, x := range out {
		want := 0.0
		for _, y := range rows[3] {
			want += float64(y.Weight) * float64(s.Directions[y.Word][k])
		}
		if math.Abs(float64(x)-want) > 1e-5 {
			t.Errorf("feature %d is %v, want %v", k, x, want)
		}
	}
	if s.Apply("nothing known", out); slices.ContainsFunc(out, func(x float32) bool { return x != 0 }) {
		t.Errorf("unknown words give %v", out)
	}
}

func TestHostile(t *testing.T) {
	r := stattest.Rand(t)
	for _, texts := range [][]string{nil, {"one", "two"}, {"same word", "same word"}} {
		if s, err := Fit(r, texts, 1, lsa.Words{Common: 1}); err == nil {
			t.Errorf("%q: %+v", texts, s.Words)
		}
	}
	for _, s := range []lsa.State{
		{}, {Words: []string{"a"}, Weights: []float32{1}}, {Words: []string{"a"}, Weights: []float32{1}, Directions: [][]float32{{}}},
		{Words: []string{"b", "a"}, Weights: []float32{1, 1}, Directions: [][]float32{{1}, {1}}},
		{Words: []string{"a", "b"}, Weights: []float32{1, 1}, Directions: [][]float32{{1}, {1, 2}}},
		{Words: []string{"a"}, Weights: []float32{float32(math.NaN())}, Directions: [][]float32{{1}}},
	} {
		if s.Prepare() == nil {
			t.Errorf("%+v was taken", s)
		}
	}
}

// White texts have the identity for their second moments, less the regularization: the mean
// squared length is the number of words times the mean of e/(e + reg mean e).
func TestFitWhite(t *testing.T) {
	texts := []string{"red green", "green blue", "blue red red", "red", "green green blue", "blue", "other thing", "other red", "thing"}
	s, err := FitWhite(texts, 1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	n := s.Len()
	second := make([]float64, n*n)
	x := make([]float32, n)
	for _, text := range texts {
		s.Apply(text, x)
		for i, a := range x {
			for j, b := range x {
				second[i*n+j] += float64(a) * float64(b) / float64(len(texts))
			}
		}
	}
	for i := range n {
		for j := range n {
			want := 0.0
			if i == j {
				want = 1
			}
			if d := second[i*n+j] - want; d > 1e-3 || d < -1e-3 {
				t.Errorf("moment %d, %d is %v off", i, j, d)
			}
		}
	}
	if _, err := FitWhite(texts, 1, 0); err == nil {
		t.Error("no regularization")
	}
}
