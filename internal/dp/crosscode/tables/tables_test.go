package tables

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// people returns made-up records of columns of 3, 2, 4 and 5 values: the second and the third follow the first, the last
// nothing.
func people(r *rand.Rand, n int) (sizes []int, records [][]int) {
	for range n {
		a := pick(r, cumulated([]float64{5, 3, 2}))
		b, c := 0, pick(r, cumulated([]float64{1, 1, 1, 1}))
		if r.Float64() < []float64{0.2, 0.5, 0.9}[a] {
			b = 1
		}
		if r.Float64() < 0.5 {
			c = a
		}
		records = append(records, []int{a, b, c, pick(r, cumulated([]float64{4, 1, 1, 1, 1}))})
	}
	return []int{3, 2, 4, 5}, records
}

// sums returns those of records, with normal noise of that error.
func sums(r *rand.Rand, sizes []int, records [][]int, err float64) *Sums {
	code := crosscode.New(crosscode.Shape{Sizes: sizes, Main: crosscode.Main(len(sizes))})
	total, v := make([]float64, code.Numbers()), make([]float32, code.Numbers())
	for _, record := range records {
		code.Write(record, v)
		for i, x := range v {
			total[i] += float64(x)
		}
	}
	for i := range total {
		total[i] += err * r.NormFloat64()
	}
	return New(code, len(records), total, err)
}

// held counts records of which all conditions hold.
func held(records [][]int, where ...Condition) (n float64) {
	for _, r := range records {
		all := true
		for _, c := range where {
			all = all && slices.Contains(c.Values, r[c.Column])
		}
		if all {
			n++
		}
	}
	return n
}

// Without noise tables are those of the records, and sums are those of tables.
func TestExactSumsGiveExactTables(t *testing.T) {
	sizes, records := people(seeded.New(1), 3000)
	s := sums(seeded.New(2), sizes, records, 0)
	columns, pairs := make([][]float64, len(sizes)), make([][]float64, s.Code.Pairs())
	for a := range sizes {
		for v, c := range s.Column(a) {
			columns[a] = append(columns[a], c.Mean)
			if want := held(records, Condition{a, []int{v}}); math.Abs(c.Mean-want) > 1e-2 {
				t.Errorf("column %d, value %d: %v, want %v", a, v, c.Mean, want)
			}
		}
	}
	for a, b := range s.Pairs {
		pairs[s.Pair(a, b)] = s.Table(a, b)
		guess := s.Guess(a, b).Table
		for i, x := range s.Table(a, b) {
			want := held(records, Condition{a, []int{i / sizes[b]}}, Condition{b, []int{i % sizes[b]}})
			if math.Abs(x-want) > 1e-2 || math.Abs(guess[i]-want) > 1e-2 {
				t.Errorf("columns %d and %d, cell %d: %v, guessed as %v, want %v", a, b, i, x, guess[i], want)
			}
		}
	}
	again, err := Again(s.Code, s.Respondents, s.Error, columns, pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range again.Vector {
		if math.Abs(x-s.Vector[i]) > 1e-6 {
			t.Fatalf("number %d is %v, and was %v", i, x, s.Vector[i])
		}
	}
	for _, bad := range []func(){func() { columns = columns[:3] }, func() { pairs[2] = pairs[2][:3] }, func() { pairs = pairs[:4] }} {
		c, p := slices.Clone(columns), slices.Clone(pairs)
		bad()
		if _, err := Again(s.Code, s.Respondents, s.Error, columns, pairs); err == nil {
			t.Error("tables of other columns are taken")
		}
		columns, pairs = c, p
	}
}

// The errors that are stated are those of noise that is drawn, of counts, of shares and of the model's effects; a twin
// with half of them does not pass.
func TestErrorsAreThoseOfNoise(t *testing.T) {
	const runs, noise = 400, 15.0
	sizes, records := people(seeded.New(1), 20_000)
	exact := sums(seeded.New(1), sizes, records, 0)
	exactFit, err := exact.Fit(1, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	questions := [][2][]Condition{
		{{{0, []int{2}}}, nil},
		{{{0, []int{2}}, {2, []int{1}}}, {{0, []int{2}}}},
		{{{2, []int{1, 2, 3}}, {1, []int{1}}}, {{1, []int{1}}}},
		{{{3, []int{0, 1, 2, 3}}, {0, []int{0}}}, {{3, []int{0, 1, 2, 3}}}},
	}
	r := seeded.New(3)
	counts, shares, effects := make([]float64, len(questions)), make([]float64, len(questions)), map[[2]int]float64{}
	for range runs {
		s := sums(r, sizes, records, noise)
		for i, q := range questions {
			a, err := s.Answer(q[0], q[1], 0.95)
			if err != nil {
				t.Fatal(err)
			}
			d := (a.Raw - held(records, q[0]...)) / a.StdErr
			counts[i] += d * d / runs
			one := 1 - 2*0.1587*s.Questions() // a range of one error to each side
			if a, err = s.Answer(q[0], q[1], one); err != nil {
				t.Fatal(err)
			}
			d = ((a.ShareLow+a.ShareHigh)/2 - held(records, q[0]...)/held(records, q[1]...)) / ((a.ShareHigh - a.ShareLow) / 2)
			shares[i] += d * d / runs
		}
		f, err := s.Fit(1, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		for a := range sizes {
			for v, e := range f.Effects[a] {
				d := (e.Mean - exactFit.Effects[a][v].Mean) / e.StdErr
				effects[[2]int{a, v}] += d * d / runs
			}
		}
	}
	fair := func(name string, square float64) {
		if square < 0.7 || square > 1.35 {
			t.Errorf("%s: errors are %v times those that are stated, squared", name, square)
		}
	}
	for i := range questions {
		fair("count", counts[i])
		fair("share", shares[i])
	}
	for _, square := range effects {
		fair("effect", square)
	}
}

// The additive model is the least squares of the records themselves, where there is no noise.
func TestTheModelIsLeastSquares(t *testing.T) {
	sizes, records := people(seeded.New(1), 3000)
	f, err := sums(seeded.New(2), sizes, records, 0).Fit(1, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	// By residuals: those who hold a value are predicted right on average, for each value of each column.
	for a := range sizes {
		if a == 1 {
			continue
		}
		for v := range sizes[a] {
			sum, n := 0.0, 0.0
			for _, r := range records {
				if r[a] != v {
					continue
				}
				predicted := f.Share.Mean
				for b := range sizes {
					if b != 1 {
						predicted += f.Effects[b][r[b]].Mean
					}
				}
				sum += float64(r[1]) - predicted
				n++
			}
			if math.Abs(sum/n) > 1e-4 {
				t.Errorf("column %d, value %d: the model is off by %v", a, v, sum/n)
			}
		}
	}
	if f.Explained < 0.2 || f.Explained > 0.5 {
		t.Errorf("%v of the variance is explained", f.Explained)
	}
	same := sums(seeded.New(2), []int{2, 2, 2}, [][]int{{0, 0, 0}, {1, 1, 1}, {0, 0, 1}, {1, 1, 0}}, 0)
	if _, err := same.Fit(2, 1, false); err == nil {
		t.Error("two columns that are the same are told apart")
	}
}

// Best guesses are nearer than raw counts, and pairs that tell nothing of each other are told as such.
func TestGuessesAreNearer(t *testing.T) {
	sizes, records := people(seeded.New(1), 20_000)
	r := seeded.New(4)
	raw, guess := 0.0, 0.0
	for range 20 {
		s := sums(r, sizes, records, 15)
		for a, b := range s.Pairs {
			g, t0 := s.Guess(a, b), s.Table(a, b)
			mass := 0.0
			for i, x := range t0 {
				want := held(records, Condition{a, []int{i / sizes[b]}}, Condition{b, []int{i % sizes[b]}})
				raw += (x - want) * (x - want)
				guess += (g.Table[i] - want) * (g.Table[i] - want)
				if mass += g.Table[i]; g.Table[i] < 0 {
					t.Fatal("a guess is below zero")
				}
			}
			if math.Abs(mass-20_000) > 1e-6 {
				t.Fatalf("guesses sum to %v", mass)
			}
		}
		if v := s.Guess(0, 1).Association; v < 0.4 || v > 0.7 {
			t.Errorf("columns that go together have %v", v)
		}
	}
	if guess > 0.93*raw {
		t.Errorf("guesses err by %v, raw counts by %v (squared)", guess, raw)
	}
	flat := 0
	for seed := range uint64(20) {
		s := sums(seeded.New(seed), sizes, records, 60)
		if s.Guess(0, 3).Association == 0 {
			flat++
		}
	}
	if flat < 18 {
		t.Errorf("of 20 releases %d say that columns tell nothing of each other, which do not", flat)
	}
}

// The points beyond which squares are rare are those of the law, from tables of it.
func TestChiSquared(t *testing.T) {
	for _, c := range []struct{ n, tail, want float64 }{{1, 0.05, 3.841}, {4, 0.01, 13.277}, {30, 0.001, 59.703}, {49, 0.05, 66.339}} {
		if got := chiSquared(c.n, c.tail); math.Abs(got-c.want) > 0.03*c.want {
			t.Errorf("%v squares: %v, want %v", c.n, got, c.want)
		}
	}
}

// sorts returns made-up records of seven columns, whose values follow one sort that nobody asks for, as strongly as it says.
func sorts(r *rand.Rand, n int, strength float64) (sizes []int, records [][]int) {
	sizes = []int{5, 4, 6, 5, 3, 4, 6}
	for range n {
		sort, record := r.Float64(), make([]int, len(sizes))
		for i, k := range sizes {
			if record[i] = r.IntN(k); r.Float64() < 0.3 {
				record[i] = 0
			}
			if r.Float64() < strength {
				record[i] = int(sort * float64(k))
			}
		}
		records = append(records, record)
	}
	return sizes, records
}

// Where columns go together by what they share, all pairs together tell more than each by itself, and than nothing.
func TestPairsTellOfEachOther(t *testing.T) {
	sizes, records := sorts(seeded.New(1), 20_000, 0.5)
	truth := sums(seeded.New(1), sizes, records, 0)
	var guess, alone, none float64
	for seed := range uint64(10) {
		s := sums(seeded.New(seed), sizes, records, 60)
		for a, b := range s.Pairs {
			want, x, y := truth.Table(a, b), s.Held(a), s.Held(b)
			base := s.independent(s.mean(a, x), s.mean(b, y))
			left := s.two(a, b)
			for i := range left {
				left[i] -= base[i]
			}
			own := shrinkSpectrum(left, sizes[b]-1, s.Error/s.Code.PairWeight(a, b))
			for i := range own {
				own[i] += base[i]
			}
			guess += apart(s.Guess(a, b).Table, want)
			alone += apart(Nearest(s.table(a, b, x, y, own), 20_000), want)
			none += apart(Nearest(s.table(a, b, x, y, base), 20_000), want)
		}
	}
	if guess > 0.85*alone || alone > 0.6*none {
		t.Errorf("guesses err by %.3g, each pair by itself by %.3g, columns by %.3g (squared)", guess, alone, none)
	}
}

// apart returns the squared distance of two tables.
func apart(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += (v - y[i]) * (v - y[i])
	}
	return sum
}

// Of few people, or where nothing goes together, best guesses are no worse than what the release says of columns by
// themselves, and these are nearer than columns as they are.
func TestGuessesAreNoWorseThanColumns(t *testing.T) {
	for _, c := range []struct {
		people   int
		strength float64
	}{{500, 0}, {500, 0.5}, {2000, 0}, {2000, 0.5}, {20_000, 0}, {20_000, 0.5}} {
		sizes, records := sorts(seeded.New(2), c.people, c.strength)
		n := float64(c.people)
		truth := sums(seeded.New(1), sizes, records, 0)
		var guess, columns, held, raw float64
		for seed := range uint64(20) {
			s := sums(seeded.New(seed), sizes, records, 7)
			for a := range sizes {
				held += apart(s.Held(a), truth.Held(a))
				raw += apart(Nearest(means(s.Column(a)), n), truth.Held(a))
			}
			for a, b := range s.Pairs {
				x, y := s.Held(a), s.Held(b)
				want, product := truth.Table(a, b), make([]float64, len(x)*len(y))
				for i := range product {
					product[i] = x[i/len(y)] * y[i%len(y)] / n
				}
				guess += apart(s.Guess(a, b).Table, want)
				columns += apart(product, want)
			}
		}
		if guess > 1.01*columns {
			t.Errorf("%d people who go together by %v: guesses err by %.3g, columns by %.3g (squared)", c.people, c.strength, guess, columns)
		}
		if held > 1.01*raw {
			t.Errorf("%d people: columns err by %.3g, as they are by %.3g (squared)", c.people, held, raw)
		}
	}
}

// A count of three columns lies between the bounds, whatever they have to do with each other, and the model has it where
// no three have more to do with each other than pairs say.
func TestThreeColumnsAreBounded(t *testing.T) {
	sizes, records := people(seeded.New(1), 20_000)
	for i, r := range records { // three-way: the last follows whether two others agree
		if r[0] == r[2] && r[1] == 1 && i%2 == 0 {
			r[3] = 4
		}
	}
	s := sums(seeded.New(5), sizes, records, 15)
	for _, cols := range [][3]int{{0, 1, 2}, {0, 2, 3}, {1, 2, 3}, {3, 0, 1}} {
		for x := range sizes[cols[0]] {
			for y := range sizes[cols[1]] {
				for z := range sizes[cols[2]] {
					where := []Condition{{cols[0], []int{x}}, {cols[1], []int{y}}, {cols[2], []int{z}}}
					a, err := s.Answer(where, where[1:], 0.95)
					if err != nil {
						t.Fatal(err)
					}
					want, of := held(records, where...), held(records, where[1:]...)
					if !a.ByModel || want < a.Low || want > a.High || a.Count < a.Low || a.Count > a.High {
						t.Errorf("%v: %v, from %v to %v, guessed as %v", where, want, a.Low, a.High, a.Count)
					}
					if !math.IsNaN(a.Share) && (want/of < a.ShareLow || want/of > a.ShareHigh) {
						t.Errorf("%v: share %v, from %v to %v", where, want/of, a.ShareLow, a.ShareHigh)
					}
					if cols == [3]int{0, 1, 2} && math.Abs(a.Count-want) > 0.15*want+60 {
						t.Errorf("%v: %v, the model says %v", where, want, a.Count)
					}
				}
			}
		}
	}
	four := []Condition{{0, []int{0}}, {1, []int{0}}, {2, []int{0}}, {3, []int{0}}}
	if _, err := s.Answer(four, nil, 0.95); err == nil {
		t.Error("four columns are answered")
	}
	if a, err := s.Answer(append(four[:2:2], Condition{2, []int{0, 1, 2, 3}}), nil, 0.95); err != nil || a.ByModel {
		t.Errorf("a condition that everybody meets counts as a column: %v", err)
	}
}

// Noise that two answers share is told.
func TestCorrelation(t *testing.T) {
	sizes, records := people(seeded.New(1), 5000)
	s := sums(seeded.New(2), sizes, records, 10)
	ask := func(where ...Condition) Answer {
		a, err := s.Answer(where, nil, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	x, not := ask(Condition{0, []int{1}}), ask(Condition{0, []int{0, 2}})
	if c := Correlation(x, x); math.Abs(c-1) > 1e-9 {
		t.Error(c)
	}
	if c := Correlation(x, not); math.Abs(c+1) > 1e-9 {
		t.Error(c)
	}
	if c := Correlation(x, ask(Condition{3, []int{1}})); c != 0 {
		t.Error(c)
	}
	if c := Correlation(ask(Condition{0, []int{1}}, Condition{2, []int{1}}), x); c < 0.1 || c > 0.9 {
		t.Error(c)
	}
}

// Rows that are drawn have the tables of the release, nearly.
func TestRowsHaveTheTables(t *testing.T) {
	sizes, records := people(seeded.New(1), 20_000)
	s := sums(seeded.New(2), sizes, records, 10)
	rows := s.Rows(seeded.New(3), 20_000)
	for a, b := range s.Pairs {
		off := 0.0
		for i := range sizes[a] * sizes[b] {
			where := []Condition{{a, []int{i / sizes[b]}}, {b, []int{i % sizes[b]}}}
			off += math.Abs(held(rows, where...)-held(records, where...)) / 2 / 20_000
		}
		if off > 0.025 {
			t.Errorf("columns %d and %d: rows are off by %v of the respondents", a, b, off)
		}
	}
}

// All that can be asked is counted.
func TestQuestions(t *testing.T) {
	s := sums(seeded.New(1), []int{3, 2}, [][]int{{0, 0}}, 0)
	if got := s.Questions(); got != 6+4+3*6*4 { // counts, and counts and two shares of each pair
		t.Error(got)
	}
	if s.Ordered = []bool{true, false}; s.Questions() != 7+4+3*7*4 {
		t.Error(s.Questions())
	}
	s = sums(seeded.New(1), []int{5, 2}, [][]int{{0, 0}}, 0)
	if s.Ordered = []bool{true, false}; s.Questions() != 18+4+3*18*4 {
		t.Error(s.Questions())
	}
	if z := s.Quantile(0.95); math.Abs(z-3.7) > 0.1 {
		t.Error(z)
	}
}

// Where the error is estimated, ranges of all that can be asked miss as often as they may, by the integral of Student's
// density. Those as of a known error miss more often.
func TestAnEstimatedErrorWidensRanges(t *testing.T) {
	const level, tolerance, step = 0.95, 1e-5, 1e-3
	s := sums(seeded.New(1), []int{8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}, [][]int{make([]int, 12)}, 0)
	normal := s.Quantile(level)
	for spare, least := range map[int]float64{500: 1.25, 7000: 1.01} {
		s.Spare = spare
		n := float64(spare)
		above, _ := math.Lgamma((n + 1) / 2)
		below, _ := math.Lgamma(n / 2)
		missed := func(z float64) (p float64) {
			for i := range 40_000 {
				x := z + (float64(i)+0.5)*step
				p += step * math.Exp(above-below-(n+1)/2*math.Log1p(x*x/n)) / math.Sqrt(n*math.Pi)
			}
			return 2 * p * s.Questions()
		}
		if got := missed(s.Quantile(level)); math.Abs(got/(1-level)-1) > tolerance {
			t.Errorf("of %d numbers ranges miss with %v", spare, got)
		}
		if twin := missed(normal); twin < (1-level)*least {
			t.Errorf("of %d numbers ranges as of a known error miss with %v", spare, twin)
		}
	}
}

// What is not counted among all questions is refused, or has no share.
func TestQuestionsThatAreNotCountedAreRefused(t *testing.T) {
	r := seeded.New(1)
	var records [][]int
	for range 2000 {
		records = append(records, []int{r.IntN(5), r.IntN(5), r.IntN(2)})
	}
	s := sums(r, []int{5, 5, 2}, records, 1)
	s.Ordered = []bool{false, true, false}
	for _, c := range []struct {
		column int
		values []int
		ok     bool
	}{
		{0, []int{3}, true}, {0, []int{0, 1, 2, 4}, true}, {0, nil, true}, {0, []int{1, 2}, false}, {0, []int{0, 1, 3}, false},
		{1, []int{1, 2}, true}, {1, []int{0, 1, 2}, true}, {1, []int{0, 1, 3, 4}, true}, {1, []int{0, 2}, false}, {1, []int{0, 3, 4}, false},
	} {
		for _, where := range [][]Condition{{{c.column, c.values}}, {{2, []int{1}}, {c.column, c.values}}} {
			if _, err := s.Answer(where, nil, 0.95); (err == nil) != c.ok {
				t.Errorf("%v: %v", where, err)
			}
		}
	}
	not := func(v int) Condition {
		all := []int{0, 1, 2, 3, 4}
		return Condition{0, slices.Delete(all, v, v+1)}
	}
	if _, err := s.Answer([]Condition{not(0), not(1)}, nil, 0.95); err == nil {
		t.Error("a set that two conditions leave is answered")
	}
	if _, err := s.Answer([]Condition{{0, []int{1}}}, []Condition{not(0), not(1)}, 0.95); err == nil {
		t.Error("a share of a set that two conditions leave is answered")
	}
	a, err := s.Answer([]Condition{not(0), {0, []int{1}}}, []Condition{not(0)}, 0.95)
	if err != nil || !math.IsNaN(a.Share) {
		t.Errorf("a share of some values of the same column is stated: %v, %v", a.Share, err)
	}
}

// A range of a share holds the truth as often as it says, far out too. The ratio's own first-order error would not.
func TestSharesHoldFarOut(t *testing.T) {
	const runs, whole, part, z = 400_000, 10.0, 8.0, 3.5 // in errors; their noise is independent
	r := seeded.New(8)
	missed, twin := 0.0, 0.0
	for range runs {
		a, of := part+r.NormFloat64(), whole+r.NormFloat64()
		if of <= clearly {
			continue
		}
		low, high, ok := ratio(a, of, 1, 1, 0, z)
		if !ok || low > part/whole || high < part/whole {
			missed++
		}
		if half := z * math.Hypot(1, a/of) / of; math.Abs(a/of-part/whole) > half {
			twin++
		}
	}
	said := 2 * 2.326e-4 * runs
	if missed > 1.4*said || twin < 1.8*said {
		t.Errorf("%v ranges of %v miss, first-order ones %v: %v are said to", missed, runs, twin, said)
	}
	if _, _, ok := ratio(1, 3, 1, 1, 0, 4); ok {
		t.Error("a share of what may be nobody has a range")
	}
}

// Errors of a model count the noise of the mean that effects are told from, of a target that follows a column.
func TestEffectsOfWhatFollowsAColumn(t *testing.T) {
	const runs, noise = 600, 30.0
	r := seeded.New(9)
	var records [][]int
	for range 20_000 {
		a, b := r.IntN(4), 0
		if (a == 0) == (r.Float64() < 0.97) {
			b = 1
		}
		records = append(records, []int{a, b, r.IntN(3)})
	}
	sizes := []int{4, 2, 3}
	exact, err := sums(r, sizes, records, 0).Fit(1, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	hits, n := 0.0, 0.0
	for range runs {
		f, err := sums(r, sizes, records, noise).Fit(1, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		for v, e := range f.Effects[0] {
			if n++; math.Abs(e.Mean-exact.Effects[0][v].Mean) <= 1.96*e.StdErr {
				hits++
			}
		}
	}
	t.Log(hits / n)
	if cover := hits / n; cover < 0.935 || cover > 0.965 {
		t.Errorf("ranges of 95 %% hold %v of the effects", cover)
	}
}

// The error of a weighed sum of counts is what all numbers' noise does to it: exactly, by moving each number.
func TestWeighedErrors(t *testing.T) {
	r := seeded.New(6)
	sizes, records := people(r, 500)
	s := sums(r, sizes, records, 7)
	for a, b := range s.Pairs {
		weights := make([]float64, sizes[a]*sizes[b])
		for i := range weights {
			weights[i] = r.NormFloat64()
		}
		base, exact := dot(weights, s.Table(a, b)), 0.0
		for i := range s.Vector {
			moved := New(s.Code, s.Respondents, slices.Clone(s.Vector), 7)
			moved.Vector[i]++
			d := 7 * (dot(weights, moved.Table(a, b)) - base)
			exact += d * d
		}
		if got := s.WeighedError(a, b, weights); math.Abs(got-math.Sqrt(exact)) > 1e-6*got {
			t.Errorf("columns %d and %d: %v, want %v", a, b, got, math.Sqrt(exact))
		}
		clear(weights)
		weights[1] = 1
		if got := s.WeighedError(a, b, weights); math.Abs(got-s.CellError(a, b)) > 1e-9*got {
			t.Errorf("one cell of columns %d and %d: %v, want %v", a, b, got, s.CellError(a, b))
		}
	}
}

// Noise may take a value's count below zero, or beyond all respondents. No model of it explains anything then, and each error is
// a number.
func TestFitOfAnImpossibleCount(t *testing.T) {
	code := crosscode.New(crosscode.Shape{Sizes: []int{3, 2}})
	for _, hold := range []float64{-400, -20, 1400} {
		rest := (1000 - hold) / 4
		s := fromCells(t, code, 1000, []float64{hold/2 + 50, hold/2 - 50, rest, rest, rest - 30, rest + 30}, 5)
		for _, sampled := range []bool{false, true} {
			f, err := s.Fit(0, 0, sampled)
			if err != nil {
				t.Fatal(err)
			}
			if f.Explained != 0 || !(f.Share.StdErr > 0) || !(f.Effects[1][0].StdErr > 0) {
				t.Errorf("%v of 1000: a model explains %v, its share is %+v, and an effect %+v", hold, f.Explained, f.Share, f.Effects[1][0])
			}
		}
	}
}
