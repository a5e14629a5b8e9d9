package cluster

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"
)

func quiet(string, int, int) {}

// groups are points about so many places far from each other, in turn, of sizes that grow.
func groups(r *rand.Rand, of []int, dimension int) (x blas32.General, group []int) {
	var centres [][]float32
	for range of {
		c := make([]float32, dimension)
		for j := range c {
			c[j] = float32(20 * r.NormFloat64())
		}
		centres = append(centres, c)
	}
	for g, n := range of {
		for range n {
			for _, v := range centres[g] {
				x.Data = append(x.Data, v+float32(r.NormFloat64()))
			}
			group = append(group, g)
		}
	}
	x.Rows, x.Cols, x.Stride = len(group), dimension, dimension
	return x, group
}

// Groups that are far apart are found again, whatever the generator: each cluster is of one.
func TestMeansFindGroups(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		x, group := groups(r, []int{30, 40, 50}, 12)
		s, err := Means(r, x, Options{Clusters: 8, Components: 6}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		found, sizes := map[int]int{}, make([]int, s.Len())
		for i, c := range All(s, x) {
			if g, ok := found[c]; ok && g != group[i] {
				t.Fatalf("seed %d: cluster %d holds groups %d and %d", seed, c, g, group[i])
			}
			found[c] = group[i]
			sizes[c]++
		}
		if !slices.Equal(sizes, s.Sizes) {
			t.Errorf("seed %d: sizes %v, counted %v", seed, s.Sizes, sizes)
		}
	}
}

func TestTheSameGeneratorGivesTheSameClusters(t *testing.T) {
	x, _ := groups(rand.New(rand.NewPCG(5, 5)), []int{100, 100}, 7)
	var forms [][]byte
	for range 2 {
		s, err := Means(rand.New(rand.NewPCG(9, 9)), x, Options{Clusters: 10}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		forms = append(forms, s.Marshal())
	}
	if !bytes.Equal(forms[0], forms[1]) {
		t.Error("two states")
	}
}

// Small clusters are given up until each holds enough, and nobody is left without one.
func TestSmallClustersAreGivenUp(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	x, _ := groups(r, []int{3, 60, 60, 60}, 5)
	s, err := Means(r, x, Options{Clusters: 12, Least: 20}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, n := range s.Sizes {
		if total += n; n < 20 {
			t.Errorf("a cluster of %d", n)
		}
	}
	if total != x.Rows || s.Len() < 3 {
		t.Errorf("%d clusters of %d inputs, want at least 3 of %d", s.Len(), total, x.Rows)
	}
}

func TestWrongOptions(t *testing.T) {
	x, _ := groups(rand.New(rand.NewPCG(2, 2)), []int{9}, 5)
	for _, o := range []Options{{}, {Clusters: 10}, {Clusters: 2, Least: 10}, {Clusters: 2, Components: 6}} {
		if _, err := Means(rand.New(rand.NewPCG(1, 1)), x, o, quiet); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	same := blas32.General{Rows: 9, Cols: 2, Stride: 2, Data: make([]float32, 18)}
	if _, err := Means(rand.New(rand.NewPCG(1, 1)), same, Options{Clusters: 2}, quiet); err == nil {
		t.Error("inputs that are all the same are taken")
	}
}

// Balanced clusters of inputs that lie thick in one place and thin in others are of nearly one
// size, and a device finds the same ones from the state alone.
func TestBalanced(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	x := matrix(1600, 6)
	for i := range x.Data {
		x.Data[i] = float32(math.Exp(r.NormFloat64()))
	}
	s, err := Means(rand.New(rand.NewPCG(1, 1)), x, Options{Clusters: 8, Components: 6, Balanced: true}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	sizes, differ := make([]int, s.Len()), 0
	for i, c := range All(s, x) {
		sizes[c]++
		if s.Nearest(row(x, i)) != c {
			differ++
		}
	}
	if !slices.Equal(sizes, s.Sizes) && differ == 0 {
		t.Errorf("sizes %v, counted %v", s.Sizes, sizes)
	}
	if slices.Min(sizes) < 150 || slices.Max(sizes) > 260 || differ > 2 {
		t.Errorf("sizes %v of 200 each, and a device finds %d others", sizes, differ)
	}
}

// With more noise there are fewer clusters; each still holds six errors of a count.
func TestChoose(t *testing.T) {
	noise := func(of float64) func(float64) float64 { return func(float64) float64 { return of } }
	if got := Choose(60_000, noise(22)); got != 454 {
		t.Errorf("%d clusters, want 60000/(6*22) = 454", got)
	}
	if got := Choose(60_000, noise(1)); got != 600 {
		t.Errorf("%d clusters without noise to speak of, want one for each 100", got)
	}
	if got := Choose(50, noise(1e9)); got != 1 {
		t.Errorf("%d clusters for a few, want 1", got)
	}
}
