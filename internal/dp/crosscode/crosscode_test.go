package crosscode

import (
	"math"
	"testing"
)

// records yields all records of a shape; none among their values, where asked.
func records(sizes []int, none bool) (all [][]int) {
	all = [][]int{{}}
	for _, k := range sizes {
		var more [][]int
		for _, r := range all {
			for v := range k {
				more = append(more, append(r[:len(r):len(r)], v))
			}
			if none {
				more = append(more, append(r[:len(r):len(r)], None))
			}
		}
		all = more
	}
	return all
}

// furthest returns the largest squared distance of the vectors of any two records, and the longest vector.
func furthest(s Shape, none bool) (apart, length float64) {
	c := New(s)
	var vectors [][]float32
	for _, r := range records(s.Sizes, none) {
		v := make([]float32, s.Numbers())
		c.Write(r, v)
		vectors = append(vectors, v)
	}
	for i, v := range vectors {
		own := 0.0
		for _, x := range v {
			own += float64(x) * float64(x)
		}
		length = max(length, own)
		for _, w := range vectors[:i] {
			sum := 0.0
			for k := range v {
				sum += (float64(v[k]) - float64(w[k])) * (float64(v[k]) - float64(w[k]))
			}
			apart = max(apart, sum)
		}
	}
	return apart, length
}

// The squared distance that is charged is that of the two records furthest apart, by all pairs of records. The numbers
// were computed elsewhere, in another language.
func TestSquaredDistance(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  float64
	}{{[]int{2, 2}, 3.76}, {[]int{2, 3, 4}, 2.62667}, {[]int{3, 3, 3}, 2.44}, {[]int{2, 2, 5, 3}, 2.58667}} {
		s := Shape{c.sizes, 0.12}
		apart, length := furthest(s, false)
		if math.Abs(apart-c.want) > 1e-5 || math.Abs(s.SquaredDistance()-c.want) > 1e-5 || math.Abs(length-1) > 1e-6 {
			t.Errorf("%v: records are %v apart, %v is charged, want %v; length %v", c.sizes, apart, s.SquaredDistance(), c.want, length)
		}
		if missing, _ := furthest(s, true); missing > apart+1e-6 {
			t.Errorf("%v: with values that nobody knows records are %v apart, and without %v", c.sizes, missing, apart)
		}
	}
	loans := []int{2, 2, 2, 3, 3, 3, 4, 6, 6, 7, 8, 8, 8, 8, 8, 8, 8, 8, 11}
	for _, c := range []struct {
		sizes []int
		want  float64
	}{{loans, 2.05399}, {many(19, 2), 2.10526}, {many(19, 3), 2.05263}, {many(19, 8), 2.01655}} {
		if got := (Shape{c.sizes, 0.12}).SquaredDistance(); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("%v: %v, want %v", c.sizes, got, c.want)
		}
	}
}

func many(n, k int) []int {
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = k
	}
	return sizes
}

// Where patterns are too many to enumerate, what is charged is no less than what they would give.
func TestTheClosedFormBounds(t *testing.T) {
	for _, sizes := range [][]int{{2, 2}, {2, 3, 4}, {3, 3, 3}, many(12, 5), {2, 2, 2, 3, 8, 8, 9, 30}} {
		s := Shape{sizes, Main(len(sizes))}
		if exact := s.SquaredDistance(); s.bound() < exact-1e-12 {
			t.Errorf("%v: bound %v, exact %v", sizes, s.bound(), exact)
		}
	}
	var sizes []int
	for k := 2; k < 28; k++ { // a size each, so that patterns are too many
		sizes = append(sizes, k)
	}
	if s := (Shape{sizes, Main(len(sizes))}); s.SquaredDistance() != s.bound() {
		t.Errorf("of %d columns %v is charged, and the bound is %v", len(sizes), s.SquaredDistance(), s.bound())
	}
}

// Corners are unit vectors whose products are those of a simplex.
func TestCornersAreASimplex(t *testing.T) {
	for _, k := range []int{2, 3, 7, 50} {
		s := simplex(k)
		for i := range s {
			for j := range s {
				dot, want := 0.0, -1/float64(k-1)
				for x := range s[i] {
					dot += s[i][x] * s[j][x]
				}
				if i == j {
					want = 1
				}
				if math.Abs(dot-want) > 1e-12 {
					t.Fatalf("of %d: corners %d and %d have the product %v, want %v", k, i, j, dot, want)
				}
			}
		}
	}
}

// How alike records are is the mean over all pairs of records that are equally likely.
func TestAlike(t *testing.T) {
	s := Shape{[]int{2, 3, 3}, 0.2}
	c := New(s)
	var vectors [][]float32
	for _, r := range records(s.Sizes, false) {
		v := make([]float32, s.Numbers())
		c.Write(r, v)
		vectors = append(vectors, v)
	}
	var want [3]float64
	for _, v := range vectors {
		for _, w := range vectors {
			dot := 0.0
			for k := range v {
				dot += float64(v[k]) * float64(w[k])
			}
			for i := range want {
				want[i] += math.Pow(dot, float64(3+2*i)) / float64(len(vectors)*len(vectors))
			}
		}
	}
	got := s.Alike(func(size int) float64 { return 1 / float64(size) })
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-6 {
			t.Errorf("power %d: %v, want %v", 3+2*i, got[i], want[i])
		}
	}
}

func TestShapesAreRefused(t *testing.T) {
	for name, s := range map[string]Shape{
		"one column":     {[]int{3}, 0.1},
		"one value":      {[]int{3, 1}, 0.1},
		"all of columns": {[]int{3, 3}, 1},
		"less than none": {[]int{3, 3}, -0.1},
		"too many":       {many(100, 100), 0.1},
		"too many, over": {many(3, 1<<18), 0.1},
	} {
		if s.Validate() == nil {
			t.Errorf("%s: is taken", name)
		}
	}
	if err := (Shape{[]int{2, 2}, Main(2)}).Validate(); err != nil {
		t.Error(err)
	}
}
