package hashedwords

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// words.json is from words.py, which shares no code with the package.
func TestGoldenWords(t *testing.T) {
	c := crosscheck.Read[struct {
		Places   int
		Half     float32
		Common   []string
		Shares   []float32
		Texts    []string
		Features [][]float64
	}](t, "testdata/words.json")
	m := Map{Places: c.Places, Half: c.Half, Common: c.Common, Shares: c.Shares}
	if err := m.Prepare(); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, m.Places)
	for i, text := range c.Texts {
		m.Apply(text, out)
		for j, x := range out {
			if math.Abs(float64(x)-c.Features[i][j]) > 1e-6 {
				t.Errorf("%q: place %d has %v, want %v", text, j, x, c.Features[i][j])
			}
		}
	}
}

func TestHostile(t *testing.T) {
	for name, m := range map[string]Map{
		"places":     {Places: 3, Half: 1},
		"half":       {Places: 2},
		"shares":     {Places: 2, Half: 1, Common: []string{"a"}},
		"order":      {Places: 2, Half: 1, Common: []string{"b", "a"}, Shares: []float32{0, 0}},
		"no share":   {Places: 2, Half: 1, Common: []string{"b"}, Shares: []float32{2}},
		"no numbers": {Places: 2, Half: 1, Common: []string{"b"}, Shares: []float32{float32(math.NaN())}},
	} {
		if m.Prepare() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
