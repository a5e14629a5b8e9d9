package collection

import (
	"os"
	"testing"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/plan"
)

// The demo's plan, by its exact law: what two thousand devices seal in 56,000 fragments at a
// total epsilon of 8 tells nine generated documents in ten apart, and three of four of AG news where
// the data folder has them.
func TestTheDemoTellsClassesApart(t *testing.T) {
	made, err := dataset.Generate(2, dataset.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	least := map[*dataset.Set]float64{made: 0.9}
	dir := os.Getenv("CONFETTI_DATA")
	if dir == "" {
		dir = "../../../../shared/data"
	}
	if news, err := dataset.Load(dir, "agnews"); err == nil {
		least[news] = 0.75
	} else if os.Getenv("CONFETTI_DATA") != "" {
		t.Fatal(err)
	}
	for set, want := range least {
		d := Demo{Epsilon: 4, Delta: 1e-5, LabelEpsilon: plan.LabelEpsilon(4), Seed: 2}
		some, public, err := leading(set)
		if err != nil {
			t.Fatal(err)
		}
		c := d.collection(some)
		c.Full = false
		out, err := c.Run(some, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		if got := Metric(out.Release, "accuracy").Value; got < want {
			t.Errorf("%s: accuracy %.3f, want %v", set.Name, got, want)
		}
		if n := out.Devices * out.Plan.Envelopes.PerDevice; out.Devices != 2000 || n > 57_120 || public != demoPublic {
			t.Errorf("%s: %d devices, %d fragments, %d public documents", set.Name, out.Devices, n, public)
		}
		g := out.Release.Guarantees[len(out.Release.Guarantees)-1].Guarantee
		if g.Epsilon > 8 {
			t.Errorf("%s: epsilon %v of a whole record", set.Name, g.Epsilon)
		}
	}
}
