package confetti_test

import (
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

// The hot paths beside their floors, the bare library calls that the same work
// cannot do without. docs/performance.md explains them and gives the numbers;
// sealing, opening and mixing are measured in envelope and shuffler.

// beside alternates ours with the floor, so that both meet the same weather on
// a shared machine, and reports nanoseconds of the processor an item for each and their ratio.
func beside(b *testing.B, items int, ours, floor func()) {
	var spent [2]time.Duration
	for b.Loop() {
		for i, f := range []func(){ours, floor} {
			start := costlimit.Used(b)
			f()
			spent[i] += costlimit.Used(b) - start
		}
	}
	n := float64(b.N * items)
	b.ReportMetric(float64(spent[0])/n, "ns/item")
	b.ReportMetric(float64(spent[1])/n, "floor-ns/item")
	b.ReportMetric(float64(spent[0])/float64(spent[1]), "ratio")
	b.ReportMetric(0, "ns/op") // both together: of no meaning
}

var (
	randomizedResponse = plan.Bitsum{Name: "rr", Accounting: "exact", FlipProbability: 0.2}
	threeNB            = plan.Bitsum{Name: "3nb", Accounting: "exact", Noise: 0.0085, FloodShape: 1.5, FloodProbability: 0.99}
)

// collection is a density question of one class over two hops, with keys.
func collection(b *testing.B, dimension, repetitions, minimum int, bits plan.Bitsum) (*protocol.Protocol, simulate.Keys) {
	b.Helper()
	p := plan.Plan{
		Version: plan.Version, Title: "benchmark",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension: dimension, Normalize: true, Repetitions: repetitions, Bitsum: bits,
			Kernel: plan.Kernel{Name: "gaussian", Bandwidth: 1, Seed: strings.Repeat("01", 32)},
		}},
		Budget:    plan.Budget{Epsilon: 2, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: plan.Unprotected},
		Crowd:     plan.Crowd{Names: []string{"all"}, Minimum: minimum},
		Envelopes: plan.Envelopes{PerDevice: repetitions, PayloadBytes: 8, Suite: string(envelope.X25519)},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{{Operator: "entry"}, {Operator: "second"}}}}}},
		Analyzer:  plan.Party{Operator: "analyzer"},
	}
	if bits.Name == threeNB.Name {
		p.Crowd.Maximum = minimum // its noise is divided among those who may count
	}
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		b.Fatal(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		b.Fatal(err)
	}
	return proto, keys
}

// normals is a matrix of the given shape.
func normals(r *rand.Rand, rows, cols int) blas32.General {
	m := blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
	for i := range m.Data {
		m.Data[i] = float32(r.NormFloat64())
	}
	return m
}

func respondents(r *rand.Rand, n, dimension int) []question.Value {
	x := normals(r, n, dimension)
	values := make([]question.Value, n)
	for i := range values {
		values[i] = density.Labelled{Features: x.Data[i*dimension : (i+1)*dimension]}
	}
	return values
}

// BenchmarkDevice encodes and randomizes one value of 768 coordinates in 768
// channels. Its floor is a matrix-vector product and 768 cosines.
func BenchmarkDevice(b *testing.B) {
	for _, bits := range []plan.Bitsum{randomizedResponse, threeNB} {
		b.Run(bits.Name, func(b *testing.B) {
			const d = 768
			p, _ := collection(b, d, d, 40_000, bits)
			r := seeded.New(1)
			value, weights, out := respondents(r, 1, d)[0], normals(r, d, d), make([]float32, d)
			x := blas32.Vector{N: d, Inc: 1, Data: value.(density.Labelled).Features}
			beside(b, 1, func() {
				symbol, err := p.Encode(value)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Randomize(r, symbol, nil); err != nil {
					b.Fatal(err)
				}
			}, func() {
				blas32.Gemv(blas.NoTrans, 1, weights, x, 0, blas32.Vector{N: d, Inc: 1, Data: out})
				for i, v := range out {
					out[i] = float32(math.Cos(float64(v)))
				}
			})
		})
	}
}

// sealing is crypto/hpke alone.
type sealing struct {
	b   *testing.B
	key hpke.PrivateKey
}

func newSealing(b *testing.B) sealing {
	key, err := hpke.DHKEM(ecdh.X25519()).GenerateKey()
	if err != nil {
		b.Fatal(err)
	}
	return sealing{b, key}
}

func (s sealing) seal(payload []byte) []byte {
	sealed, err := hpke.Seal(s.key.PublicKey(), hpke.HKDFSHA256(), hpke.AES128GCM(), nil, payload)
	if err != nil {
		s.b.Fatal(err)
	}
	return sealed
}

func (s sealing) open(sealed []byte) {
	if _, err := hpke.Open(s.key, hpke.HKDFSHA256(), hpke.AES128GCM(), nil, sealed); err != nil {
		s.b.Fatal(err)
	}
}

// BenchmarkReport is all that a device does, its 768 fragments sealed for a hop and the
// analyzer, and together for the entry; an item is a fragment. Its floor seals each for all three.
func BenchmarkReport(b *testing.B) {
	const d = 768
	p, _ := collection(b, d, d, 40_000, randomizedResponse)
	r := seeded.New(2)
	c, err := client.New(p, r)
	if err != nil {
		b.Fatal(err)
	}
	value, bare := respondents(r, 1, d)[0], newSealing(b)
	beside(b, d, func() {
		if _, err := c.Report(value); err != nil {
			b.Fatal(err)
		}
	}, func() {
		for range d {
			sealed := make([]byte, 8)
			for range 3 {
				sealed = bare.seal(sealed)
			}
		}
	})
}

// BenchmarkAnalyze opens and counts one mixed batch. Its floor is the opening.
func BenchmarkAnalyze(b *testing.B) {
	const devices, channels = 16, 64
	p, keys := collection(b, channels, channels, devices, randomizedResponse)
	r := seeded.New(3)
	collected, batch := gather(b, p, r, devices), envelope.Batch{}
	for hop, key := range keys.Hops[0] {
		h, err := shuffler.NewHop(p.Plan, 0, hop, key)
		if err != nil {
			b.Fatal(err)
		}
		if hop == 0 {
			batch, _, err = h.Enter(collected)
		} else {
			batch, _, err = h.Mix(batch)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	bare := newSealing(b)
	sealed := bare.seal(make([]byte, 8))
	beside(b, devices*channels, func() {
		a, err := analyzer.New(p, keys.Analyzer) // one takes a batch once
		if err == nil {
			err = a.Add(batch)
		}
		if err != nil {
			b.Fatal(err)
		}
	}, func() {
		for range devices * channels {
			bare.open(sealed)
		}
	})
}

// gather is a whole crowd, as the entry collects it.
func gather(b *testing.B, p *protocol.Protocol, r *rand.Rand, devices int) shuffler.Collected {
	collector, err := shuffler.NewCollector(p.Plan, 0)
	if err != nil {
		b.Fatal(err)
	}
	c, err := client.New(p, r)
	if err != nil {
		b.Fatal(err)
	}
	for i, value := range respondents(r, devices, p.Plan.Question.Density.Dimension) {
		contributions, err := c.Report(value)
		if err == nil {
			err = collector.Add(fmt.Sprint(i), contributions[0].Body)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	crowds, _ := collector.Close()
	return crowds[0]
}

// BenchmarkCount counts opened payloads, each in memory of its own as the
// analyzer gets them, 8 MB in all. The floor reads them and adds up their words.
func BenchmarkCount(b *testing.B) {
	const n, channels = 1 << 20, 1024
	p, _ := collection(b, 1, channels, 1, randomizedResponse)
	r := seeded.New(4)
	payloads := make([][]byte, n)
	for i := range payloads {
		said := tally.NewMessages(1)
		said.Say(r.Uint32N(channels), uint8(r.Uint32N(2)))
		payloads[i] = fragment.Pack(r, said.Bodies, 1, 8)[0]
	}
	t, sum := p.NewTally(), uint64(0)
	beside(b, n, func() {
		for _, payload := range payloads {
			if err := fragment.Count(t, payload); err != nil {
				b.Fatal(err)
			}
		}
	}, func() {
		for _, payload := range payloads {
			sum += binary.LittleEndian.Uint64(payload)
		}
	})
	if sum == 0 {
		b.Fatal("the floor read nothing")
	}
}

// BenchmarkQuery asks a density of 784 repetitions at 2,048 points of 784
// coordinates. Its floor is gonum's matrix product.
func BenchmarkQuery(b *testing.B) {
	const queries, d = 2048, 784
	f, err := kernelmap.New(kernelmap.Spec{Kernel: kernelmap.Gaussian, Dimension: d, Repetitions: d, Bandwidth: 1})
	if err != nil {
		b.Fatal(err)
	}
	density := kde.Density{Features: f, Respondents: 1000, Sums: make([]estimate.Value, d)}
	r := seeded.New(5)
	for c := range density.Sums {
		density.Sums[c] = estimate.Value{Mean: 1000 * r.Float64(), StdErr: 30}
	}
	y, weights, out := normals(r, queries, d), normals(r, d, d), normals(r, queries, d)
	beside(b, queries, func() {
		if _, err := density.QueryAll(y); err != nil {
			b.Fatal(err)
		}
	}, func() { blas32.Gemm(blas.NoTrans, blas.Trans, 1, y, weights, 0, out) })
}

// BenchmarkLaw simulates a collection from 4,096 respondents of 784 coordinates
// in 784 channels by its law. Its floor is gonum's matrix product.
func BenchmarkLaw(b *testing.B) {
	const devices, d = 4096, 784
	p, _ := collection(b, d, d, devices, randomizedResponse)
	r := seeded.New(6)
	x, weights, out := normals(r, devices, d), normals(r, d, d), normals(r, devices, d)
	values := respondents(r, devices, d)
	beside(b, devices, func() {
		if _, err := simulate.Law(p, distribution.Values(values), 7, func(string, int, int) {}); err != nil {
			b.Fatal(err)
		}
	}, func() { blas32.Gemm(blas.NoTrans, blas.Trans, 1, x, weights, 0, out) })
}
