package gradient

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func small(t testing.TB) *State {
	t.Helper()
	m, err := nn.New(rand.New(rand.NewPCG(1, 2)), nn.Dense{In: 2, Out: 1})
	if err != nil {
		t.Fatal(err)
	}
	m.Params = []float32{1, 2, 3}
	return &State{Model: m, Velocity: []float32{1, 0, -1}, Average: []float32{0, 1, 2}, Rate: 0.5, Turns: []Turn{{Respondents: 9, Length: 1, Noise: 0.5}}}
}

// Nesterov's step, by hand; one that leads beyond the bound is not taken.
func TestStep(t *testing.T) {
	s := small(t)
	next := s.step([]float64{2, 0, 1}, 0.5, 0.9, 100, Turn{Respondents: 3})
	want := State{
		Model: &nn.Model{Params: []float32{1 - 0.5*(2+0.5*2.5), 2, 3 - 0.5*(1+0.5*0.5)}}, Velocity: []float32{2.5, 0, 0.5},
	}
	for i, p := range next.Model.Params {
		average := (s.Average[i] + want.Model.Params[i]) / 2 // the second of two
		if p != want.Model.Params[i] || next.Velocity[i] != want.Velocity[i] || math.Abs(float64(next.Average[i]-average)) > 1e-6 {
			t.Errorf("number %d: %v, velocity %v, average %v", i, p, next.Velocity[i], next.Average[i])
		}
	}
	if next.Rate != 0.5 || len(next.Turns) != 2 || next.Turns[1].Refused || len(s.Turns) != 1 || s.Model.Params[0] != 1 {
		t.Errorf("after the step: %+v, before: %+v", next, s)
	}
	for name, g := range map[string][]float64{"far": {1000, 0, 0}, "nan": {math.NaN(), 0, 0}, "infinite": {0, math.Inf(1), 0}} {
		held := s.step(g, 0.5, 0, 100, Turn{})
		for i, p := range held.Model.Params {
			if p != s.Model.Params[i] || held.Velocity[i] != 0 {
				t.Errorf("%s: number %d became %v, its velocity %v", name, i, p, held.Velocity[i])
			}
		}
		if held.Rate != 0.25 || !held.Turns[1].Refused {
			t.Errorf("%s: %+v", name, held)
		}
	}
}

func TestStatesComeBack(t *testing.T) {
	s := small(t)
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var got State
	if err := got.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	again, err := got.MarshalBinary()
	if err != nil || !bytes.Equal(again, b) || got.Turns[0] != s.Turns[0] || got.Rate != s.Rate || got.Velocity[2] != -1 || got.Average[2] != 2 || got.Model.Params[2] != 3 {
		t.Errorf("%+v came back as %+v: %v", s, got, err)
	}
	nan := append([]byte(nil), b...)
	copy(nan[len(nan)-4:], []byte{0, 0, 0xc0, 0x7f})
	rate := bytes.Replace(b, []byte(`"rate":0.5`), []byte(`"rate":0e5`), 1)
	spaced := bytes.Replace(b, []byte(`"rate":0.5`), []byte(`"rate": .5`), 1)
	for name, bad := range map[string][]byte{"nothing": nil, "short": b[:len(b)-1], "long": append(append([]byte(nil), b...), 0), "head": b[:22], "nan": nan, "no rate": rate, "spaced": spaced, "another": []byte("confetti-gradient 2\n")} {
		if err := new(State).UnmarshalBinary(bad); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func FuzzState(f *testing.F) {
	b, err := small(f).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(stateMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s State
		var err error
		costlimit.Heap(t, costlimit.Factor, len(b), func() { err = s.UnmarshalBinary(b) })
		if err != nil {
			return
		}
		if again, err := s.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%x came back as %x: %v", b, again, err)
		}
	})
}

// ESA's networks learn as many numbers as the paper says, or as follows from its table.
func TestNetworks(t *testing.T) {
	for _, c := range []struct {
		name       string
		dim, k, at int
	}{{"linear", 392, 10, 3930}, {"xiii", 784, 10, 26010}, {"xiv", 3072, 10, 8686890}} {
		layers, err := network(c.name, c.dim, c.k)
		if err != nil {
			t.Fatal(err)
		}
		if got := params(layers); got != c.at {
			t.Errorf("%s learns %d numbers, want %d", c.name, got, c.at)
		}
		if c.name == "xiv" {
			if _, _, last := layers[len(layers)-1].Shape(); last != 10250 {
				t.Errorf("the last layer of %s learns %d numbers", c.name, last)
			}
			continue // eight million numbers
		}
		if _, err := nn.New(rand.New(rand.NewPCG(1, 2)), layers...); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, name := range []string{"xiii", "xiv", "none"} {
		if _, err := network(name, 10, 2); err == nil {
			t.Errorf("%s of ten numbers", name)
		}
	}
}

// The bytes were put together by hand from the form that state.go states: whoever kept a state of version 1
// reads it for good.
func TestTheFormOfAStateIsAsStated(t *testing.T) {
	text := `{"rate":0.5,"turns":[{"respondents":7,"length":0.25,"noise":0.125},{"respondents":9,"length":2,"noise":0.5,"refused":true}]}`
	layers := `[{"dense":{"in":1,"out":2,"silent":true}}]`
	model := fmt.Sprintf("%x", "confetti-nn 1\n") + fmt.Sprintf("%02x000000%x", len(layers), layers) + "0000803f" + "000000c0" + "0000003f" + "00000000" // 1, -2 and the bias 0.5, 0
	want, err := hex.DecodeString(fmt.Sprintf("%x", "confetti-gradient 1\n") + fmt.Sprintf("%02x000000%x", len(text), text) + fmt.Sprintf("%02x000000%s", len(model)/2, model) +
		"0000003f000000bf0000000000004040" + // velocity 0.5, -0.5, 0, 3
		"0000803f0000803f000080bf00000040") // average 1, 1, -1, 2
	if err != nil {
		t.Fatal(err)
	}
	s := State{
		Model:    &nn.Model{Layers: []nn.Layer{nn.Dense{In: 1, Out: 2, Silent: true}}, Params: []float32{1, -2, 0.5, 0}},
		Velocity: []float32{0.5, -0.5, 0, 3}, Average: []float32{1, 1, -1, 2}, Rate: 0.5,
		Turns: []Turn{{Respondents: 7, Length: 0.25, Noise: 0.125}, {Respondents: 9, Length: 2, Noise: 0.5, Refused: true}},
	}
	if got, err := s.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%v\n%x\n%x", err, got, want)
	}
	var back State
	if err := back.UnmarshalBinary(want); err != nil || back.Rate != 0.5 || !back.Turns[1].Refused || back.Velocity[3] != 3 || back.Average[2] != -1 || back.Model.Params[1] != -2 {
		t.Errorf("%+v: %v", back, err)
	}
}
