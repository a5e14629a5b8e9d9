package histogram_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

var update = flag.Bool("update", false, "write the golden vectors anew (only for a new version of the format)")

// histogramVectors pin a whole flow of a histogram without seals. They change only
// with the format's version. Do not edit to pass.
type histogramVectors struct {
	Comment     string            `json:"comment"`
	Source      string            `json:"source"`
	Tolerance   float64           `json:"tolerance"` // of every fraction, relative to 1 or to itself
	Plan        json.RawMessage   `json:"plan"`      // canonical form
	Hash        string            `json:"hash"`
	Seed        uint64            `json:"seed"`
	Devices     []histogramDevice `json:"devices"`
	Respondents int               `json:"respondents"` // contributions counted
	Counts      []uint64          `json:"counts"`      // by channel
	Estimates   []estimate.Value  `json:"estimates"`
	Bad         []badVector       `json:"bad"`
}

type histogramDevice struct {
	Words    []string   `json:"words"` // first of the generator, hexadecimal
	Answers  []any      `json:"answers"`
	Held     [][]uint32 `json:"held"` // cells, by attribute
	Key      string     `json:"backstop_key,omitempty"`
	Backstop string     `json:"backstop,omitempty"` // as kept
	Channels [][]uint32 `json:"channels"`           // of the messages, by contribution
	Payloads [][]string `json:"payloads"`           // in the order of sealing
}

// vectorHistogram has its numbers written down: the calibration is not what is
// pinned here.
func vectorHistogram(kind string) plan.Plan {
	h := example.OneHot(example.Drinks())
	h.Randomizer.Epsilon, h.Randomizer.Keep, h.Randomizer.Flip = 1.5, 0.75, 0.25
	p := example.Version2(example.Histogram(h))
	p.Title, p.Crowd.Minimum, p.Budget.DishonestShare = "golden vectors", 2, 0
	p.Envelopes.PayloadBytes, p.Envelopes.PerDevice = 8, 6
	p.Question.Histogram = &h
	switch kind {
	case "sample":
		h.Attributes = append(h.Attributes, plan.Attribute{Name: "rising", Kind: "buckets", Low: 4, High: 12, Cells: 4}, plan.Attribute{Name: "basket", Kind: "set", Size: 8, Most: 2})
		h.Collect = "sample"
	case "fragments":
		h.Randomizer.Fragments, h.Randomizer.Backstop, h.Randomizer.BackstopKeep, h.Randomizer.BackstopFlip = 4, 2, 0.875, 0.125
		example.Spread(&p, 2)
	case "sketch":
		h.Sketch = &plan.Sketch{Name: "count-mean", Hashes: 3, Width: 4, Seed: example.Seed}
	default: // a randomizer
		p.Budget.Adjacency = "replacement"
		h.Randomizer = plan.Randomizer{Name: kind, Accounting: "exact", Epsilon: 1.5}
		if kind == "subset" {
			h.Randomizer.Subset = 2
		} else if kind == "local-hash" {
			h.Randomizer.Range, h.Randomizer.Functions, h.Randomizer.Seed = 3, 4, example.Seed
		}
	}
	return p
}

// vectorKinds are the files of vectors: each randomizer of whole reports has one.
func vectorKinds() []string {
	kinds := []string{"sample", "fragments", "sketch"}
	for _, name := range plan.Randomizers {
		if !(plan.Randomizer{Name: name}).OneHot() {
			kinds = append(kinds, name)
		}
	}
	return kinds
}

func TestHistogramGoldenVectors(t *testing.T) {
	for _, kind := range vectorKinds() {
		t.Run(kind, func(t *testing.T) {
			file := "testdata/vectors/v2/" + kind + ".json"
			got := histogramFlow(t, vectorHistogram(kind))
			if *update {
				b, err := json.MarshalIndent(got, "", " ")
				if err == nil {
					err = os.WriteFile(file, append(b, '\n'), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want histogramVectors
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			if len(want.Devices) == 0 || len(want.Counts) == 0 || len(want.Bad) == 0 {
				t.Fatal("no vectors")
			}
			for i := range got.Devices { // numbers read back from JSON are all float64
				b, _ := json.Marshal(got.Devices[i].Answers)
				if err := json.Unmarshal(b, &got.Devices[i].Answers); err != nil {
					t.Fatal(err)
				}
			}
			near := func(a, b float64) bool { return math.Abs(a-b) <= want.Tolerance*max(1, math.Abs(a)) }
			if diff := cmp.Diff(want, got, cmp.Comparer(near), cmp.Comparer(func(a, b json.RawMessage) bool { return example.SameJSON(t, a, b) })); diff != "" {
				t.Errorf("the flow differs from the vectors (-want +got):\n%s", diff)
			}
		})
	}
}

func histogramFlow(t *testing.T, p plan.Plan) histogramVectors {
	const seed = 20261121
	proto := example.Runnable(t, p)
	v := histogramVectors{
		Comment: "A whole flow without seals: each device's randomness, answers, cells, backstop, messages and payloads, then counts and estimates. " +
			"Device i draws from the AES-128-CTR stream of (seed, i); see internal/seeded.",
		Source:    "confetti, go test ./protocol -run TestHistogramGoldenVectors -update",
		Tolerance: 1e-9,
		Plan:      p.Canonical(),
		Hash:      hex.EncodeToString(proto.Hash[:]),
		Seed:      seed,
	}
	tallies := example.Crowds(proto)
	for i := range uint64(6) {
		a := example.Answers(p, int(i))
		d := histogramDevice{Answers: a.Values}
		words := seeded.New(seed, i)
		for range 4 {
			d.Words = append(d.Words, fmt.Sprintf("%016x", words.Uint64()))
		}
		symbol, err := proto.Encode(a)
		if err != nil {
			t.Fatal(err)
		}
		_, d.Held = histogram.Held(symbol)
		r := seeded.New(seed, i)
		memory := &example.Shelf{Kept: map[[32]byte][]byte{}}
		report, err := proto.Randomize(r, symbol, memory)
		if err != nil {
			t.Fatal(err)
		}
		for key, kept := range memory.Kept {
			d.Key, d.Backstop = hex.EncodeToString(key[:]), hex.EncodeToString(kept)
		}
		for _, part := range report.Parts {
			tallies[0].Respondents++
			channels, payloads := []uint32{}, []string{}
			for _, body := range part {
				channel, _ := example.Said(t, body)
				channels = append(channels, uint32(channel))
			}
			for _, payload := range fragment.Pack(r, part, proto.Plan.Envelopes.PerDevice, proto.Plan.Envelopes.PayloadBytes) {
				payloads = append(payloads, hex.EncodeToString(payload))
				if err := fragment.Count(tallies[0].Tally, payload); err != nil {
					t.Fatal(err)
				}
			}
			d.Channels, d.Payloads = append(d.Channels, channels), append(d.Payloads, payloads)
		}
		v.Devices = append(v.Devices, d)
	}
	v.Respondents, v.Counts, v.Estimates = tallies[0].Respondents, example.Cells(tallies[0]), proto.Estimate(tallies)[0]
	v.Bad = []badVector{
		{fmt.Sprintf("01%08x000000", len(v.Counts)), "a channel that the plan has not"}, {"0100000000010000", "symbol 1"},
		{"0200000000000000", "kind 2"}, {"0000000001000000", "a dummy that names a channel"}, {"0100000000000100", "padding is not zero"},
	}
	for _, bad := range v.Bad {
		payload, err := hex.DecodeString(bad.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if err := fragment.Count(proto.NewTally(), payload); err == nil {
			t.Errorf("%s (%s) was counted", bad.Payload, bad.Why)
		}
	}
	return v
}

type badVector struct {
	Payload string `json:"payload"`
	Why     string `json:"why"`
}
