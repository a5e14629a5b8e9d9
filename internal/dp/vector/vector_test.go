package vector

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func must(t testing.TB, s Spec) *Mechanism {
	t.Helper()
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// unit is a random unit vector.
func unit(r *rand.Rand, d int) []float32 {
	v, squares := make([]float32, d), 0.0
	for i := range v {
		v[i] = float32(r.NormFloat64())
		squares += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(squares)) * (1 + 1e-7)
	}
	return v
}

// rows.json is from rows.py, which shares no code with the package.
func TestGoldenProbabilities(t *testing.T) {
	data, err := os.ReadFile("testdata/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Dimension, Rows int
		Clip, Flip      float64
		Seed            byte
		Vector          []float32
		Ones            []float64
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) != 3 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		m := must(t, Spec{Dimension: c.Dimension, Rows: c.Rows, Answered: 1, Envelopes: c.Rows, Clip: c.Clip, Flip: c.Flip,
			SquaredDistance: 4, Rare: 1e-9, Seed: [32]byte(bytes.Repeat([]byte{c.Seed}, 32))})
		if err := m.Check(c.Vector); err != nil {
			t.Error(err)
		}
		got := make([]float64, c.Rows)
		m.Ones(c.Vector, got)
		clipped := 0
		for i, p := range got {
			if math.Abs(p-c.Ones[i]) > 2e-6 {
				t.Fatalf("%d dimensions, row %d: %v, want %v", c.Dimension, i, p, c.Ones[i])
			}
			if p == c.Flip || p == 1-c.Flip {
				clipped++
			}
		}
		if clipped == 0 && c.Rows > 4 {
			t.Errorf("%d dimensions: nothing was clipped", c.Dimension)
		}
	}
}

// The rotation is orthogonal, and undone by its transpose.
func TestRotationIsOrthogonal(t *testing.T) {
	r := stattest.Rand(t)
	for _, rows := range []int{1, 2, 32, 64, 1024} {
		s := Spec{Dimension: rows, Rows: rows, Answered: 1, Envelopes: rows, Clip: 2, Flip: 0.1, SquaredDistance: 4, Rare: 1e-9}
		u := newRotation(s, 1)
		v, held, out, back := unit(r, rows), make([]float32, rows), make([]float32, rows), make([]float32, rows)
		u.apply(v, held, out)
		var squares float64
		for _, x := range out {
			squares += float64(x) * float64(x)
		}
		u.undo(out, back)
		for i, x := range back {
			if math.Abs(float64(x-v[i])) > 1e-6 || math.Abs(squares-1) > 1e-5 {
				t.Fatalf("%d rows: coordinate %d is %v, was %v; squares %v", rows, i, x, v[i], squares)
			}
		}
	}
}

func small() Spec {
	return Spec{Dimension: 2, Rows: 2, Answered: 1, Envelopes: 1, Clip: 1.2, Flip: 0.2, SquaredDistance: 4, Rare: 1e-9, Seed: [32]byte{7}}
}

// reportLaw is the exact law of the reports of two rows and one or two envelopes, by
// enumeration of the coins: rows answered with probability q, ones with probability p.
func reportLaw(s Spec, p []float64, q float64) map[[2]int]float64 {
	law := map[[2]int]float64{}
	none, bit := s.NoRow(), func(row, one int) float64 { return p[row]*float64(one) + (1-p[row])*float64(1-one) }
	add := func(a, b int, chance float64) { // in random order
		if s.Envelopes == 1 {
			law[[2]int{a, -1}] += chance / 2
			law[[2]int{b, -1}] += chance / 2
			return
		}
		law[[2]int{a, b}] += chance / 2
		law[[2]int{b, a}] += chance / 2
	}
	alone := func(a int, chance float64) { // of one envelope, or with an empty one
		if s.Envelopes == 1 {
			law[[2]int{a, -1}] += chance
			return
		}
		add(a, none, chance)
	}
	alone(none, (1-q)*(1-q))
	for x := range 2 {
		alone(s.Channel(0, x == 1), q*(1-q)*bit(0, x))
		alone(s.Channel(1, x == 1), (1-q)*q*bit(1, x))
		for y := range 2 {
			add(s.Channel(0, x == 1), s.Channel(1, y == 1), q*q*bit(0, x)*bit(1, y))
		}
	}
	return law
}

// Reports against their law, with envelopes enough and too few. Twins: flips forgotten,
// exactly one row answered, answers in the order of rows.
func TestReportLaw(t *testing.T) {
	r := stattest.Rand(t)
	for _, envelopes := range []int{1, 2} {
		s := small()
		s.Envelopes = envelopes
		m := must(t, s)
		v := []float32{0.6, -0.7}
		p := make([]float64, 2)
		m.Ones(v, p)
		law := reportLaw(s, p, 0.5)
		order := make([][2]int, 0, len(law))
		for report := range law {
			order = append(order, report)
		}
		slices.SortFunc(order, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
		counts := make([]int, len(order))
		for range 100_000 {
			report := append(m.Randomize(r, v), -1)
			if len(report) != envelopes+1 {
				t.Fatalf("%d messages in %d envelopes", len(report)-1, envelopes)
			}
			counts[slices.Index(order, [2]int(report[:2]))]++
		}
		check := func(law map[[2]int]float64) func(tb testing.TB) {
			flat := make([]float64, len(order))
			for i, report := range order {
				flat[i] = law[report]
			}
			return func(tb testing.TB) { stattest.GTest(tb, flat, counts) }
		}
		check(law)(t)
		sharper := []float64{p[0] + 0.02, p[1] - 0.02}
		stattest.Caught(t, check(reportLaw(s, sharper, 0.5)))
		stattest.Caught(t, check(reportLaw(s, p, 0.49)))
		fixed := map[[2]int]float64{}
		for report, chance := range law {
			if empty := slices.Index(report[:], s.NoRow()); empty >= 0 == (envelopes == 2) {
				fixed[report] = chance
			}
		}
		sum := 0.0
		for _, chance := range fixed {
			sum += chance
		}
		for report := range fixed {
			fixed[report] /= sum
		}
		stattest.Caught(t, check(fixed)) // one row exactly
	}
}

// The device's messages, counted, and the simulation's counts have one law: jointly over
// rows, of two devices. The twin draws another vector.
func TestDeviceAndSimulationHaveOneLaw(t *testing.T) {
	r := stattest.Rand(t)
	for _, envelopes := range []int{1, 2} {
		s := small()
		s.Envelopes = envelopes
		m := must(t, s)
		v, w := []float32{0.6, -0.7}, []float32{0.9, 0.1}
		index := func(c Counts) (at int) {
			for i := range c.Ones {
				at = 9*at + 3*int(c.Answered[i]) + int(c.Ones[i])
			}
			return at
		}
		joint := func(send func(v []float32, c Counts)) []int {
			counts := make([]int, 81)
			for range 60_000 {
				c := m.NewCounts()
				send(v, c)
				send(w, c)
				counts[index(c)]++
			}
			return counts
		}
		p, q := make([]float64, 2), make([]float64, 2)
		m.Ones(v, p)
		m.Ones(w, q)
		law := countsLaw(t, m, reportLaw(s, p, 0.5), reportLaw(s, q, 0.5), index)
		device := joint(func(v []float32, c Counts) {
			for _, channel := range m.Randomize(r, v) {
				if err := c.Count(channel); err != nil {
					t.Fatal(err)
				}
			}
		})
		drawn := joint(func(v []float32, c Counts) { m.Draw(r, v, c) })
		stattest.GTest(t, law, device)
		stattest.GTest(t, law, drawn)
		twin := countsLaw(t, m, reportLaw(s, p, 0.5), reportLaw(s, p, 0.5), index)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, twin, drawn) })
	}
}

func countsLaw(t *testing.T, m *Mechanism, a, b map[[2]int]float64, index func(Counts) int) []float64 {
	law := make([]float64, 81)
	for x, px := range a {
		for y, py := range b {
			c := m.NewCounts()
			for _, channel := range append(x[:], y[:]...) {
				if channel >= 0 {
					if err := c.Count(channel); err != nil {
						t.Fatal(err)
					}
				}
			}
			law[index(c)] += px * py
		}
	}
	return law
}

// A vector that does not fit is answered like the zero vector, by as many messages.
func TestWhatDoesNotFitIsAnsweredFairly(t *testing.T) {
	r, s := stattest.Rand(t), small()
	m := must(t, s)
	for name, v := range map[string][]float32{
		"zero": {0, 0}, "too long": {1, 1}, "not a number": {float32(math.NaN()), 0}, "infinite": {float32(math.Inf(1)), 0}, "none": nil, "another length": {0, 0, 0},
	} {
		if err := m.Check(v); (err == nil) != (name == "zero") {
			t.Errorf("%s: %v", name, err)
		}
		p := make([]float64, 2)
		if m.Ones(v, p); p[0] != 0.5 || p[1] != 0.5 || len(m.Randomize(r, v)) != s.Envelopes {
			t.Errorf("%s: ones with probability %v", name, p)
		}
	}
}

// drawn are the standardized errors of a sum of n vectors, each near one of ten centres,
// in as many rounds, each with a rotation of its own.
func drawn(t *testing.T, s Spec, n, rounds int, center float64) (errs []float64, sums []Sum) {
	r := stattest.Rand(t)
	vectors, exact := make([][]float32, n), make([]float64, s.Dimension)
	var means [10][]float32
	for i := range means {
		means[i] = unit(r, s.Dimension)
	}
	for i := range vectors {
		v, mean := unit(r, s.Dimension), means[i%10]
		squares := 0.0
		for k := range v {
			v[k] = float32(math.Sqrt(1-center*center))*v[k] + float32(center)*mean[k]
			squares += float64(v[k]) * float64(v[k])
		}
		for k := range v {
			v[k] /= float32(math.Sqrt(squares)) * (1 + 1e-7)
			exact[k] += float64(v[k])
		}
		vectors[i] = v
	}
	overlap := Overlaps(vectors[:600])
	for round := range rounds {
		s.Seed = [32]byte{byte(round), 1}
		m := must(t, s)
		c := m.NewCounts()
		for _, v := range vectors {
			m.Draw(r, v, c)
		}
		sum, err := m.Estimate(c, n)
		if err != nil {
			t.Fatal(err)
		}
		deviation := math.Hypot(s.Noise(n), s.Clipping(n, overlap))
		for k, x := range sum.Vector {
			errs = append(errs, (x-exact[k])/deviation)
		}
		sums = append(sums, sum)
	}
	return errs, sums
}

// The noise is that of the formula and the clip term within 5 %, and without bias. So many
// vectors that are alike, clipped at 1.2, make the clip term a seventh of the error: the
// formula without it is caught.
func TestNoiseIsAsPredicted(t *testing.T) {
	s := Spec{Dimension: 400, Rows: 512, Answered: 256, Envelopes: 330, Clip: 1.2, Flip: 0.1, SquaredDistance: 4, Rare: 1e-9}
	const n, alike = 10_000, 0.65
	errs, sums := drawn(t, s, n, 10, alike)
	squares := make([]float64, len(errs))
	for i, e := range errs {
		squares[i] = e * e
	}
	stattest.Mean(t, 0, 1, errs)
	mean := 0.0
	for _, x := range squares {
		mean += x / float64(len(squares))
	}
	if mean < 0.9 || mean > 1.1 { // of the variance; deviations within 5 %
		t.Errorf("the mean square error is %v of the predicted", mean)
	}
	noise := s.Noise(n)
	for _, sum := range sums {
		if math.Abs(sum.Error/noise-1) > 0.04 {
			t.Errorf("the sum says an error of %v, the formula %v", sum.Error, noise)
		}
	}
	whole := math.Sqrt(mean) * math.Hypot(noise, s.Clipping(n, Alike(0.1, alike*alike)))
	if whole < 1.08*noise {
		t.Errorf("the error %v would pass without the clip term: %v", whole, noise)
	}
}

// Where every row is answered, how vectors differ causes no error in their sum: a quarter of the
// variance of the bits is missing, and the rest is predicted within 5 %. Four twins are caught: the noise of a sample, the clip term left
// out, and a device that flips twice or half as often as is said.
func TestDeviationFromTheVectorsThemselves(t *testing.T) {
	s := Spec{Dimension: 400, Rows: 512, Answered: 512, Envelopes: 512, Clip: 1.2, Flip: 0.1, SquaredDistance: 4}
	const n, alike = 4000, 0.55
	overlap := Alike(0.1, alike*alike)
	errs, _ := drawn(t, s, n, 16, alike)
	squares := 0.0
	for _, e := range errs {
		squares += e * e / float64(len(errs))
	}
	measured := math.Sqrt(squares) * math.Hypot(s.Noise(n), s.Clipping(n, overlap))
	is := func(tb testing.TB, predicted float64) {
		if ratio := measured / predicted; ratio < 0.95 || ratio > 1.05 {
			tb.Errorf("the error is %v of the predicted", ratio)
		}
	}
	t.Logf("right: %v", measured/s.Deviation(n, overlap))
	is(t, s.Deviation(n, overlap))
	twice, half := s, s
	twice.Flip, half.Flip = 2*s.Flip, s.Flip/2
	for name, predicted := range map[string]float64{
		"of a sample": math.Hypot(s.Noise(n), s.Clipping(n, overlap)), "no clip term": s.Deviation(n, Overlap{}),
		"twice the flips": twice.Deviation(n, overlap), "half the flips": half.Deviation(n, overlap),
	} {
		t.Logf("%s: %v", name, measured/predicted)
		stattest.Caught(t, func(tb testing.TB) { is(tb, predicted) })
	}
}

// The mean of many estimates is the clipped and rotated sum, for one rotation: exactly
// what Ones says. A twin that forgets to debias is caught.
func TestEstimateIsUnbiased(t *testing.T) {
	r := stattest.Rand(t)
	s := Spec{Dimension: 8, Rows: 8, Answered: 4, Envelopes: 8, Clip: 1.5, Flip: 0.2, SquaredDistance: 4, Rare: 1e-9, Seed: [32]byte{3}}
	m := must(t, s)
	const n, rounds = 40, 20_000
	vectors := make([][]float32, n)
	want, p := Counts{make([]uint32, 8), make([]uint32, 8)}, make([]float64, 8)
	means := make([]float64, 8)
	for i := range vectors {
		vectors[i] = unit(r, 8)
		m.Ones(vectors[i], p)
		for k := range p {
			means[k] += p[k] / n
		}
	}
	const many = 1 << 31 // so many answers that the counts are the means
	for k := range means {
		want.Answered[k], want.Ones[k] = many, uint32(math.Round(many*means[k]))
	}
	exact, err := m.Estimate(want, n)
	if err != nil {
		t.Fatal(err)
	}
	draws := make([][]float64, 8)
	for range rounds {
		c := m.NewCounts()
		for _, v := range vectors {
			m.Draw(r, v, c)
		}
		sum, err := m.Estimate(c, n)
		if err != nil {
			t.Fatal(err)
		}
		for k, x := range sum.Vector {
			draws[k] = append(draws[k], x)
		}
	}
	variance := s.Noise(n) * s.Noise(n) * 1.06 // 1/m of some twenty answers
	for k := range draws {
		stattest.Mean(t, exact.Vector[k], variance, draws[k])
	}
	stattest.Caught(t, func(tb testing.TB) {
		for k := range draws {
			stattest.Mean(tb, exact.Vector[k]*(1-2*s.Flip), variance, draws[k])
		}
	})
}

// The estimate of shorter vectors is too long by Excess: with so many answers that only clipping is left. That it were
// as long as others is refuted.
func TestShorterVectorsComeOutTooLong(t *testing.T) {
	s := Spec{Dimension: 1 << 14, Rows: 1 << 14, Answered: 64, Envelopes: 128, Clip: 1.9, Flip: 0.2, SquaredDistance: 2, Rare: 1e-9}
	m, r := must(t, s), stattest.Rand(t)
	const answers, vectors = 1 << 24, 8
	for _, length := range []float64{1, 0.9, 0.7} {
		sum, ones := 0.0, make([]float64, s.Rows)
		for range vectors {
			v := unit(r, s.Dimension)
			for i := range v {
				v[i] *= float32(length)
			}
			m.Ones(v, ones)
			c := Counts{Answered: make([]uint32, s.Rows), Ones: make([]uint32, s.Rows)}
			for row, p := range ones {
				c.Answered[row], c.Ones[row] = answers, uint32(math.Round(p*answers))
			}
			got, err := m.Estimate(c, 1)
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range got.Vector {
				sum += x * float64(v[i]) / (length * length * vectors)
			}
		}
		if math.Abs(sum-s.Excess(length)) > 0.004 {
			t.Errorf("of length %v an estimate is longer by %v, and Excess says %v", length, sum, s.Excess(length))
		}
		if length < 1 && math.Abs(sum-1) < 0.01 {
			t.Errorf("of length %v an estimate is longer by %v alone", length, sum)
		}
	}
}

// The law of an estimate, by that of how many of 300 devices say one in each row, over rotations. Where models are what
// devices hold, no coordinate has a bias, and those that no vector has show no smaller an error than the others have. Of an
// estimate without models the coordinates of vectors have a bias, which those would hide: the twin is caught.
func TestSpareCoordinatesShowTheError(t *testing.T) {
	const held, devices, rotations = 3, 300, 100
	s := Spec{Dimension: 16, Rows: 16, Answered: 16, Envelopes: 16, Clip: 1.2, Flip: 0.2, SquaredDistance: 4, Rare: 1e-9}
	vectors := [devices][]float32{}
	for i := range vectors {
		vectors[i] = make([]float32, 16)
		copy(vectors[i], [][]float32{{0.6, -0.64, 0.48}, {0.6, -0.64, 0.48}, {0.6, -0.48, 0.64}}[i%3])
	}
	square := map[string]*[2]float64{"like": {}, "once": {}} // of the error: of coordinates of vectors, and of others
	for rotation := range rotations {
		s.Seed = [32]byte{byte(rotation), byte(rotation >> 8), 3}
		m := must(t, s)
		ones := [devices][]float64{}
		for i, v := range vectors {
			ones[i] = make([]float64, s.Rows)
			m.Ones(v, ones[i])
		}
		for name, estimate := range map[string]func(Counts) (Sum, error){
			"once": func(c Counts) (Sum, error) { return m.Estimate(c, devices) },
			"like": func(c Counts) (Sum, error) {
				return m.EstimateLike(c, devices, devices, func(i int, v []float32) { copy(v, vectors[i]) })
			},
		} {
			of := func(row int) []float64 { // nobody says one, but for one in a row
				c := m.NewCounts()
				for i := range c.Answered {
					c.Answered[i] = devices
				}
				if row >= 0 {
					c.Ones[row] = 1
				}
				sum, err := estimate(c)
				if err != nil {
					t.Fatal(err)
				}
				return sum.Vector
			}
			none := of(-1)
			mean, variance := slices.Clone(none), make([]float64, s.Rows)
			for row := range s.Rows {
				law := []float64{1} // of how many say one
				for i := range devices {
					p, more := ones[i][row], make([]float64, len(law)+1)
					for said, chance := range law {
						more[said] += (1 - p) * chance
						more[said+1] += p * chance
					}
					law = more
				}
				var first, second float64 // moments
				for said, chance := range law {
					first, second = first+chance*float64(said), second+chance*float64(said*said)
				}
				for k, x := range of(row) {
					one := x - none[k]
					mean[k] += first * one
					variance[k] += (second - first*first) * one * one
				}
			}
			for k := range mean {
				for _, v := range vectors {
					mean[k] -= float64(v[k])
				}
				if name == "like" && math.Abs(mean[k]) > 1 {
					t.Fatalf("rotation %d: coordinate %d has a bias of %v", rotation, k, mean[k])
				}
				if k < held {
					square[name][0] += (variance[k] + mean[k]*mean[k]) / held
				} else {
					square[name][1] += (variance[k] + mean[k]*mean[k]) / (16 - held)
				}
			}
		}
	}
	like, once := square["like"][0]/square["like"][1], square["once"][0]/square["once"][1]
	t.Logf("squared errors of coordinates of vectors are %.3f of those shown, %.3f without models", like, once)
	if like > 1 || like < 0.9 || once < 1.1 {
		t.Error("spare coordinates show another error")
	}
}

// Without a coordinate to spare nothing is shown.
func TestNothingToSpare(t *testing.T) {
	s := small()
	m := must(t, s)
	sum, err := m.Estimate(Counts{[]uint32{4, 4}, []uint32{1, 4}}, 4)
	if err != nil || sum.Spare != 0 || sum.Error == 0 {
		t.Error(sum, err)
	}
	s.Rows = 4
	sum, err = must(t, s).Estimate(Counts{[]uint32{4, 4, 4, 4}, []uint32{1, 4, 2, 0}}, 4)
	if err != nil || sum.Spare == 0 {
		t.Error(sum, err)
	}
}

func TestOverlaps(t *testing.T) {
	o := Overlaps([][]float32{{1, 0}, {0.5, 0}, {0, 1}})
	if want := 0.125 / 3; math.Abs(o[0]-want) > 1e-12 || math.Abs(o[1]-want/4) > 1e-12 || Overlaps(nil) != (Overlap{}) {
		t.Errorf("%v", o)
	}
	if a := Alike(0.1, 0.5); math.Abs(a[0]-0.0125) > 1e-15 || math.Abs(a[2]-0.1/128) > 1e-15 {
		t.Errorf("%v", a)
	}
	// c_3^2 = 2 R^2 phi(R)^2/3.
	const clip = 1.7
	phi := math.Exp(-clip*clip/2) / math.Sqrt(2*math.Pi)
	if got, want := hermiteSquare(3, clip), 2*clip*clip*phi*phi/3; math.Abs(got-want) > 1e-15 {
		t.Errorf("%v, want %v", got, want)
	}
	// All c_k^2 and the gain's square add up to E clip(Z)^2.
	sum := math.Pow(math.Erf(clip/math.Sqrt2), 2)
	for k := 3; k < 60; k += 2 {
		sum += hermiteSquare(k, clip)
	}
	tail := math.Erfc(clip / math.Sqrt2)
	if want := 1 - tail - 2*clip*phi + clip*clip*tail; math.Abs(sum-want) > 1e-3 {
		t.Errorf("squares add up to %v, want %v", sum, want)
	}
}

// The plan of MNIST's moments: the promise holds, at the noise that the document says.
func TestDesign(t *testing.T) {
	const epsilon, delta = 1, 1e-5
	n := Need{Respondents: 60_000, Honest: 60_000, Dimension: 65_286, Bits: 8192, SquaredDistance: 2.006, Overlap: Overlap{0.005, 0.001}}
	s, err := n.Design(epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	g, err := account.Epsilon(s.Event(60_000), delta)
	if err != nil || g.Epsilon > epsilon || g.Epsilon < 0.999*epsilon {
		t.Errorf("%v, %v", g, err)
	}
	if s.Rows != 65_536 || s.Envelopes < 8820 || s.Envelopes > 8860 || s.Clip < 1.7 || s.Clip > 2.6 || s.Noise(60_000) < 7.5 || s.Noise(60_000) > 8.8 {
		t.Errorf("%+v: noise %v", s, s.Noise(60_000))
	}
	moments, gradient := n, Need{Respondents: 60_000, Honest: 59_000, Dimension: 3510, Bits: 1434, SquaredDistance: 4}
	moments.Bits = 2458
	rounds, err := Rounds([]Need{moments, gradient, gradient}, []float64{0.3, 0.35, 0.35}, epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	all := account.All{Events: []account.Event{rounds[0].Event(60_000), account.Repeat{Event: rounds[1].Event(59_000), Rounds: 2}}}
	if g, err := account.Epsilon(all, delta); err != nil || g.Epsilon > epsilon || g.Epsilon < 0.998*epsilon || rounds[1].Rows != 4096 {
		t.Errorf("three rounds: %v, %v, %+v", g, err, rounds)
	}
	for _, bad := range []Need{{}, {Respondents: 10, Honest: 20, Dimension: 4, Bits: 4, SquaredDistance: 4}, {Respondents: 1000, Honest: 1000, Dimension: 4, Bits: 4, SquaredDistance: 0.5}} {
		if s, err := bad.Design(epsilon, delta); err == nil {
			t.Errorf("%+v: %+v", bad, s)
		}
	}
	if _, err := Rounds([]Need{n, n}, []float64{0.5, 0.6}, epsilon, delta); err == nil {
		t.Error("more than the budget")
	}
	if _, err := n.Design(0, delta); err == nil {
		t.Error("epsilon zero")
	}
}

func TestHostile(t *testing.T) {
	good := small()
	for name, change := range map[string]func(s *Spec){
		"dimensions": func(s *Spec) { s.Dimension = 0 }, "power of two": func(s *Spec) { s.Rows = 3 },
		"for 3 dim": func(s *Spec) { s.Dimension = 3 }, "answered": func(s *Spec) { s.Answered = 0 },
		"envelopes": func(s *Spec) { s.Envelopes = 0 }, "clipped": func(s *Spec) { s.Clip = math.NaN() },
		"flip": func(s *Spec) { s.Flip = 0.5 }, "distance": func(s *Spec) { s.SquaredDistance = 5 }, "crowded": func(s *Spec) { s.Rare = 0 },
	} {
		s := good
		change(&s)
		if _, err := New(s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := must(t, good)
	c := m.NewCounts()
	if err := errors.Join(c.Count(0), c.Count(3), c.Count(good.NoRow())); err != nil || c.Answered[0] != 1 || c.Ones[1] != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, channel := range []int{-1, 2*good.Rows + 1} {
		if c.Count(channel) == nil {
			t.Errorf("message %d was counted", channel)
		}
	}
	if _, err := m.Estimate(Counts{[]uint32{1}, []uint32{1}}, 1); err == nil {
		t.Error("counts of other rows")
	}
	if _, err := m.Estimate(Counts{[]uint32{1, 1}, []uint32{2, 0}}, 1); err == nil {
		t.Error("more ones than answers")
	}
	if g := m.Local(); g.Epsilon <= math.Log(4)*0.99 || g.Trust != account.Local {
		t.Errorf("%v", g)
	}
}

func BenchmarkDevice(b *testing.B) {
	m := must(b, Spec{Dimension: 130_250, Rows: 131_072, Answered: 8192, Envelopes: 8803, Clip: 2.2, Flip: 0.16, SquaredDistance: 2.006, Rare: 1e-9})
	r := stattest.Rand(b)
	v := unit(r, 130_250)
	b.Run("report", func(b *testing.B) {
		for b.Loop() {
			m.Randomize(r, v)
		}
	})
	c := m.NewCounts()
	b.Run("draw", func(b *testing.B) {
		for b.Loop() {
			m.Draw(r, v, c)
		}
	})
}

// Counts that are drawn by the sum of vectors have the law of DrawAll, but for how devices differ: of each row the mean is that
// of the devices' answers, and the spread that of answers drawn anew. A twin that draws by half of the sum is caught.
func TestPooledCountsHaveTheLawOfTheSum(t *testing.T) {
	s := Spec{Dimension: 6, Rows: 8, Answered: 4, Envelopes: 8, Clip: 3, Flip: 0.2, SquaredDistance: 4, Rare: 1e-9, Few: true, Seed: [32]byte{9}}
	m, r := must(t, s), stattest.Rand(t)
	const n, draws = 4000, 2000
	sum, ones, p := make([]float64, s.Dimension), make([]float64, s.Rows), make([]float64, s.Rows)
	for range n {
		v := unit(r, s.Dimension)
		v[0] = float32(math.Abs(float64(v[0])))
		m.Ones(v, p)
		for i, x := range v {
			sum[i] += float64(x)
		}
		for row, x := range p {
			ones[row] += x / n
		}
	}
	check := func(tb testing.TB, sum []float64) {
		r := stattest.Rand(t)
		all := make([][2][]float64, s.Rows)
		for range draws {
			c := m.DrawPooled(n, sum, r)
			for row := range c.Ones {
				all[row][0], all[row][1] = append(all[row][0], float64(c.Answered[row])), append(all[row][1], float64(c.Ones[row]))
			}
		}
		for row, drawn := range all {
			answer := float64(s.Answered) / float64(s.Rows)
			one := answer * ones[row]
			for i, p := range []float64{answer, one} {
				stattest.Mean(tb, n*p, n*p*(1-p)+1.0/12, drawn[i])
				squares := make([]float64, draws) // of a normal number with that variance, and what rounding adds
				for k, x := range drawn[i] {
					squares[k] = (x - n*p) * (x - n*p)
				}
				variance := n*p*(1-p) + 1.0/12
				stattest.Mean(tb, variance, 2*variance*variance, squares)
			}
		}
	}
	check(t, sum)
	half := make([]float64, len(sum))
	for i, x := range sum {
		half[i] = x / 2
	}
	stattest.Caught(t, func(tb testing.TB) { check(tb, half) })
}
