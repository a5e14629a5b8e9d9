package cluster

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/encode/gradients"
	"github.com/confetti-dp/confetti/internal/nn"
)

// A device with either form finds what its maker finds, of features and of images.
func TestFindersOfBothForms(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const width, height = 8, 8
	n := gradients.Len(width, height)
	s := of(random(r, 5, n))
	s.Width, s.Height = width, height
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	net, err := nn.New(r, nn.Dense{In: n, Out: 5})
	if err != nil {
		t.Fatal(err)
	}
	e := &Encoder{Net: net, Sizes: []int{1, 2, 3, 4, 5}}
	text, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for form, c := range map[string]struct {
		text   []byte
		record []float32
		want   int
	}{
		"centres of images":    {s.Marshal(), random(r, 1, width*height)[0], 0},
		"a network's features": {text, random(r, 1, n)[0], 0},
	} {
		f, err := ParseFinder(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if form == "centres of images" {
			c.want, err = s.OfImage(c.record)
		} else {
			c.want = e.All(of([][]float32{c.record}).Centres)[0]
		}
		for _, other := range [][]float32{nil, c.record[:len(c.record)-1], append(slices.Clone(c.record), 1)} {
			if _, ok := f.Find(other); ok {
				t.Errorf("%s: a record of %d numbers lies in a cluster", form, len(other))
			}
		}
		if got, ok := f.Find(c.record); err != nil || !ok || got != c.want || f.Inputs != len(c.record) || len(f.Sizes) != 5 {
			t.Errorf("%s: %d, want %d (%v)", form, got, c.want, err)
		}
		c.record[1] = float32(math.NaN())
		if _, ok := f.Find(c.record); ok {
			t.Errorf("%s: what is not finite lies in a cluster", form)
		}
	}
	for _, text := range []string{"", "{}", `{"confetti_encoder":1}`} {
		if _, err := ParseFinder([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
