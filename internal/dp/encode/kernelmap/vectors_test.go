package kernelmap

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// Golden vectors let a second implementation find its first wrong step. They
// change only with the format's version: a device with other features would
// spoil every density. Do not edit to pass.
var update = flag.Bool("update", false, "write the golden vectors anew (only for a new version of the format)")

const vectorFile = "../testdata/vectors/v1/features.json"

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
		r := encode.Expand(seed(0), label)
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
		var parameters affine
		if a, ok := f.family.(*affine); ok {
			parameters = *a
		}
		s := sample{
			Kernel: c.spec.Kernel, Dimension: c.spec.Dimension, Repetitions: c.spec.Repetitions, Bandwidth: c.spec.Bandwidth,
			Normalize: c.spec.Normalize, Seed: hexOf(c.spec.Seed), Weights: parameters.weights.Data, Offsets: parameters.offsets, X: c.x, Bound: f.Bound(),
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
	var want vectors
	if golden := crosscheck.Golden(t, *update, vectorFile, &want, got, got.Tolerance); golden && (len(want.Cases) == 0 || len(want.Streams) == 0) {
		t.Fatal("no vectors")
	}
}

// familySample is one value under one description.
type familySample struct {
	Kernel      Kernel    `json:"kernel"`
	Dimension   int       `json:"dimension"`
	Repetitions int       `json:"repetitions"`
	Bandwidth   float64   `json:"bandwidth,omitempty"`
	Clip        float64   `json:"clip,omitempty"`
	Radius      float64   `json:"radius,omitempty"`
	Buckets     int       `json:"buckets,omitempty"`
	Projection  int       `json:"projection,omitempty"`
	Normalize   bool      `json:"normalize"`
	Seed        string    `json:"seed"`
	X           []float32 `json:"x"`
	Refused     bool      `json:"refused"` // x is no value of this plan: an error, not features
	Bound       float64   `json:"bound"`
	Features    []float32 `json:"features,omitempty"` // f(x)/R
	Query       []float32 `json:"query,omitempty"`    // g(x)
}

type familyVectors struct {
	Comment   string         `json:"comment"`
	Source    string         `json:"source"`
	Tolerance float64        `json:"tolerance"` // of every number, absolute
	Cases     []familySample `json:"cases"`
}

func TestGoldenFamilies(t *testing.T) {
	seed := [32]byte{0: 9, 31: 1}
	long := make([]float32, 21)
	for j := range long {
		long[j] = float32(j%5) - 1.5
	}
	for _, c := range []struct {
		file  string
		specs []Spec
		x     [][]float32
	}{
		{"rotated", []Spec{
			{Kernel: InnerRotated, Dimension: 4, Repetitions: 1, Clip: 1.5, Seed: seed},
			{Kernel: InnerRotated, Dimension: 4, Repetitions: 1, Clip: 2, Normalize: true},
			{Kernel: InnerRotated, Dimension: 21, Repetitions: 1, Clip: 2.5, Normalize: true, Seed: seed},
		}, [][]float32{{0.6, 0, -0.8, 0}, {3, 0, -4, 1}, long}},
		{"paired", []Spec{
			{Kernel: GaussianPaired, Dimension: 4, Repetitions: 6, Bandwidth: 0.8, Seed: seed},
			{Kernel: GaussianPaired, Dimension: 21, Repetitions: 4, Bandwidth: 2, Normalize: true, Seed: seed},
		}, [][]float32{{0.6, 0, -0.8, 0}, {3, 0, -4, 1}, {0, 0, 0, 1e5}, long}},
		{"projected", []Spec{
			{Kernel: GaussianProjected, Dimension: 4, Repetitions: 5, Bandwidth: 0.8, Projection: 3, Seed: seed},
			{Kernel: GaussianProjected, Dimension: 21, Repetitions: 4, Bandwidth: 2, Projection: 5, Normalize: true, Seed: seed},
		}, [][]float32{{0.6, 0, -0.8, 0}, {3, 0, -4, 1}, {0, 0, 0, 1e5}, long}},
		{"hashed", []Spec{
			{Kernel: Laplacian, Dimension: 4, Repetitions: 3, Bandwidth: 0.8, Buckets: 3, Seed: seed},
			{Kernel: LaplacianSign, Dimension: 21, Repetitions: 12, Bandwidth: 3, Normalize: true, Seed: seed},
			{Kernel: Exponential, Dimension: 4, Repetitions: 3, Bandwidth: 2, Radius: 6, Buckets: 3, Seed: seed},
			{Kernel: ExponentialSign, Dimension: 21, Repetitions: 12, Bandwidth: 1, Radius: 1, Normalize: true, Seed: seed},
		}, [][]float32{{0.6, 0, -0.8, 0}, {3, 0, -4, 1}, {0, 0, 0, 1e5}, long}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got := familyVectors{
				Comment:   "Public feature maps: features of fixed values.",
				Source:    "confetti, go test ./dp/encode -run TestGoldenFamilies -update",
				Tolerance: 1e-6,
			}
			for _, spec := range c.specs {
				f := mustNew(t, spec)
				for _, x := range c.x {
					s := familySample{
						Kernel: spec.Kernel, Dimension: spec.Dimension, Repetitions: spec.Repetitions, Bandwidth: spec.Bandwidth, Clip: spec.Clip, Radius: spec.Radius, Buckets: spec.Buckets, Projection: spec.Projection,
						Normalize: spec.Normalize, Seed: hexOf(spec.Seed), X: x, Bound: f.Bound(),
						Features: make([]float32, f.Channels()), Query: make([]float32, f.Channels()),
					}
					if err := errors.Join(f.Map(x, s.Features), f.Query(x, s.Query)); err != nil {
						s.Refused, s.Features, s.Query = true, nil, nil
					}
					got.Cases = append(got.Cases, s)
				}
			}
			var want familyVectors
			if golden := crosscheck.Golden(t, *update, "../testdata/vectors/v1/"+c.file+".json", &want, got, got.Tolerance); golden && len(want.Cases) == 0 {
				t.Fatal("no vectors")
			}
		})
	}
}

// Every kernel has golden vectors, and stands in the document that another language is written from.
func TestEveryKernelIsWrittenDown(t *testing.T) {
	files, err := filepath.Glob("../testdata/vectors/v1/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		golden += string(text)
	}
	document, err := os.ReadFile("../../../../docs/wire-randomness.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range append(Kernels(), "nobody's") {
		if has := strings.Contains(golden, `"kernel": "`+k+`"`); has != (k != "nobody's") {
			t.Errorf("%s has golden vectors: %v", k, has)
		}
		if has := strings.Contains(string(document), "`"+k+"`"); has != (k != "nobody's") {
			t.Errorf("%s stands in docs/wire-randomness.md: %v", k, has)
		}
	}
}

func hexOf(seed [32]byte) string { return hex.EncodeToString(seed[:]) }
