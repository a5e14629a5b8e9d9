package encode

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Golden vectors let a second implementation find its first wrong step. They
// change only with the format's version: a device with other features would
// spoil every density. Do not edit to pass.
var update = flag.Bool("update", false, "write the golden vectors anew (only for a new version of the format)")

const vectorFile = "testdata/vectors/v1/features.json"

type vectors struct {
	Comment   string   `json:"comment"`
	Source    string   `json:"source"`
	Tolerance float64  `json:"tolerance"` // of every number, absolute: one float32 step near 4
	Streams   []golden `json:"streams"`
	Cases     []sample `json:"cases"`
}

type golden struct {
	Seed     string    `json:"seed"`
	Label    string    `json:"label"`
	Words    []string  `json:"words"`    // first 64-bit words, hexadecimal
	Uniforms []float64 `json:"uniforms"` // from the same words
	Normals  []float64 `json:"normals"`
	Signs    []float64 `json:"signs"`
}

type sample struct {
	Kernel      Kernel    `json:"kernel"`
	Dimension   int       `json:"dimension"`
	Repetitions int       `json:"repetitions"`
	Bandwidth   float64   `json:"bandwidth"`
	Normalize   bool      `json:"normalize"`
	Seed        string    `json:"seed"`
	Weights     []float32 `json:"weights"` // row by row, scaled as used
	Offsets     []float32 `json:"offsets"`
	X           []float32 `json:"x"`
	Bound       float64   `json:"bound"`
	Features    []float32 `json:"features"` // f(x)/R
	Query       []float32 `json:"query"`    // g(x)
}

func TestGoldenVectors(t *testing.T) {
	got := vectors{
		Comment:   "Public feature maps: streams, parameters and features of fixed values.",
		Source:    "confetti, go test ./dp/encode -run TestGoldenVectors -update",
		Tolerance: 5e-7,
	}
	seed := func(first byte) (s [32]byte) {
		for i := range s {
			s[i] = first + byte(i)
		}
		return s
	}
	for _, label := range []string{"gaussian/weights", "gaussian/offsets", "ip-signs/weights"} {
		g := golden{Seed: hexOf(seed(0)), Label: label, Uniforms: make([]float64, 5), Normals: make([]float64, 5), Signs: make([]float64, 8)}
		r := Expand(seed(0), label)
		for range 5 {
			g.Words = append(g.Words, fmt.Sprintf("%016x", r.Uint64()))
		}
		s := newStream(seed(0), label)
		for i := range g.Uniforms {
			g.Uniforms[i] = s.uniform()
		}
		newStream(seed(0), label).normals(g.Normals)
		newStream(seed(0), label).signs(g.Signs)
		got.Streams = append(got.Streams, g)
	}
	long := make([]float32, 70) // more signs than one word holds, and past the buffer's first row
	long[0], long[69] = 0.6, -0.8
	for _, c := range []struct {
		spec Spec
		x    []float32
	}{
		{Spec{Kernel: Gaussian, Dimension: 5, Repetitions: 4, Bandwidth: 1, Seed: seed(0)}, []float32{0.5, -1, 0.25, 0, 2}},
		{Spec{Kernel: Gaussian, Dimension: 4, Repetitions: 3, Bandwidth: 0.75, Normalize: true, Seed: seed(100)}, []float32{3, 0, -4, 0}},
		{Spec{Kernel: InnerSigns, Dimension: 5, Repetitions: 4, Seed: seed(0)}, []float32{0.6, 0, 0, -0.8, 0}},
		{Spec{Kernel: InnerSigns, Dimension: 70, Repetitions: 2, Seed: seed(7)}, long},
		{Spec{Kernel: InnerIdentity, Dimension: 3, Repetitions: 1}, []float32{0, 0.6, -0.8}},
	} {
		f := mustNew(t, c.spec)
		s := sample{
			Kernel: c.spec.Kernel, Dimension: c.spec.Dimension, Repetitions: c.spec.Repetitions, Bandwidth: c.spec.Bandwidth,
			Normalize: c.spec.Normalize, Seed: hexOf(c.spec.Seed), Weights: f.weights.Data, Offsets: f.offsets, X: c.x, Bound: f.Bound(),
			Features: make([]float32, f.Channels()), Query: make([]float32, f.Channels()),
		}
		if err := f.Map(c.x, s.Features); err != nil {
			t.Fatal(err)
		}
		if err := f.Query(c.x, s.Query); err != nil {
			t.Fatal(err)
		}
		got.Cases = append(got.Cases, s)
	}
	if *update {
		b, err := json.MarshalIndent(got, "", " ")
		if err == nil {
			err = os.WriteFile(vectorFile, append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	var want vectors
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if len(want.Cases) == 0 || len(want.Streams) == 0 {
		t.Fatal("no vectors")
	}
	near := cmp.Options{
		cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= want.Tolerance }),
		cmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) <= want.Tolerance }),
	}
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("features differ from the vectors (-want +got):\n%s", diff)
	}
}

func hexOf(seed [32]byte) string { return hex.EncodeToString(seed[:]) }
