package crosscode

import (
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// Vectors and cells are what Python computes from docs/crosstabs.md.
func TestVectors(t *testing.T) {
	const file = "testdata/vectors/v1/records.json"
	crosscheck.Check(t, "testdata/vectors/origin.py", regexp.MustCompile(`(?s)"(?:vectors|marked)": \[[^]]*?([0-9])`), file)
	want := crosscheck.Read[struct {
		Cases []struct {
			Sizes   []int       `json:"sizes"`
			Main    float64     `json:"main"`
			Records [][]int     `json:"records"`
			Vectors [][]float64 `json:"vectors"`
			Cells   []struct {
				Record []int `json:"record"`
				All    int   `json:"all"`
				Marked []int `json:"marked"`
			} `json:"cells"`
		} `json:"cases"`
	}](t, file)
	if len(want.Cases) == 0 {
		t.Fatal("there are no vectors")
	}
	for _, c := range want.Cases {
		code := New(Shape{c.Sizes, c.Main})
		for i, record := range c.Records {
			v := make([]float32, code.Numbers())
			code.Write(record, v)
			if !slices.EqualFunc(v, c.Vectors[i], func(x float32, y float64) bool { return math.Abs(float64(x)-y) <= 1e-6 }) {
				t.Errorf("%v of %v: %v, want %v", record, c.Sizes, v, c.Vectors[i])
			}
		}
		if len(c.Cells) == 0 {
			t.Errorf("%v: no record marks cells", c.Sizes)
		}
		for _, one := range c.Cells {
			s := Shape{Sizes: c.Sizes}
			marks := make([]uint64, s.Cells())
			s.Mark(seeded.New(1), one.Record, marks)
			var at []int
			for i, x := range marks {
				if x == 1 {
					at = append(at, i)
				}
			}
			if s.Cells() != one.All || !slices.Equal(at, one.Marked) {
				t.Errorf("%v of %v marks %v of %d cells, want %v of %d", one.Record, c.Sizes, at, s.Cells(), one.Marked, one.All)
			}
		}
	}
}

// Values that nobody knows are drawn, each as often, and those of two columns apart. Two that are drawn together are caught.
func TestUnknownValuesAreDrawn(t *testing.T) {
	s, law := Shape{Sizes: []int{3, 3}}, slices.Repeat([]float64{1. / 9}, 9)
	apart, together := make([]int, 9), make([]int, 9)
	r, one := stattest.Rand(t), make([]uint64, 9)
	for range 30_000 {
		s.Mark(r, []int{None, None}, one)
		apart[slices.Index(one, 1)]++
		together[4*r.IntN(3)]++
	}
	stattest.GTest(t, law, apart)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law, together) })
}
