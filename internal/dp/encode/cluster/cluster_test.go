package cluster

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/gradients"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/plan"
)

func of(rows [][]float32) *State {
	s := &State{Sizes: make([]int, len(rows)), Centres: blas32.General{Rows: len(rows), Cols: len(rows[0]), Stride: len(rows[0])}}
	for _, r := range rows {
		s.Centres.Data = append(s.Centres.Data, r...)
	}
	return s
}

func random(r *rand.Rand, rows, cols int) [][]float32 {
	x := make([][]float32, rows)
	for i := range x {
		for range cols {
			x[i] = append(x[i], float32(r.NormFloat64()))
		}
	}
	return x
}

// A device, one input at a time, and whoever makes clusters, all at once, find the same ones;
// both what the distances say.
func TestTheNearestCentre(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	centres, x := random(r, 37, 9), random(r, 1100, 9)
	s := of(centres)
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	for i, got := range s.All(of(x).Centres) {
		want, least := 0, math.Inf(1)
		for c, centre := range centres {
			d := 0.0
			for j, v := range centre {
				d += float64(v-x[i][j]) * float64(v-x[i][j])
			}
			if d < least {
				want, least = c, d
			}
		}
		if got != want || s.Nearest(x[i]) != want {
			t.Fatalf("input %d lies in %d, %d, want %d", i, got, s.Nearest(x[i]), want)
		}
	}
	if two := of([][]float32{{1}, {-1}}); two.Nearest([]float32{0}) != 0 {
		t.Error("of equal distances, not the first")
	}
}

func TestFormComesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := of(random(r, 3, gradients.Len(8, 8)))
	s.Width, s.Height, s.Sizes = 8, 8, []int{5, 0, 7}
	text := s.Marshal()
	back, err := parse(text)
	if err != nil || !bytes.Equal(back.Marshal(), text) || back.Sizes[2] != 7 || back.Width != 8 || back.Len() != 3 {
		t.Fatalf("%+v, %v", back, err)
	}
	image := make([]float32, 64)
	for i := range image {
		image[i] = r.Float32()
	}
	m, _ := gradients.New(8, 8)
	features := make([]float32, m.Len())
	m.Apply(image, features)
	if got, err := back.OfImage(image); err != nil || got != s.Nearest(features) {
		t.Errorf("the image lies in %d (%v), want %d", got, err, s.Nearest(features))
	}
	if _, err := back.OfImage(image[:63]); err == nil {
		t.Error("an image of another size")
	}
	if _, err := of([][]float32{{1}}).OfImage(image); err == nil {
		t.Error("an image where centres are not of images")
	}
	if plan.StateName(text) == plan.StateName(of([][]float32{{1}}).Marshal()) {
		t.Error("one name for two states")
	}
}

var damaged = map[string]string{
	"nothing":           "",
	"another version":   `{"confetti_clusters":2,"sizes":[1],"centres":"AACAPw=="}`,
	"no centre":         `{"confetti_clusters":1,"sizes":[],"centres":""}`,
	"part of a centre":  `{"confetti_clusters":1,"sizes":[1,1],"centres":"AACAPw=="}`,
	"a size below zero": `{"confetti_clusters":1,"sizes":[-1],"centres":"AACAPw=="}`,
	"not a number":      `{"confetti_clusters":1,"sizes":[1],"centres":"AADAfw=="}`,
	"other images":      `{"confetti_clusters":1,"image":{"width":8,"height":8},"sizes":[1],"centres":"AACAPw=="}`,
	"an unknown field":  `{"confetti_clusters":1,"sizes":[1],"centres":"AACAPw==","labels":1}`,
	"something behind":  `{"confetti_clusters":1,"sizes":[1],"centres":"AACAPw=="} `,
	"another form":      `{"confetti_clusters":1, "sizes":[1],"centres":"AACAPw=="}`,
}

func TestHostileForms(t *testing.T) {
	good := `{"confetti_clusters":1,"sizes":[1],"centres":"AACAPw=="}`
	if s, err := parse([]byte(good)); err != nil || s.Centres.Data[0] != 1 {
		t.Fatalf("the good form: %v", err)
	}
	for name, text := range damaged {
		if _, err := parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "cluster: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a state or an encoder is read from is its one form, and finds clusters without a fault.
func FuzzRead(f *testing.F) {
	for _, text := range damaged {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"confetti_clusters":1,"sizes":[1],"centres":"AACAPw=="}`))
	e := &Encoder{Net: &nn.Model{Layers: []nn.Layer{nn.Dense{In: 2, Out: 2}}, Params: []float32{1, 0, 0, 1, 0, 0}}, Sizes: []int{3, 4}}
	text, err := e.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		var finder Partition
		var err error
		costlimit.Heap(t, costlimit.Factor, len(text), func() { finder, err = Read(text) })
		if err != nil {
			return
		}
		again := text
		switch s := finder.(type) {
		case *State:
			again = s.Marshal()
		case *Encoder:
			again, err = s.Marshal()
		}
		if err != nil || !bytes.Equal(again, text) {
			t.Errorf("two forms of one state: %v", err)
		}
		if at := finder.Nearest(make([]float32, finder.Features())); at < 0 || at >= finder.Len() {
			t.Errorf("cluster %d of %d", at, finder.Len())
		}
	})
}

// OfImage returns the cluster of an image's grey levels, row by row from the top.
func (s *State) OfImage(grey []float32) (int, error) {
	if s.Width == 0 {
		return 0, errors.New("cluster: its centres are not of images")
	}
	m, err := gradients.New(s.Width, s.Height)
	if err != nil {
		return 0, err
	}
	if err := m.Check(grey); err != nil {
		return 0, err
	}
	features := make([]float32, m.Len())
	m.Apply(grey, features)
	return s.Nearest(features), nil
}
