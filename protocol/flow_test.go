package protocol_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
)

func TestEncodeRefusesBadValues(t *testing.T) {
	p := example.Design(t, example.Density("rr"))
	normalized := p
	d := *p.Question.Density
	d.Normalize = true
	normalized.Question.Density = &d
	inner := example.Density("rr")
	example.Identity(&inner, 3)
	for name, c := range map[string]struct {
		plan  plan.Plan
		value question.Value
		want  string
	}{
		"another type":       {p, []float32{0.62517, 0, 0}, "Labelled"},
		"a pointer":          {p, &density.Labelled{Features: []float32{0.62517, 0, 0}}, "Labelled"},
		"nothing":            {p, nil, "Labelled"},
		"too short":          {p, density.Labelled{Features: []float32{0.62517, 0}}, "2 coordinates, the plan has 3"},
		"too long":           {p, density.Labelled{Features: []float32{0.62517, 0, 0, 0}}, "4 coordinates, the plan has 3"},
		"no features":        {p, density.Labelled{}, "0 coordinates, the plan has 3"},
		"NaN":                {p, density.Labelled{Features: []float32{0.62517, float32(math.NaN()), 0}}, "coordinate 1 is not finite"},
		"infinite":           {p, density.Labelled{Features: []float32{0.62517, 0, float32(math.Inf(-1))}}, "coordinate 2 is not finite"},
		"zero":               {normalized, density.Labelled{Features: []float32{0, 0, 0}}, "zero vector"},
		"not of unit length": {example.Design(t, inner), density.Labelled{Features: []float32{0.62517, 0, 0}}, "unit length"},
		"class below":        {p, density.Labelled{Features: []float32{0.62517, 0, 0}, Class: -62517}, "not one of the plan's 2"},
		"class above":        {p, density.Labelled{Features: []float32{0.62517, 0, 0}, Class: 62517}, "not one of the plan's 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := example.Runnable(t, c.plan).Encode(c.value)
			example.Mentions(t, err, c.want)
		})
	}
}

// Payloads come from anybody: what no client sends is an error that counts
// nothing and says nothing of the content.
func TestCountRefusesWhatNoClientSends(t *testing.T) {
	proto := example.Runnable(t, example.Design(t, example.Density("rr")))
	for name, c := range map[string]struct {
		payload string
		counted uint64
		bad     bool
	}{
		"a message":                 {"0100000003010000", 1, false},
		"a dummy":                   {"0000000000000000", 0, false},
		"a channel too many":        {"0100000004000000", 0, true},
		"the last channel there is": {"01ffffffff000000", 0, true},
		"a third symbol":            {"0100000000020000", 0, true},
		"symbol 255":                {"0100000000ff0000", 0, true},
		"a dummy with a channel":    {"0000000001000000", 0, true},
		"another kind":              {"0200000000000000", 0, true},
		"padding that speaks":       {"0100000000000001", 0, true},
		"too short":                 {"0100000000", 0, true},
		"empty":                     {"", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			payload, err := hex.DecodeString(c.payload)
			if err != nil {
				t.Fatal(err)
			}
			counts := proto.NewTally()
			if err := fragment.Count(counts, payload); (err != nil) != c.bad {
				t.Errorf("error %v", err)
			}
			var n uint64
			for _, k := range counts.(*tally.Counts).N {
				n += k
			}
			if n != c.counted {
				t.Errorf("counted %d messages, want %d", n, c.counted)
			}
		})
	}
}

// The network sees how many envelopes a device sends, and of what length:
// neither may depend on the value or the draw.
func TestNumberAndLengthOfPayloadsNeverDependOnTheData(t *testing.T) {
	for _, bitsum := range []string{"rr", "3nb"} {
		p := example.Density(bitsum)
		p.Question.Density.Normalize = true
		p = example.Design(t, p)
		// A cap that is met often, so that both filling up and cutting off are seen.
		p.Envelopes.PerDevice = min(p.Envelopes.PerDevice, p.Question.Density.Repetitions+1)
		proto := example.Runnable(t, p)
		rapid.Check(t, func(t *rapid.T) {
			x := rapid.SliceOfN(rapid.Float32Range(0.01, 1), 3, 3).Draw(t, "features")
			r := seeded.New(rapid.Uint64().Draw(t, "seed"))
			symbol, err := proto.Encode(density.Labelled{Features: x, Class: rapid.IntRange(0, 1).Draw(t, "class")})
			if err != nil {
				t.Fatal(err)
			}
			report, err := proto.Randomize(r, symbol, nil)
			if err != nil {
				t.Fatal(err)
			}
			payloads := fragment.Pack(r, report.Parts[0], proto.Plan.Envelopes.PerDevice, proto.Plan.Envelopes.PayloadBytes)
			if len(payloads) != p.Envelopes.PerDevice {
				t.Fatalf("%s: %d payloads, want %d", bitsum, len(payloads), p.Envelopes.PerDevice)
			}
			tally := proto.NewTally()
			for _, b := range payloads {
				if len(b) != p.Envelopes.PayloadBytes {
					t.Fatalf("%s: a payload of %d bytes, want %d", bitsum, len(b), p.Envelopes.PayloadBytes)
				}
				if err := fragment.Count(tally, b); err != nil {
					t.Fatalf("%s: own payload: %v", bitsum, err)
				}
			}
		})
	}
}

// BenchmarkCount is what the analyzer does to a payload once it is open, in
// messages per second and core.
func BenchmarkCount(b *testing.B) {
	for _, channels := range []int{768, 1 << 16} {
		p := example.Density("rr")
		p.Question.Density.Repetitions, p.Question.Density.Bitsum.FlipProbability = channels, 0.25
		p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = channels, 8
		proto := example.Runnable(b, p)
		payloads := batch(b, proto, 1<<20)
		b.Run(fmt.Sprintf("channels=%d", channels), func(b *testing.B) {
			tally := proto.NewTally()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := fragment.Count(tally, payloads[i&(1<<20-1)]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mmessages/s")
		})
	}
}

// batch is n payloads of devices, permuted, and then one after the other in
// memory as opening them leaves them.
func batch(b *testing.B, proto *protocol.Protocol, n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	symbol, err := proto.Encode(density.Labelled{Features: []float32{0.5, 0, 0.5}})
	if err != nil {
		b.Fatal(err)
	}
	var all [][]byte
	for len(all) < n {
		report, err := proto.Randomize(r, symbol, nil)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, fragment.Pack(r, report.Parts[0], proto.Plan.Envelopes.PerDevice, proto.Plan.Envelopes.PayloadBytes)...)
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:n]
	size := len(all[0])
	block := make([]byte, n*size)
	for i := range all {
		copy(block[i*size:], all[i])
		all[i] = block[i*size : (i+1)*size : (i+1)*size]
	}
	return all
}
