package results

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/plan"
)

// ofSets asks nine public records for one of three clusters, about (0,0), (6,0) and (0,6), and one of two classes.
func ofSets(t testing.TB) *latent.Model {
	s := &cluster.State{Centres: blas32.General{Rows: 3, Cols: 2, Stride: 2, Data: []float32{0, 0, 6, 0, 0, 6}}, Sizes: []int{300, 200, 100}}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	f, err := cluster.ParseFinder(s.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	return &latent.Model{
		Asked:  plan.Latent{Features: 2, Classes: []string{"a", "b; or c"}, Report: plan.LatentSymbols, Clusters: 3, Records: 9},
		Finder: f, Numbered: &latent.Numbered{Symbols: device.Subset{SubsetSelection: randomize.SubsetSelection{K: 6, W: 2, Epsilon: 1}}},
	}
}

// ofVectors asks them for a vector with noise, and a class.
func ofVectors() *latent.Model {
	e := &device.Encoder{
		Net: &nn.Model{Layers: []nn.Layer{nn.Dense{In: 2, Out: 2}}, Params: []float32{1, 0, 0, 1, 0, 0}}, Length: 8,
		Prototypes: blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{4, 0, 0, 4}}, Sizes: []int{10, 30},
	}
	return &latent.Model{
		Asked:   plan.Latent{Features: 2, Classes: []string{"a", "b"}, Report: plan.LatentVector, Records: 9},
		Encoder: e, Numbered: &latent.Numbered{Vectors: true, How: device.Report{Vector: device.Laplace{Dim: 2, Length: 8, Points: 16, Epsilon: 2}, Class: randomize.KRR{K: 2, Epsilon: 1}}},
	}
}

// What a sheet of numbered records was written of is what is read from it; and a record is known to be where Bayes' rule
// has it, computed apart.
func TestNumberedRecordsAreReadBackAndJoined(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sets, vectors := ofSets(t), ofVectors()
	for i := range 9 {
		sets.Numbered.Reports = append(sets.Numbered.Reports, latent.NumberedReport{Number: i, Body: sets.Numbered.Symbols.Randomize(r, i%6)})
		body := vectors.Numbered.How.Vector.Randomize(r, []float32{4, 0})
		vectors.Numbered.Reports = append(vectors.Numbered.Reports, latent.NumberedReport{Number: i, Body: body, Class: i % 2})
	}
	for _, m := range []*latent.Model{sets, vectors} {
		sheet, err := Beside(m, Public{})
		if err != nil {
			t.Fatal(err)
		}
		want := m.Numbered.Reports
		if err := readNumbered(m, bytes.NewReader(sheet.Text)); err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(m.Numbered.Reports, want, func(a, b latent.NumberedReport) bool {
			return a.Number == b.Number && a.Class == b.Class && bytes.Equal(a.Body, b.Body)
		}) {
			t.Errorf("%+v, want %+v", m.Numbered.Reports, want)
		}
		if _, _, err := Describe(m, Public{}); err != nil {
			t.Error(err)
		}
	}
	x, names, err := Joined(sets, nil)
	if err != nil || !slices.Equal(names, []string{"centre1", "centre2"}) {
		t.Fatalf("%v, %v", names, err)
	}
	for i, report := range sets.Numbered.Reports {
		var weight, first float64
		for symbol := range 6 {
			likely := []float64{300, 200, 100}[symbol/2]
			if sets.Numbered.Symbols.Holds(report.Body, symbol) {
				likely *= math.E
			}
			weight += likely
			if symbol/2 == 1 {
				first += 6 * likely
			}
		}
		if got := float64(x.Data[i*x.Stride]); math.Abs(got-first/weight) > 1e-4 {
			t.Errorf("record %d is known to be at %v, want %v", i, got, first/weight)
		}
	}
	if x, names, err = Joined(vectors, nil); err != nil || !slices.Equal(names, []string{"code1", "code2"}) {
		t.Fatalf("%v, %v", names, err)
	}
	for i, report := range vectors.Numbered.Reports {
		far := func(a, b float64) float64 {
			told, err := vectors.Numbered.How.Vector.(device.Laplace).Read(report.Body)
			if err != nil {
				t.Fatal(err)
			}
			return math.Abs(float64(told[0])-a) + math.Abs(float64(told[1])-b)
		}
		a, b := 10*math.Exp(-2*far(4, 0)/16), 30*math.Exp(-2*far(0, 4)/16)
		if got := float64(x.Data[i*x.Stride]); math.Abs(got-4*a/(a+b)) > 1e-4 {
			t.Errorf("record %d is known to be at %v, want %v", i, got, 4*a/(a+b))
		}
	}
	// With a decoder a record is the mean of what prototypes stand for: of (4, 0) and of (0, 4) by this network.
	back := &learn.Decoder{Net: &nn.Model{Layers: []nn.Layer{nn.Dense{In: 2, Out: 1}}, Params: []float32{1, -1, 3}}, Columns: []string{"age"}, Likelihood: learn.Normal}
	codes := x
	if x, names, err = Joined(vectors, back); err != nil || !slices.Equal(names, []string{"noisy_age"}) || x.Rows != 9 || x.Cols != 1 {
		t.Fatalf("%v of %d by %d, %v", names, x.Rows, x.Cols, err)
	}
	for i := range x.Rows {
		if got, want := x.Data[i], codes.Data[2*i]-codes.Data[2*i+1]+3; math.Abs(float64(got-want)) > 1e-4 {
			t.Errorf("record %d is decoded as %v, want %v", i, got, want)
		}
	}
	if _, _, err := Joined(sets, back); err == nil || !strings.Contains(err.Error(), "counts symbols") {
		t.Errorf("symbols decoded: %v", err)
	}
	sets.Finder, vectors.Encoder = nil, nil
	for _, m := range []*latent.Model{sets, vectors} {
		if _, _, err := Joined(m, nil); err == nil {
			t.Error("joined without the public state")
		}
	}
}

func TestOtherSheetsOfNumberedRecordsAreRefused(t *testing.T) {
	const head = "record,told,class\n"
	for name, sheet := range map[string]string{
		"nothing": "", "no reports": head, "another record": head + "9,1:1;2:1,\n", "no record": head + "-1,1:1;2:1,\n", "another cluster": head + "1,4:1;1:1,\n",
		"too small a set": head + "1,1:1,\n", "too large a set": head + "1,1:1;2:1;3:1,\n", "fewer columns": "record,told\n1,1:1;2:1\n",
	} {
		if err := readNumbered(ofSets(t), strings.NewReader(sheet)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	for name, row := range map[string]string{"no hex": "1,xyz,a\n", "another length": "1,00,a\n", "another class": "1,0000000000000000,c\n"} {
		if err := readNumbered(ofVectors(), strings.NewReader(head+row)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// Whatever is read of a sheet fits its plan.
func FuzzReadNumbered(f *testing.F) {
	f.Add(true, []byte("record,told,class\n1,1:1;2:1,\n"))
	f.Add(false, []byte("record,told,class\n1,0000000000000000,a\n"))
	f.Fuzz(func(t *testing.T, set bool, sheet []byte) {
		m := ofVectors()
		if set {
			m = ofSets(t)
		}
		var err error
		costlimit.Heap(t, costlimit.Factor, len(sheet), func() { err = readNumbered(m, bytes.NewReader(sheet)) })
		if err != nil {
			return
		}
		for _, r := range m.Numbered.Reports {
			if r.Number < 0 || r.Number >= 9 || r.Class < 0 || r.Class > 1 || set && m.Numbered.Symbols.Check(r.Body) != nil || !set && len(r.Body) != 8 {
				t.Errorf("%+v", r)
			}
		}
	})
}
