package ltn

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dataset"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
	"github.com/confetti-dp/confetti/release"
)

// says is what a result's own numbers are: the cell alone would speak for it.
func says(res Result) string {
	return fmt.Sprintf("clean %.3f, private %.3f, vector %.3f, without privacy %.3f, alone %.3f, epsilons %v and %v, %d clusters, %d respondents", res.AccuracyClean, res.AccuracyPrivate, res.AccuracyLatent, res.AccuracyNoPrivacy, res.AccuracyAlone, res.EpsilonLocal, res.EpsilonCentral, res.Clusters, res.Respondents)
}

func quiet(string, int, int) {}

func asked(application, mechanism string, epsilon float64) Cell {
	return Cell{Records: experiments.Records{Application: application, Mechanism: mechanism, Epsilon: epsilon}, Seed: 3}
}

// quarters are pictures with a bar in one of four directions, and noise.
func quarters(r *rand.Rand, n int) dataset.Labelled {
	const side = 16
	out := dataset.Labelled{X: blas32.General{Rows: n, Cols: side * side, Stride: side * side}}
	for i := range n {
		y, shift := i%4, 2*r.Float64()-1
		sin, cos := math.Sincos(float64(y) * math.Pi / 4)
		for p := range side * side {
			u, v := float64(p%side)-7.5, float64(p/side)-7.5
			x := 0.05 * r.Float64()
			if math.Abs(u*sin-v*cos-shift) < 1.5 {
				x = 0.9
			}
			out.X.Data = append(out.X.Data, float32(x))
		}
		out.Y = append(out.Y, y)
	}
	return out
}

// From symbols alone a net tells the bars apart, and two groups show which of them is new; a
// cell's result says what it cost.
func TestLearningFromSymbols(t *testing.T) {
	r := stattest.Rand(t)
	set := &dataset.Set{Name: "bars", Classes: []string{"a", "b", "c", "d"}, Train: quarters(r, 1600), Test: quarters(r, 200)}
	for application, least := range map[string]float64{experiments.Collecting: 0.9, experiments.Novel: 0.7} {
		res, err := Run(asked(application, experiments.Symbols, 6), set, quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", application, says(res))
		if res.AccuracyClean < least || res.EpsilonLocal != 6 || !(res.EpsilonCentral > 0 && res.EpsilonCentral <= 6) || res.Clusters < 20 {
			t.Errorf("%s: %s", application, says(res))
		}
	}
	if _, err := Run(asked(experiments.Collecting, experiments.Symbols, 6), &dataset.Set{Train: dataset.Labelled{X: blas32.General{Cols: 10}}}, nil); err == nil {
		t.Error("what is no picture was taken")
	}
}

// Vectors teach too, and an encoder that is kept serves the cells of its own seed and no others.
func TestLearningFromVectors(t *testing.T) {
	r := stattest.Rand(t)
	set := &dataset.Set{Name: "bars", Classes: []string{"a", "b", "c", "d"}, Train: quarters(r, 1600), Test: quarters(r, 200)}
	file := filepath.Join(t.TempDir(), "encoder.json")
	for mechanism, kept := range map[string]string{experiments.VLM: file, experiments.PrivUnit: file, experiments.PCA: ""} {
		c := asked(experiments.Collecting, mechanism, 20)
		c.Encoder = kept
		res, err := Run(c, set, quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(says(res))
		if res.AccuracyClean < 0.5 || res.AccuracyLatent < 0.4 || res.AccuracyNoPrivacy == 0 || (res.AccuracyPaper == nil) != (mechanism == experiments.PrivUnit) || math.Abs(res.EpsilonLocal-20) > 1e-9 {
			t.Errorf("%s: %s", mechanism, says(res))
		}
	}
	other := asked(experiments.Collecting, experiments.VLM, 20)
	other.Seed, other.Encoder = 4, file
	if _, err := Run(other, set, quiet); err == nil {
		t.Error("the encoder of another seed is taken")
	}
	if res, err := Run(asked(experiments.Novel, experiments.PCA, 20), set, quiet); err != nil || res.AccuracyClean < 0.55 {
		t.Errorf("a novel class by vectors: %s, %v", says(res), err)
	}
	other = asked(experiments.Collecting, experiments.VLM, 20)
	other.Level = experiments.FeatureLevel
	if res, err := Run(other, set, quiet); err != nil || res.AccuracyClean < 0.5 || res.AccuracyLatent < 0.4 {
		t.Errorf("records of noisy codes: %s, %v", says(res), err)
	}
	other.Encoder = file
	if _, err := Run(other, set, quiet); err == nil {
		t.Error("a file has a way back to records")
	}
}

// Loans are standardized by public ones, half of them of each class in both parts.
func TestColumnsOfLoans(t *testing.T) {
	set := &dataset.Set{Name: LoansName, Classes: []string{"paid", "charged off"}}
	r := stattest.Rand(t)
	draw := func(n int) (l dataset.Labelled) {
		l.X = blas32.General{Rows: n, Cols: 2, Stride: 2}
		for i := range n {
			l.Y = append(l.Y, i%2)
			l.X.Data = append(l.X.Data, float32(1000*(i%2))+float32(r.NormFloat64()), float32(r.NormFloat64()))
		}
		return l
	}
	set.Train, set.Test = draw(2000), draw(400)
	res, err := Run(asked(experiments.Collecting, experiments.Symbols, 4), set, quiet)
	if err != nil || res.AccuracyClean < 0.9 || res.Respondents != 450 {
		t.Errorf("%s, %v", says(res), err)
	}
	if _, err := Run(asked(experiments.Novel, experiments.Symbols, 4), set, nil); err == nil {
		t.Error("a novel class of loans is measured")
	}
	c := asked(experiments.Collecting, experiments.Symbols, 6)
	c.Central = 5
	if _, err := Run(c, set, quiet); err == nil || !strings.Contains(err.Error(), "scaled") {
		t.Errorf("columns that private records scale were promised a central epsilon: %v", err)
	}
}

// What another party tells of its columns makes the outcome known better than ours alone, the better the
// more it tells, whatever the mechanism.
func TestJoinedColumns(t *testing.T) {
	set := &dataset.Set{Name: LoansName, Classes: []string{"paid", "charged off"}, Columns: []string{"emp_length", "a", "b", "c"}}
	r := stattest.Rand(t)
	draw := func(n int) (l dataset.Labelled) {
		l.X = blas32.General{Rows: n, Cols: 4, Stride: 4}
		for i := range n {
			far := 4 * float64(i%2)
			l.Y = append(l.Y, i%2)
			l.X.Data = append(l.X.Data, float32(r.NormFloat64()+far/8), float32(r.NormFloat64()+far), float32(r.NormFloat64()-far), float32(r.NormFloat64()))
		}
		return l
	}
	set.Train, set.Test = draw(800), draw(400)
	made := newShared()                                                                                                             // encoders, where mechanisms have the same
	least := map[string]float64{experiments.Symbols: 0.2, experiments.PCA: 0.2, experiments.Direct: 0.1, experiments.PrivUnit: 0.1} // the code of vlm is small beside its ball
	for mechanism := range least {
		res, err := run(asked(experiments.Joining, mechanism, 20), set, made, quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", mechanism, says(res))
		if res.AccuracyPrivate < res.AccuracyAlone+least[mechanism] || res.AccuracyNoPrivacy < 0.95 || res.AccuracyAlone > 0.75 || res.EpsilonLocal != 20 || res.Plan == nil || res.Plan.Question.Latent.Records != res.Respondents+400 {
			t.Errorf("%s: %s", mechanism, says(res))
		}
	}
	c := asked(experiments.Joining, experiments.VLM, 20)
	c.Level = experiments.FeatureLevel
	for c.Central = range map[float64]bool{0: true, 5: true} {
		res, err := run(c, set, made, quiet)
		claim := device.ClaimPublic
		if c.Central > 0 {
			claim = device.ClaimPrivate // of the decoder, which a second stage trained
		}
		if err != nil || res.Claim != claim || !(res.EpsilonMade <= c.Central) || (res.EpsilonMade > 0) != (c.Central > 0) || res.AccuracyPaper == nil || res.AccuracyPrivate < res.AccuracyAlone-0.1 {
			t.Errorf("columns of a decoder, central %v: %s, %v", c.Central, says(res), err)
		}
	}
	if res, err := run(asked(experiments.Joining, experiments.PCA, 0.01), set, made, quiet); err != nil || res.AccuracyPrivate > res.AccuracyAlone+0.05 {
		t.Errorf("of what tells nothing: %s, %v", says(res), err)
	}
}

// Clusters, network and encoder of private records keep what they are asked to and say so, and of the printed
// two stages nothing is claimed.
func TestWhatIsMadeOfPrivateRecords(t *testing.T) {
	r := stattest.Rand(t)
	set := &dataset.Set{Name: "bars", Classes: []string{"a", "b", "c", "d"}, Train: quarters(r, 1600), Test: quarters(r, 200)}
	for _, c := range []experiments.Records{{Mechanism: experiments.Symbols, Central: 50}, {Mechanism: experiments.VLM, Central: 5}, {Mechanism: experiments.VLM, Central: 5, PaperStages: true}, {Application: experiments.Novel, Mechanism: experiments.VLM, Level: experiments.FeatureLevel, Central: 5}} {
		c.Application, c.Epsilon = cmp.Or(c.Application, experiments.Collecting), 20
		res, err := Run(Cell{Records: c, Seed: 3}, set, quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s, made of %s at %v", c, says(res), res.Claim, res.EpsilonMade)
		claim, most := device.ClaimPrivate, c.Central
		if c.PaperStages {
			claim, most = device.ClaimNone, 0
		}
		learned := res.AccuracyClean
		if c.Application == experiments.Novel { // a record of a new class decodes as others do, in training alone
			learned = res.AccuracyLatent
		}
		if res.Claim != claim || res.EpsilonMade > most || res.EpsilonMade < 0.9*most || learned < 0.6 {
			t.Errorf("%s: %s, made of %s at %v", c, says(res), res.Claim, res.EpsilonMade)
		}
	}
}

// What is allowed costs no more than it may, and one epoch more does.
func TestAllowedEpochs(t *testing.T) {
	epochs, spent := allowed(3, 4, 64, 320)
	if spent > 3 || epochs < 1 {
		t.Errorf("%d epochs for %v", epochs, spent)
	}
	one := dpsgd.Training{Sampling: 0.2, NoiseMultiplier: 4, Steps: (epochs + 1) * 5, Clip: 1, Expected: 1, Rate: 1}
	if g, err := account.Epsilon(one.Event(), deltaMade); err != nil || g.Epsilon <= 3 {
		t.Errorf("%d epochs are allowed, and one more costs %v, %v", epochs, g.Epsilon, err)
	}
}

// Cells of each measurement can be asked for, and what is measured is a page with all that it says.
func TestMeasurementsHavePages(t *testing.T) {
	r := stattest.Rand(t)
	set := &dataset.Set{Name: "mnist", Classes: []string{"a", "b", "c", "d"}, Train: quarters(r, 1200), Test: quarters(r, 200)}
	b := &bench{data: experiments.Data{Out: t.TempDir(), Set: func(string) (*dataset.Set, error) { return set, nil }}}
	for _, s := range Specs() {
		cells := s.Cells(experiments.Options{Seed: 1})
		if len(cells) == 0 {
			t.Errorf("%s measures nothing", s.Name)
		}
		for _, c := range cells {
			if err := c.Validate(); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
	defer func(all []multiplied) { printed = all }(printed)
	printed = nil // each of its rows takes the accountant many seconds
	var measured []experiments.Measured
	for _, mechanism := range []string{experiments.Symbols, experiments.VLM} {
		c := asked(experiments.Collecting, mechanism, 20)
		m, err := b.Measure(experiments.Cell{Dataset: "mnist", Seed: 1, Runs: 2, Records: c.Records})
		if err != nil {
			t.Fatal(err)
		}
		measured = append(measured, m)
	}
	if _, err := os.Stat(filepath.Join(b.data.Out, pictureOf("mnist"))); err != nil {
		t.Error(err)
	}
	for _, s := range Specs() {
		d := release.Document{Title: s.Title, Sections: s.Sections(s, measured)}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		for _, sec := range d.Sections {
			if len(sec.Tables) == 0 || len(sec.Tables[0].Rows) != 2 || len(sec.Figures) != 1 || len(sec.Figures[0].Series) == 0 {
				t.Errorf("%s: %+v", s.Name, sec)
			}
		}
	}
}

// A picture that is turned by a right angle is the same picture on its side, half a turn takes each pixel to the opposite place, and
// of a smaller angle nothing comes out of nothing.
func TestTurned(t *testing.T) {
	const side = 4
	x := blas32.General{Rows: 1, Cols: side * side, Stride: side * side, Data: make([]float32, side*side)}
	for i := range x.Data {
		x.Data[i] = float32(i)
	}
	right := turned(x, side, 90)
	for y := range side {
		for column := range side {
			if got, want := right.Data[y*side+column], x.Data[column*side+side-1-y]; math.Abs(float64(got-want)) > 1e-4 {
				t.Fatalf("%d, %d: %v, want %v", y, column, got, want)
			}
		}
	}
	half := turned(x, side, 180)
	for i, v := range half.Data {
		if math.Abs(float64(v-x.Data[len(x.Data)-1-i])) > 1e-4 {
			t.Fatalf("half a turn: %v", half.Data)
		}
	}
	for _, v := range turned(x, side, 20).Data {
		if v < 0 || v > side*side-1 {
			t.Fatalf("%v is no mixture of pixels", v)
		}
	}
}

// A cluster counts for as many as lie in it, and one whose likeliest class is wrong for none.
func TestClustered(t *testing.T) {
	accuracy, stated := clustered([]float64{0.75, 0.25, 0}, [][]float64{{0.25, 0.75}, {1, 0}, nil}, []int{0, 0, 1, 2}, []int{1, 0, 0, 0})
	if accuracy != 0.5 || stated != 0.75*0.75+0.25 {
		t.Errorf("%v %v", accuracy, stated)
	}
}
