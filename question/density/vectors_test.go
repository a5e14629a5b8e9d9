package density_test

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
	"github.com/confetti-dp/confetti/question/density"
)

// Golden vectors let a second implementation of a client or an analyzer find
// its first wrong step. They change only with the format's version. Do not
// edit to pass.
var update = flag.Bool("update", false, "write the golden vectors anew (only for a new version of the format)")

type flowVectors struct {
	Comment   string          `json:"comment"`
	Source    string          `json:"source"`
	Tolerance float64         `json:"tolerance"` // of every fraction, relative to 1 or to itself
	Plan      json.RawMessage `json:"plan"`      // canonical form
	Hash      string          `json:"hash"`
	Seed      uint64          `json:"seed"`
	Devices   []deviceVector  `json:"devices"`
	Tallies   []tallyVector   `json:"tallies"` // by crowd
	Bad       []badVector     `json:"bad"`     // payloads that are refused
}

// deviceVector is all that device i does with the words that its generator
// gives, in this order: label, bits, symbols, permutation.
type deviceVector struct {
	Words    []string  `json:"words"` // first of the generator, hexadecimal
	Features []float32 `json:"features"`
	Class    int       `json:"class"`
	Symbol   []float32 `json:"symbol"`
	Crowd    int       `json:"crowd"`
	Messages [][2]int  `json:"messages"` // channel and symbol
	Payloads []string  `json:"payloads"` // hexadecimal, in the order of sealing
}

type tallyVector struct {
	Respondents int              `json:"respondents"`
	Counts      []uint64         `json:"counts"` // channel-major
	Estimates   []estimate.Value `json:"estimates"`
}

func TestGoldenVectors(t *testing.T) {
	for _, bitsum := range []string{"rr", "3nb"} {
		t.Run(bitsum, func(t *testing.T) {
			file := "testdata/vectors/v2/" + bitsum + ".json"
			got := flow(t, vectorPlan(bitsum))
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
			var want flowVectors
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			if len(want.Devices) == 0 || len(want.Tallies) == 0 || len(want.Bad) == 0 {
				t.Fatal("no vectors")
			}
			near := func(a, b float64) bool { return math.Abs(a-b) <= want.Tolerance*max(1, math.Abs(a)) }
			if diff := cmp.Diff(want, got, cmp.Comparer(near), cmp.Comparer(func(a, b float32) bool { return near(float64(a), float64(b)) }),
				cmp.Comparer(func(a, b json.RawMessage) bool { return example.SameJSON(t, a, b) })); diff != "" {
				t.Errorf("the flow differs from the vectors (-want +got):\n%s", diff)
			}
		})
	}
}

// vectorPlan has its noise written down: the calibration is not what is pinned here.
func vectorPlan(bitsum string) plan.Plan {
	p := example.Version2(example.Density(bitsum))
	p.Title = "golden vectors"
	p.Crowd.Minimum, p.Budget.DishonestShare = 2, 0
	p.Envelopes.PayloadBytes = 8
	if b := &p.Question.Density.Bitsum; bitsum == "rr" {
		b.FlipProbability, p.Envelopes.PerDevice = 0.25, 4
	} else {
		b.Noise, b.FloodShape, b.FloodProbability, p.Envelopes.PerDevice = 0.75, 1.5, 0.5, 8
		p.Crowd.Maximum = 6
	}
	return p
}

func flow(t *testing.T, p plan.Plan) flowVectors {
	const seed = 20260701
	proto := example.Runnable(t, p)
	v := flowVectors{
		Comment: "A whole flow without seals: each device's randomness, symbol, report, messages and payloads, then tallies and estimates of each crowd. " +
			"Device i draws from the AES-128-CTR stream of (seed, i); see internal/seeded.",
		Source:    "confetti, go test ./protocol -run TestGoldenVectors -update",
		Tolerance: 5e-7,
		Plan:      p.Canonical(),
		Hash:      hex.EncodeToString(proto.Hash[:]),
		Seed:      seed,
	}
	tallies := example.Crowds(proto)
	for i := range uint64(5) {
		d := deviceVector{Features: []float32{0.5 - 0.25*float32(i), 0.75, 0.125 * float32(i)}, Class: int(i) % 2}
		words := seeded.New(seed, i)
		for range 4 {
			d.Words = append(d.Words, fmt.Sprintf("%016x", words.Uint64()))
		}
		r := seeded.New(seed, i)
		symbol, err := proto.Encode(density.Labelled{Features: d.Features, Class: d.Class})
		if err != nil {
			t.Fatal(err)
		}
		d.Symbol = density.Vector(symbol)
		report, err := proto.Randomize(r, symbol, nil)
		if err != nil {
			t.Fatal(err)
		}
		d.Crowd = report.Crowd
		for _, body := range report.Parts[0] {
			channel, symbol := example.Said(t, body)
			d.Messages = append(d.Messages, [2]int{channel, symbol})
		}
		for _, payload := range fragment.Pack(r, report.Parts[0], proto.Plan.Envelopes.PerDevice, proto.Plan.Envelopes.PayloadBytes) {
			d.Payloads = append(d.Payloads, hex.EncodeToString(payload))
			if err := fragment.Count(tallies[report.Crowd].Tally, payload); err != nil {
				t.Fatal(err)
			}
		}
		tallies[report.Crowd].Respondents++
		v.Devices = append(v.Devices, d)
	}
	for crowd, estimates := range proto.Estimate(tallies) {
		v.Tallies = append(v.Tallies, tallyVector{tallies[crowd].Respondents, example.Cells(tallies[crowd]), estimates})
	}
	v.Bad = []badVector{
		{"0100000004000000", "channel 4 of 4"}, {"0100000000020000", "symbol 2"}, {"0200000000000000", "kind 2"},
		{"0000000001000000", "a dummy that names a channel"}, {"0100000000000100", "padding is not zero"}, {"0100000000", "shorter than a message"},
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
