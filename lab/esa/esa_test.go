package esa

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/theorems"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/literature"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// esaSizes are respondents and cells of ESA, Table II.
var esaSizes = map[string][2]int{
	horseLike: {1_914_589, 87_680}, mapLike: {236_559_063, 2_795_520}, childLike: {50_409_435, 358_337}, heavyHitters: {203_950_512, 1_778_120},
}

// stated is what a cell says of its guarantee, without drawing anything.
func stated(t *testing.T, set string, h experiments.Histogram) measure.Promised {
	t.Helper()
	h.Delta, h.Adjacency = deltaOf(set), account.Removal
	d, err := asked{h, 0}.design(esaSizes[set][0], esaSizes[set][1])
	if err != nil {
		t.Fatal(err)
	}
	return d.promised
}

// The populations have the sizes of Table II, and the horse its share of black.
func TestPopulationsHaveTheSizesOfTheTables(t *testing.T) {
	for set, size := range esaSizes {
		if set == mapLike && testing.Short() {
			continue
		}
		p, err := Population(set, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		black := 0
		for _, h := range p.Holders {
			if h == 0 {
				black++
			}
			if h < 0 || p.Most > 0 && h > p.Most {
				t.Fatalf("%s: %d respondents in a cell", set, h)
			}
		}
		if p.Respondents() != size[0] || len(p.Holders) != size[1] || !p.Synthetic {
			t.Errorf("%s: %d respondents in %d cells", set, p.Respondents(), len(p.Holders))
		}
		if share := float64(black) / float64(size[1]); set == horseLike && math.Abs(share-0.85) > 0.001 || set == childLike && black > 0 {
			t.Errorf("%s: %v of it is black", set, share)
		}
	}
}

// ESA, Tables I, III, IV, VIII and IX: the local epsilons of attribute fragments, to
// two decimals, from Lemma II.6; and the messages of Table III. Theorem III.1, which
// the paper says it computes them by, gives others.
func TestESALocalEpsilons(t *testing.T) {
	for _, c := range []struct {
		set             string
		epsilon, local  float64
		messages, total float64 // as printed; 0: not printed
	}{
		{horseLike, 0.05, 2.94, 4403.42, 0}, {horseLike, 0.25, 5.96, 0, 0}, {horseLike, 0.5, 7.28, 0, 0}, {horseLike, 0.75, 8.03, 0, 0}, {horseLike, 1, 8.55, 17.97, 0},
		{mapLike, 1, 13.14, 6.49, 0}, {childLike, 1, 11.70, 3.97, 0}, {heavyHitters, 1, 12.99, 5.06, 0},
	} {
		res := stated(t, c.set, experiments.Histogram{Encoding: experiments.OneHot, Accounting: calibrate.Paper, Epsilon: c.epsilon})
		if math.Abs(*res.EpsilonLocal-c.local) > 0.005 || *res.Epsilon > c.epsilon {
			t.Errorf("%s, central %v: local epsilon %.4f, printed %v", c.set, c.epsilon, *res.EpsilonLocal, c.local)
		}
		if c.messages > 0 && math.Abs(res.MessagesPerDevice/c.messages-1) > 0.01 {
			t.Errorf("%s, central %v: %v messages, printed %v", c.set, c.epsilon, res.MessagesPerDevice, c.messages)
		}
		if g, err := literature.ESATheoremIII1(esaSizes[c.set][0], c.local, deltaOf(c.set)); err == nil && g.Epsilon < 1.02*c.epsilon {
			t.Errorf("%s: Theorem III.1 gives %v, as the tables do", c.set, g.Epsilon)
		}
	}
}

// printedFragments is ESA, Table IV: the epsilon of one fragment and of all, by
// central epsilon, for 4, 16 and 256 fragments.
var printedFragments = map[float64][3][2]float64{
	0.05: {{1.37, 2.91}, {0.50, 2.94}, {0.03, 2.94}},
	0.25: {{4.35, 5.96}, {3.13, 5.96}, {0.70, 5.96}},
	0.5:  {{5.67, 7.28}, {4.45, 7.28}, {1.76, 7.28}},
	0.75: {{6.42, 8.03}, {5.19, 8.03}, {2.49, 8.03}},
	1:    {{6.94, 8.55}, {5.71, 8.55}, {3.00, 8.55}},
}

// Fragments whose variance is that of the backstop, in the sense of FragmentEpsilon,
// give every cell of Table IV. With the limit eps_b - ln tau the cells of large epsilons
// come out, and the five others do not.
func TestESAEpsilonsOfFragments(t *testing.T) {
	for epsilon, row := range printedFragments {
		for i, tau := range []int{4, 16, 256} {
			res := stated(t, horseLike, experiments.Histogram{Encoding: experiments.OneHot, Accounting: calibrate.Paper, Epsilon: epsilon, Fragments: tau})
			if math.Abs(*res.EpsilonAlone-row[i][0]) > 0.011 || math.Abs(*res.EpsilonLocal-row[i][1]) > 0.011 {
				t.Errorf("central %v, %d fragments: %.4f and %.4f, printed %v", epsilon, tau, *res.EpsilonAlone, *res.EpsilonLocal, row[i])
			}
			lambda, err := theorems.CheuCorollary47Lambda(esaSizes[horseLike][0], epsilon, deltaOf(horseLike))
			if err != nil {
				t.Fatal(err)
			}
			backstop := math.Log(2*float64(esaSizes[horseLike][0])/lambda - 1)
			limit := 0. // where it is not above zero there is nothing to compare
			if f := backstop - math.Log(float64(tau)); f > 0 {
				if limit, err = theorems.ESATheoremIV1(backstop, f, 1); err != nil {
					t.Fatal(err)
				}
			}
			large := tau <= 16 && epsilon >= 0.25 || epsilon >= 0.75
			if near := math.Abs(limit-row[i][0]) <= 0.01; near != large {
				t.Errorf("central %v, %d fragments: %.4f by eps_b - ln tau, printed %v", epsilon, tau, limit, row[i][0])
			}
		}
	}
}

// The criterion of the sparse picture: at central epsilon 1 the paper's accounting has
// an error of 12 to 16, exact accounting of at most 5.6, and a curator less than that.
func TestESASparsePicture(t *testing.T) {
	p, err := Population(horseLike, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	errorOf := func(h experiments.Histogram) float64 {
		h.Epsilon, h.Delta, h.Adjacency = 1, 5e-8, account.Removal
		res, err := trial{h, 1, 1}.run(p)
		if err != nil {
			t.Fatal(err)
		}
		return res.RMSE
	}
	paper, exact, curator := errorOf(way(experiments.OneHot, calibrate.Paper, 0)), errorOf(way(experiments.OneHot, calibrate.Exact, 0)), errorOf(curator)
	if paper < 12 || paper > 16 || exact > 5.6 || curator > exact {
		t.Errorf("paper %v, exact %v, curator %v", paper, exact, curator)
	}
	if split := errorOf(repeated(experiments.OneHot, calibrate.Paper)[1]); split < 4*paper {
		t.Errorf("two reports with half of the local epsilon each: %v", split)
	}
}

// Bits that are sent half of the time count an empty cell with less noise than
// symmetric ones at the same central epsilon, and a cell that many hold with more.
func TestAsymmetricCountsEmptyCellsBetter(t *testing.T) {
	for _, adjacency := range []account.Adjacency{account.Removal, account.Replacement} {
		var empty, held [2]float64
		for i, encoding := range []string{experiments.OneHot, experiments.Asymmetric} {
			h := exactly(encoding, 1)
			h.Adjacency = adjacency
			p, _, err := asked{h.Histogram, 1}.plan(1_000_000, 100)
			if err != nil {
				t.Fatal(err)
			}
			m := histogram.OneHot(p.Question.Histogram.Randomizer, 100).Fragment
			empty[i], held[i] = math.Sqrt(m.Variance(0, 1_000_000)), math.Sqrt(m.Variance(10_000, 1_000_000))
		}
		if !(empty[1] < 0.9*empty[0] && held[1] > held[0]) {
			t.Errorf("%s: errors of an empty cell %v, of one that 10,000 hold %v", adjacency, empty, held)
		}
	}
}

// The criterion of the words on a few seeds; internal/dp/estimate has it on 200.
func TestHeavyHittersOfWords(t *testing.T) {
	for seed := range uint64(4) {
		p, err := Population(zipfWords, seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		h := exactly(experiments.OneHot, 1)
		h.Seed, h.Runs = seed, 5
		res, err := h.run(p)
		if err != nil {
			t.Fatal(err)
		}
		if f := res.Discoveries; f.False > 0.05 || f.Top100 < 95 {
			t.Errorf("seed %d: %+v", seed, f)
		}
	}
}

// Every error that ESA prints is compared with a measurement, of a population that needs no
// folder.
func TestESASpecsAreWhole(t *testing.T) {
	compared := map[string]int{}
	for _, s := range Specs() {
		for _, c := range s.Cells(experiments.Options{Seed: 1}) {
			if takes, folder := s.Kind.Takes(c.Dataset); !takes || folder {
				t.Errorf("%s: %s is not made up", s.Name, c.Dataset)
			}
			if _, ok := Printed(s.Name, c.Dataset, c.Histogram); ok {
				compared[s.Name]++
			}
		}
	}
	for name, n := range map[string]int{"esa-table3": 16, "esa-table4": 25, "esa-table5": 21, "esa-table6": 15, "esa-table7": 15, "esa-table8": 25, "esa-table9": 25} {
		if compared[name] != n {
			t.Errorf("%s: %d of %d printed errors are compared", name, compared[name], n)
		}
	}
}

// A table of a picture of one's own: page, numbers and pictures; a second run measures
// nothing.
func TestESATableOfAPicture(t *testing.T) {
	dir := t.TempDir()
	m := image.NewGray(image.Rect(0, 0, 20, 10))
	for i := range m.Pix {
		m.Pix[i] = uint8(10 * (i % 20))
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "My own_picture.PNG")
	if err := os.WriteFile(own, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Specs()[slices.IndexFunc(Specs(), func(s experiments.Spec) bool { return s.Name == "esa-table6" })]
	data := experiments.Data{Out: filepath.Join(dir, "out"), Population: func(name string) (*dataset.Population, error) { return datasets.LoadPopulation("", name) }}
	r := experiments.Runner{Out: data.Out, Tell: silent, Bench: Kind.Bench(data)}
	cells := s.Cells(experiments.Options{Datasets: []string{own}, Quick: true, Seed: 1})
	out, err := r.Run(cells)
	if err != nil {
		t.Fatal(err)
	}
	if out.Measured != len(cells)-out.Refused || out.Measured == 0 {
		t.Errorf("%d of %d measured, %d refused", out.Measured, len(cells), out.Refused)
	}
	again, err := r.Run(cells)
	if err != nil || again.Measured != 0 {
		t.Errorf("measured %d again: %v", again.Measured, err)
	}
	if err := s.Page(r.Out, again.Cells, release.Provenance{Software: "test"}); err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cells []experiments.Measured }
	text, err := os.ReadFile(filepath.Join(r.Out, "esa-table6.json"))
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil || len(doc.Cells) != len(cells) || !strings.Contains(string(text), `"epsilon_fragment_alone"`) {
		t.Errorf("%d cells in JSON: %v", len(doc.Cells), err)
	}
	if sheet, err := readPicture(filepath.Join(r.Out, sheetName(s, own))); err != nil || sheet.columns != 7*24-4 || sheet.rows() != 2*14-4 {
		t.Errorf("a sheet of %d by %d: %v", sheet.columns, sheet.rows(), err)
	}
	p, err := readPicture(filepath.Join(r.Out, PictureFolder, truthOf(own)+".png"))
	if err != nil || p.columns != 20 || !bytes.Equal(p.pixels, m.Pix) {
		t.Errorf("the picture itself came out otherwise: %v", err)
	}
}

// Splitting a local epsilon between a report and its crowd costs more than the smaller
// crowd saves, as ESA says; and the law is unbiased.
func TestDerivedCrowdsDoNotPay(t *testing.T) {
	p := small()
	run := func(h experiments.Histogram) experiments.Result {
		h.Accounting, h.Adjacency, h.LocalEpsilon, h.Delta = calibrate.Exact, account.Removal, 6, 1e-6
		res, err := trial{h, 200, 1}.run(p)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	whole := run(experiments.Histogram{Encoding: experiments.OneHot}).Unbiased
	for _, crowds := range []int{2, 20} {
		for _, epsilon := range []float64{0.5, 2, math.Log(float64(crowds)) + 1, 5} {
			if split := run(experiments.Histogram{Encoding: experiments.DerivedCrowds, Crowds: crowds, CrowdEpsilon: epsilon}).Unbiased; split < 1.2*whole {
				t.Errorf("%d crowds at epsilon %v: an error of %v, without crowds %v", crowds, epsilon, split, whole)
			}
		}
	}
}

// The estimate of a cell of 3,000 holders in derived crowds, from its law: unbiased, of the
// variance that each device's part adds up to. Among 2,000 draws a mean that is off by a
// hundredth is 14 standard errors off.
func TestDerivedCrowdsAreUnbiased(t *testing.T) {
	p := small()
	h := experiments.Histogram{Encoding: experiments.DerivedCrowds, Crowds: 20, CrowdEpsilon: 2, Accounting: calibrate.Exact, Adjacency: account.Removal, LocalEpsilon: 6, Delta: 1e-6}
	n, same := p.Respondents(), 0
	for i := 0; i < len(p.Holders); i += h.Crowds {
		same += p.Holders[i]
	}
	d, err := asked{h, 1}.design(n, len(p.Holders))
	if err != nil {
		t.Fatal(err)
	}
	r, draws := stattest.Rand(t), make([]float64, 2000)
	for i := range draws {
		c, err := d.draw(r, p.Holders)
		if err != nil {
			t.Fatal(err)
		}
		draws[i] = c.values[0].Mean
	}
	f, m, own := float64(p.Holders[0]), randomize.Symmetric(len(p.Holders), 4, account.Removal), math.Exp(2)/(math.Exp(2)+19)
	gap, lie := own*(m.Keep-m.Flip), m.Flip*(1-m.Flip)
	holder := own*(m.Keep*(1-m.Flip)*(1-m.Flip)+(1-m.Keep)*m.Flip*m.Flip) - gap*gap
	variance := (f*holder + (float64(same)-f)*own*lie + float64(n-same)*(1-own)/19*lie) / (gap * gap)
	stattest.Mean(t, f, variance, draws)
	stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 1.01*f, variance, draws) })
	stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 0.99*f, variance, draws) })
}

// ESA, Table X: its first column is half of the blanket, within 6 %.
func TestESAOtherBounds(t *testing.T) {
	for set, printed := range printedBounds {
		if got := wholeBound(esaSizes[set][0], 2, deltaOf(set), blanket) / 2; math.Abs(got/printed[0]-1) > 0.06 {
			t.Errorf("%s: half of the blanket is %v, printed %v", set, got, printed[0])
		}
	}
}
