package esa

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
)

func silent(string, int, int) {}

// small is a population of 200 cells, some of them empty.
func small() *dataset.Population {
	p := &dataset.Population{Name: "small", Holders: make([]int, 200), Most: 3000}
	for i := range 100 {
		p.Holders[i] = 3000 / (i + 1)
	}
	return p
}

// trial is a cell without its data set.
type trial struct {
	experiments.Histogram
	Runs int
	Seed uint64
}

func (h trial) run(p *dataset.Population) (experiments.Result, error) {
	return Run(experiments.Cell{Histogram: h.Histogram, Runs: h.Runs, Seed: h.Seed}, p, silent)
}

func exactly(encoding string, epsilon float64) trial {
	return trial{experiments.Histogram{Encoding: encoding, Accounting: calibrate.Exact, Epsilon: epsilon, Delta: 1e-6, Adjacency: account.Removal}, 1, 1}
}

// Every encoding is calibrated to the budget and not far below, is unbiased within
// the error that its law states, and says what it costs.
func TestHistogramKeepsItsBudget(t *testing.T) {
	p := small()
	for _, h := range []experiments.Histogram{
		{Encoding: experiments.OneHot}, {Encoding: experiments.Asymmetric}, {Encoding: experiments.Central}, {Encoding: experiments.Central, Adjacency: account.Replacement},
		{Encoding: experiments.OneHot, Fragments: 4}, {Encoding: experiments.OneHot, Adjacency: account.Replacement}, {Encoding: experiments.OneHot, Repeats: 3},
		{Encoding: experiments.CountMean, Hashes: 4, Width: 64}, {Encoding: experiments.Count, Hashes: 4, Width: 32, Fragments: 2},
	} {
		want := exactly(h.Encoding, 1)
		want.Fragments, want.Repeats, want.Hashes, want.Width = h.Fragments, h.Repeats, h.Hashes, h.Width
		if h.Adjacency != "" {
			want.Adjacency = h.Adjacency
		}
		want.Runs = 3
		res, err := want.run(p)
		if err != nil {
			t.Errorf("%+v: %v", want, err)
			continue
		}
		if e := *res.Epsilon; e > 1 || e < 0.98 || res.Delta > 1e-6 {
			t.Errorf("%+v: central epsilon %v at delta %v", want, e, res.Delta)
		}
		if res.Adjacency != string(want.Adjacency) {
			t.Errorf("%+v: epsilon of %s", want, res.Adjacency)
		}
		// Collisions of sketches are no noise of the devices.
		if most := 60.; res.RMSE > res.Unbiased || !(res.Within > 0 && res.Within <= res.RMSE) || res.Unbiased > most && want.Hashes == 0 {
			t.Errorf("%+v: errors %v, %v, %v", want, res.Unbiased, res.RMSE, res.Within)
		}
		if res.MessagesPerDevice > float64(res.EnvelopesPerDevice) || res.BytesPerDevice != 152*res.EnvelopesPerDevice {
			t.Errorf("%+v: %v messages in %d envelopes of %d bytes", want, res.MessagesPerDevice, res.EnvelopesPerDevice, res.BytesPerDevice)
		}
		if len(res.Top) != measure.TopCells || !(res.Top[0].Low <= res.Top[0].Estimate && res.Top[0].Estimate <= res.Top[0].High) {
			t.Errorf("%+v: top %v", want, res.Top)
		}
		if (want.Encoding == experiments.Central) != (res.EpsilonLocal == nil) {
			t.Errorf("%+v: local epsilon %v", want, res.EpsilonLocal)
		}
	}
}

// The same seed gives the same numbers, another one others; runs differ among themselves.
func TestHistogramIsTheSameForASeed(t *testing.T) {
	run := func(seed uint64, runs int) experiments.Result {
		h := exactly(experiments.OneHot, 1)
		h.Seed, h.Runs, h.Fragments = seed, runs, 4
		res, err := h.run(small())
		if err != nil {
			t.Fatal(err)
		}
		res.Seconds = 0
		return res
	}
	a, b := run(1, 1), run(1, 1)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("one seed, two results: %s", diff)
	}
	if c := run(2, 1); c.RMSE == a.RMSE || c.Top[0] == a.Top[0] {
		t.Error("two seeds, one result")
	}
	if c := run(1, 2); c.RMSE == a.RMSE || c.Top[0] != a.Top[0] {
		t.Error("a second run adds nothing, or changes the first")
	}
}

// The counts of the heavy hitters' table: 1.78 million cells of 204 million respondents.
func BenchmarkHeavyHittersByLaw(b *testing.B) {
	p, err := Population(heavyHitters, 1, nil)
	if err != nil {
		b.Fatal(err)
	}
	h := exactly(experiments.OneHot, 1)
	h.Delta = 5e-10
	for b.Loop() {
		if _, err := h.run(p); err != nil {
			b.Fatal(err)
		}
	}
}

func TestHistogramRefuses(t *testing.T) {
	for want, change := range map[string]func(h *trial){
		"encoding":      func(h *trial) { h.Encoding = "two-hot" },
		"accounting":    func(h *trial) { h.Accounting = "" },
		"adjacency":     func(h *trial) { h.Adjacency = "" },
		"a curator":     func(h *trial) { h.Encoding, h.LocalEpsilon = experiments.Central, 1 },
		"epsilon":       func(h *trial) { h.Epsilon = math.NaN() },
		"delta":         func(h *trial) { h.Delta = 0 },
		"fragments":     func(h *trial) { h.Fragments = -1 },
		"hash function": func(h *trial) { h.Encoding = experiments.Count },
		"runs":          func(h *trial) { h.Runs = 0 },
	} {
		h := exactly(experiments.OneHot, 1)
		change(&h)
		if _, err := h.run(small()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v does not speak of %s", h, err, want)
		}
	}
}

func TestLargest(t *testing.T) {
	x := []float64{1, 5, 5, 0, 7, 5}
	got := measure.Largest(len(x), 3, func(i int) float64 { return x[i] })
	if len(got) != 3 || got[0] != 4 || got[1] != 1 || got[2] != 2 {
		t.Error(got)
	}
}
