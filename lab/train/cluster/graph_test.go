package cluster

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
)

// rings are points on circles about one middle, in turn: no centres tell them apart.
func rings(r *rand.Rand, each, circles int) blas32.General {
	x := matrix(each*circles, 2)
	for i := range x.Rows {
		turn, far := 2*math.Pi*float64(i/circles)/float64(each), 1+0.4*float64(i%circles)+0.02*r.NormFloat64()
		copy(row(x, i), []float32{float32(far * math.Cos(turn)), float32(far * math.Sin(turn))})
	}
	return x
}

// purity is the share of inputs that are of the commonest circle of their cluster.
func purity(of []int, clusters, circles int) float64 {
	right := 0
	for c := range clusters {
		counts := make([]int, circles)
		for i, is := range of {
			if is == c {
				counts[i%circles]++
			}
		}
		most := 0
		for _, n := range counts {
			most = max(most, n)
		}
		right += most
	}
	return float64(right) / float64(len(of))
}

// The graph finds rings, which k-means does not; and the network trained on its clusters finds
// them again, of new points too, and after its form has been written and read.
func TestGraphFindsRings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	x := rings(r, 300, 3)
	of, err := Graph(r, x, Options{Clusters: 12}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if p := purity(of, 12, 3); p < 0.99 {
		t.Errorf("purity %v of a graph's clusters", p)
	}
	means, err := Means(r, x, Options{Clusters: 12, Components: 2}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if p := purity(All(means, x), 12, 3); p > 0.8 {
		t.Errorf("purity %v of clusters of centres", p)
	}
	e, err := Encode(r, x, of, quiet)
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, err := cluster.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if p := purity(back.All(rings(r, 100, 3)), 12, 3); p < 0.9 {
		t.Errorf("purity %v by the network", p)
	}
	for name, bad := range map[string][]byte{"nothing": nil, "another form": append([]byte(" "), text...), "fewer sizes": bytes.Replace(text, []byte(`"sizes":[`), []byte(`"sizes":[1,`), 1), "a size below zero": bytes.Replace(text, []byte(`"sizes":[`), []byte(`"sizes":[-`), 1)} {
		if _, err := cluster.Read(bad); err == nil {
			t.Errorf("%s is taken as an encoder", name)
		}
	}
}

// Neighbours by products of blocks are those by distances.
func TestNearestAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	x := matrix(200, 5)
	for i := range x.Data {
		x.Data[i] = float32(r.NormFloat64())
	}
	for i, edges := range nearest(x, quiet) {
		if len(edges) != neighbours {
			t.Fatalf("%d neighbours", len(edges))
		}
		distance := func(j int) (d float64) {
			for k, v := range row(x, j) {
				d += float64(v-row(x, i)[k]) * float64(v-row(x, i)[k])
			}
			return d
		}
		closer := 0
		for j := range x.Rows {
			if j != i && distance(j) < distance(edges[neighbours-1].to)-1e-6 {
				closer++
			}
		}
		if closer >= neighbours {
			t.Fatalf("input %d: %d are closer than its last neighbour", i, closer)
		}
	}
}

func TestWrongGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, o := range []Options{{Clusters: 1}, {Clusters: 1000}} {
		if _, err := Graph(r, rings(r, 30, 3), o, quiet); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
