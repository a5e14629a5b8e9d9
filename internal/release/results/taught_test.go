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
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/plan"
)

func still(string, int, int) {}

// planned is a plan of private records of two numbers, of vectors or of one of three clusters, with its public state.
func planned(t testing.TB, vectors bool, classes []string, groups ...string) (plan.Plan, []byte) {
	ask := plan.Latent{Features: 2, Classes: classes, Report: plan.LatentVector}
	var state []byte
	if vectors {
		e := ofVectors().Encoder
		e.Trained = device.Trained{Method: "pca", Of: "points", Records: 40, Claim: device.ClaimPublic}
		var err error
		if state, err = e.Marshal(); err != nil {
			t.Fatal(err)
		}
		ask.Vector = &plan.Latents{Mechanism: device.NameLaplace, Dim: 2, Length: 8, Points: 16, Epsilon: 4}
		if classes != nil {
			ask.Vector.ClassEpsilon = 1
		}
	} else {
		s := &cluster.State{Centres: blas32.General{Rows: 3, Cols: 2, Stride: 2, Data: []float32{0, 0, 6, 0, 0, 6}}, Sizes: []int{300, 200, 100}}
		state = s.Marshal()
		ask.Report, ask.Clusters, ask.Randomizer = plan.LatentSymbols, 3, &plan.Randomizer{Name: "subset", Accounting: "exact", Epsilon: 1, Subset: 1}
	}
	return plan.Plan{State: plan.StateName(state), Crowd: plan.Crowd{Names: groups}, Question: plan.Question{Kind: "latent", Unfit: "reference", Latent: &ask}}, state
}

func points(x ...float32) blas32.General {
	return blas32.General{Rows: len(x) / 2, Cols: 2, Stride: 2, Data: x}
}

// What was told with noise is read back from its sheet, and teaches by either loss which class lies where. The twin, whose
// classes are told the other way round, teaches the contrary.
func TestVectorsTeach(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p, state := planned(t, true, []string{"a", "b"})
	for _, swapped := range []bool{false, true} {
		m := &latent.Model{Asked: *p.Question.Latent, Vectors: &latent.Vectors{Encoder: ofVectors().Encoder, How: device.Report{Vector: device.Laplace{Dim: 2, Length: 8, Points: 16, Epsilon: 4}}}}
		m.Vectors.How.Class.K, m.Vectors.How.Class.Epsilon = 2, 1
		for i := range 3000 {
			at, class := [][]float32{{4, 0}, {0, 4}}[i%2], i%2
			if swapped {
				class = 1 - class
			}
			v, told, err := m.Vectors.How.Split(m.Vectors.How.Randomize(r, at, class))
			if err != nil {
				t.Fatal(err)
			}
			m.Vectors.Reports = append(m.Vectors.Reports, latent.Report{Vector: v, Class: told})
		}
		sheet, err := vectorSheet(m)
		if err != nil {
			t.Fatal(err)
		}
		read, err := readLatent(p, state, bytes.NewReader(sheet.Text))
		if err != nil || !slices.EqualFunc(read.Vectors.Reports, m.Vectors.Reports, func(a, b latent.Report) bool {
			return a.Class == b.Class && a.Crowd == b.Crowd && bytes.Equal(a.Vector, b.Vector)
		}) {
			t.Fatalf("another release is read back: %v", err)
		}
		for _, noisy := range []bool{false, true} {
			got, err := teach(read, points(4, 0, 0, 4), noisy, rand.New(rand.NewPCG(3, 4)), still)
			if err != nil {
				t.Fatal(err)
			}
			if right := got.Shares[0] > 0.6 && got.Shares[3] > 0.6; right == swapped || len(got.Told) != 3000 {
				t.Errorf("noisy %v, swapped %v: shares %v", noisy, swapped, got.Shares)
			}
			mean := 0.0 // each report comes of one of the two points
			for i := range got.Records.Rows {
				mean += float64(got.Records.Data[2*i]+got.Records.Data[2*i+1]) / float64(got.Records.Rows)
			}
			if math.Abs(mean-4) > 1e-3 {
				t.Errorf("records add up to %v, and public ones to 4", mean)
			}
		}
	}
}

const symbolsHead = "group,cluster,class,respondents,std_err,share\n"

// Groups, whose members are known, are told apart by what each holds of a cluster, however many it has.
func TestGroupsTeach(t *testing.T) {
	p, state := planned(t, false, nil, "old", "new")
	m, err := readLatent(p, state, strings.NewReader(symbolsHead+"old,1,,60,1,\nold,2,,40,1,\nold,3,,0,1,\nnew,1,,200,1,\nnew,2,,0,1,\nnew,3,,800,1,\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := teach(m, points(0, 0, 6, 0, 0, 6), false, nil, still)
	if err != nil || !slices.Equal(got.Classes, []string{"old", "new"}) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []float32{0.75, 0.25, 1, 0, 0, 1} {
		if math.Abs(float64(got.Shares[i]-want)) > 1e-6 {
			t.Errorf("shares %v", got.Shares)
		}
	}
	if _, err := teach(m, points(0, 0), true, nil, still); err == nil {
		t.Error("counts teach by the loss of noisy vectors")
	}
	if _, err := teach(m, blas32.General{Rows: 1, Cols: 3, Stride: 3, Data: make([]float32, 3)}, false, nil, still); err == nil {
		t.Error("public records of other columns are taken")
	}
	m.Counts.Tables = m.Counts.Tables[:1]
	if _, err := teach(m, points(0, 0), false, nil, still); err == nil {
		t.Error("a group that was withheld is told apart")
	}
}

func TestOtherSheetsOfRecordsAreRefused(t *testing.T) {
	one := "respondents,1,,60,1,\nrespondents,2,,40,1,\nrespondents,3,,0,1,\n"
	p, state := planned(t, false, nil)
	if _, err := readLatent(p, state, strings.NewReader(symbolsHead+one)); err != nil {
		t.Fatal(err)
	}
	for name, rows := range map[string]string{
		"nothing": "", "no number": strings.Replace(one, "60", "NaN", 1), "too large a number": strings.Replace(one, "60", "1e300", 1), "a cluster too few": one[:strings.LastIndex(one, "respondents")],
		"another order": strings.Replace(one, ",2,", ",3,", 1), "twice": one + one, "a class": strings.Replace(one, ",,", ",a,", 1), "nobody": strings.NewReplacer("60", "0", "40", "0").Replace(one), "fewer columns": "respondents,1,,60,1\n",
	} {
		if _, err := readLatent(p, state, strings.NewReader(symbolsHead+rows)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := readLatent(p, append(state, ' '), strings.NewReader(symbolsHead+one)); err == nil {
		t.Error("another state is taken")
	}
	p, state = planned(t, true, []string{"a", "b"})
	for name, row := range map[string]string{"no hex": ",xyz,a\n", "another length": ",00,a\n", "another class": ",0000000000000000,c\n", "a group": "x,0000000000000000,a\n"} {
		if _, err := readLatent(p, state, strings.NewReader("group,vector,class\n"+row)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// Whatever is read of a sheet fits its plan, and teaches or says why not.
func FuzzReadLatent(f *testing.F) {
	f.Add(uint8(0), []byte(symbolsHead+"respondents,1,,60,1,\nrespondents,2,,40,1,\nrespondents,3,,0,1,\n"))
	f.Add(uint8(1), []byte(symbolsHead+"old,1,,60,1,\nold,2,,40,1,\nold,3,,0,1,\nnew,1,,200,1,\nnew,2,,0,1,\nnew,3,,800,1,\n"))
	f.Add(uint8(2), []byte("group,vector,class\n,0000000000000000,a\n"))
	f.Fuzz(func(t *testing.T, kind uint8, sheet []byte) {
		classes, groups := []string(nil), []string(nil)
		switch kind % 3 {
		case 1:
			groups = []string{"old", "new"}
		case 2:
			classes = []string{"a", "b"}
		}
		p, state := planned(t, classes != nil, classes, groups...)
		var m *latent.Model
		var err error
		costlimit.Heap(t, costlimit.Factor, len(sheet)+len(state), func() { m, err = readLatent(p, state, bytes.NewReader(sheet)) })
		if err != nil || m.Vectors != nil {
			return
		}
		if got, err := teach(m, points(0, 0), false, nil, still); err == nil && (len(got.Shares) != 2 || !(got.Shares[0] >= 0 && got.Shares[0] <= 1)) {
			t.Errorf("shares %v", got.Shares)
		}
	})
}
