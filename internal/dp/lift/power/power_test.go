package power

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
)

func TestMeasuresThatCannotBeFitted(t *testing.T) {
	for name, k := range map[string]Known{"nobody": {}, "zeros": {Rows: []Row{{People: 5}}}} {
		if _, _, err := k.Fit(plan.Measure{Name: "x"}, 10_000, 8); err == nil {
			t.Errorf("%s: fitted", name)
		}
	}
}

// Zeros and ones of which a large number from before is subtracted stay within the range.
func TestZerosAndOnesWithWhatWasBefore(t *testing.T) {
	var k Known
	r := seeded.New(5)
	for range 5000 {
		before := 20 * r.Float64()
		of := 0.0
		if r.Float64() < before/30 {
			of = 1
		}
		k.Rows = append(k.Rows, Row{Of: of, Before: before, People: 1})
	}
	m, _, err := k.Fit(plan.Measure{Name: "paid", Before: "before"}, 40_000, 8)
	if err != nil {
		t.Fatal(err)
	}
	out, twin := 0, 0
	for _, row := range k.Rows {
		rest := left(m, row)
		if rest < m.Low || rest > m.High {
			out++
		}
		if rest < -m.Times {
			twin++
		}
	}
	if m.Times == 0 || out > 0 || m.LostShare != 0 {
		t.Errorf("%+v: %d are cut off, and nothing is said to be lost", m, out)
	}
	if twin == 0 {
		t.Error("a range that ends at one from before would cut nobody: nothing is measured")
	}
}

// Zeros and ones lose nothing to a cut. Where the top cannot be bounded, the metric is the capped one.
func TestCutsAreBoundedOrCalledCapped(t *testing.T) {
	var bits Known
	for i := range 1000 {
		bits.Rows = append(bits.Rows, Row{Of: float64(i % 20 / 19), People: 1})
	}
	m, s, err := bits.Fit(plan.Measure{Name: "paid"}, 40_000, 8.45)
	if err != nil || m.Low != 0 || m.High != 1 || m.LostShare != 0 || m.Capped || math.Abs(s.Variance-0.05*0.95) > 1e-9 {
		t.Errorf("%+v, %+v, %v", m, s, err)
	}
	r := seeded.New(3)
	var heavy Known
	for range 20_000 {
		heavy.Rows = append(heavy.Rows, Row{Of: math.Exp(2.5 * r.NormFloat64()), People: 1})
	}
	if m, _, err = heavy.Fit(plan.Measure{Name: "spent"}, 10_000, 8.45); err != nil || !m.Capped || m.LostShare != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}
