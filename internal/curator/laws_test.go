package curator_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/curator"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

var (
	age  = plan.Attribute{Name: "age", Kind: "mean", Low: -20, High: 80}
	city = plan.Attribute{Name: "city", Kind: "open"}
)

// planned is a plan whose number of rows is private, or public.
func planned(t testing.TB, hidden bool, epsilon, delta float64, attributes ...plan.Attribute) *protocol.Protocol {
	t.Helper()
	p, err := curator.Ask{Holder: "the canteen", People: "guests", AsOf: "2026-11", RowsHidden: hidden, Attributes: attributes, Epsilon: epsilon, Delta: delta}.Plan()
	if err != nil {
		t.Fatal(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return proto
}

// stick is the hockey stick of two laws at e^epsilon, the larger of both directions.
func stick(p, q []float64, epsilon float64) float64 {
	var up, down float64
	for i := range p {
		up += max(0, p[i]-math.Exp(epsilon)*q[i])
		down += max(0, q[i]-math.Exp(epsilon)*p[i])
	}
	return max(up, down)
}

// product is the law of two independent numbers.
func product(a, b []float64) (law []float64) {
	for _, p := range a {
		for _, q := range b {
			law = append(law, p*q)
		}
	}
	return law
}

// By enumeration, of rows of few steps: two numbers with noise of their own, of which a row adds some to one and the
// rest to the other, tell no more of a row that is there or not than one count with as much noise does, of which the
// accountant speaks. The twin adds all of the row to both.
func TestTheTwoNumbersOfAMeanTellNoMoreThanACount(t *testing.T) {
	const reach = 60
	shifted := func(decay float64, by int) (law []float64) {
		for k := -reach; k <= reach; k++ {
			law = append(law, math.Exp(noise.DiscreteLaplace{Decay: decay}.LogProb(k-by)))
		}
		return law
	}
	caught := false
	for _, epsilon := range []float64{0.5, 1, 3} {
		for steps := 1; steps <= 5; steps++ {
			decay := epsilon / float64(steps)
			none := product(shifted(decay, 0), shifted(decay, 0))
			for at := 0.0; at < epsilon; at += epsilon / 7 {
				count := (math.Exp(epsilon) - math.Exp(at)) / (1 + math.Exp(epsilon))
				for a := range steps + 1 {
					if got := stick(product(shifted(decay, a), shifted(decay, steps-a)), none, at); got > count*(1+1e-9)+1e-9 {
						t.Errorf("%d of %d steps, epsilon %v: delta %v at %v, and a count has %v", a, steps, epsilon, got, at, count)
					}
				}
				caught = caught || stick(product(shifted(decay, steps), shifted(decay, steps)), none, at) > count*1.01
			}
		}
	}
	if !caught {
		t.Error("a row that counts twice tells no more")
	}
}

// A row adds one to the two numbers of a mean together, whatever it says; without a number it counts as the middle
// where the number of rows is public, and not at all where it is private.
func TestARowIsOneInAMean(t *testing.T) {
	r := stattest.Rand(t)
	for _, hidden := range []bool{false, true} {
		proto := planned(t, hidden, 1, 1e-7, age)
		none, err := curator.Counted(proto, nil, r)
		if err != nil {
			t.Fatal(err)
		}
		whole := int64(1) << 24
		for _, c := range []struct {
			x          any
			part, rows float64
		}{{80.0, 1, 1}, {-20.0, 0, 1}, {30.0, 0.5, 1}, {5.0, 0.25, 1}, {math.Inf(1), 1, 1}, {-1e300, 0, 1}, {math.NaN(), 0.5, 0}, {nil, 0.5, 0}} {
			one, err := curator.Counted(proto, []curator.Row{{c.x}}, r)
			if err != nil {
				t.Fatal(err)
			}
			if c.rows == 0 && !hidden {
				c.rows = 1
			}
			if got := one[0] - none[0]; got != int64(c.part*c.rows*float64(whole)) || one[0]+one[1] != int64(c.rows)*whole {
				t.Errorf("hidden %v, %v: %v of %d steps", hidden, c.x, one, whole)
			}
		}
	}
}

// By enumeration, of three cells: weighted sums of the noise reach beyond their bound no more often than it says, of both
// laws. The twin takes sums of so few for normal, and is wrong of Laplace's.
func TestWeightedSumsOfNoiseStayWithin(t *testing.T) {
	const reach = 70
	for _, law := range []string{plan.LawLaplace, plan.LawGaussian} {
		spend := plan.Attribute{Name: "spend", Kind: "buckets", Low: 0, High: 10, Cells: 3}
		p, err := curator.Ask{Holder: "the canteen", People: "guests", AsOf: "2026-11", RowsHidden: true, Attributes: []plan.Attribute{spend}, Law: law, Epsilon: 0.5, Delta: 1e-6}.Plan()
		if err != nil {
			t.Fatal(err)
		}
		proto, err := protocol.New(p)
		if err != nil {
			t.Fatal(err)
		}
		_, model, err := curator.Release(proto, []curator.Row{{1.0}}, release.Ledger{Releases: 1, Epsilon: 3, Delta: 1e-5}, stattest.Rand(t))
		if err != nil {
			t.Fatal(err)
		}
		within := model.(*histogram.Model).Tables[0].Weighted()
		one := lawOf(proto.Plan.Route.Table.Decay, proto.Plan.Route.Table.Sigma, reach)
		variance := 0.0
		for k, p := range one {
			variance += p * float64(k-reach) * float64(k-reach)
		}
		caught := false
		for _, a := range [][2]float64{{0.75, -0.25}, {0.5, -0.5}, {0.125, -0.875}} {
			beyond := func(w float64) (p float64) {
				for x, px := range one {
					for y, py := range one {
						for z, pz := range one {
							if math.Abs(a[0]*float64(x-reach)+a[1]*float64(y+z-2*reach)) > w {
								p += px * py * pz
							}
						}
					}
				}
				return p
			}
			for _, alpha := range []float64{0.2, 0.025, 0.002} {
				if got := beyond(within(alpha, [2]int{1, 2}, a)); got > alpha || got < alpha/50 {
					t.Errorf("%s, weights %v: beyond the bound lies %v, of %v", law, a, got, alpha)
				}
				normal := math.Sqrt(variance*(a[0]*a[0]+2*a[1]*a[1])) * map[float64]float64{0.2: 1.2816, 0.025: 2.2414, 0.002: 3.0902}[alpha]
				caught = caught || beyond(normal) > alpha*1.05
			}
		}
		if law == plan.LawLaplace && !caught {
			t.Error("the normal law is as good here, and the test tells nothing")
		}
	}
}

// All that a page of several columns shows fails together no more often than one of its intervals may, by the exact law of
// the noise: the probabilities with which the intervals miss add up to at most 5 %. The twin takes each column by itself.
func TestIntervalsOfAPageHoldAtOnce(t *testing.T) {
	const rows, level = 1000, 0.95
	sizes := func(n int) (values []string) {
		for i := range n {
			values = append(values, string(rune('a'+i)))
		}
		return values
	}
	asked := []plan.Attribute{{Name: "drink", Kind: "categories", Values: sizes(4)}, {Name: "class", Kind: "categories", Values: sizes(2)}, age, {Name: "spend", Kind: "buckets", Low: 0, High: 10, Cells: 5}}
	proto := planned(t, false, 4, 1e-9, asked...)
	var all []curator.Row
	for i := range rows {
		all = append(all, curator.Row{sizes(4)[i%4], "b", 30.0, 4.5})
	}
	_, model, err := curator.Release(proto, all, release.Ledger{Releases: 1, Epsilon: 4, Delta: 1e-5}, stattest.Rand(t))
	if err != nil {
		t.Fatal(err)
	}
	decay := proto.Plan.Route.Table.Decay
	beyond := func(w, decay float64) float64 { return 2 * math.Exp(-decay*(w+1)) / (1 + math.Exp(-decay)) }
	total, alone, numbers := 0.0, 0.0, 0
	for _, table := range model.(*histogram.Model).Tables {
		if table.Asked.Kind == "mean" {
			numbers++
			for _, one := range []struct {
				sum *float64
				at  float64
			}{{&total, level}, {&alone, 1 - 5*(1-level)}} {
				_, low, high, ok := table.Average(one.at)
				if !ok {
					t.Fatal("no mean")
				}
				*one.sum += math.Exp(-decay * rows * (high - low) / 2 / (table.Asked.High - table.Asked.Low))
			}
			continue
		}
		numbers += len(table.Values)
		cell := 1 // in the middle of nothing that clips its interval
		if table.Asked.Kind == "buckets" {
			cell = 2
		}
		for _, one := range []struct {
			sum *float64
			at  float64
		}{{&total, level}, {&alone, 1 - 5*(1-level)}} { // five families
			ends := table.IntervalsAtOnce([]int{cell}, one.at)[0]
			*one.sum += float64(len(table.Values)) * beyond(table.Values[cell].Mean-ends[0], decay)
		}
		if got := table.AtOnce(); got != 5+3+1+6 {
			t.Errorf("%d numbers of the page hold together", got)
		}
	}
	if numbers != 5+3+1+6 || total > 1-level || total < (1-level)/3 {
		t.Errorf("%d intervals miss with probability %v together", numbers, total)
	}
	if alone < 1-level {
		t.Errorf("columns by themselves miss with probability %v together, and the test would not tell", alone)
	}
}

// The error of a mean is that of one sum with noise for the whole range, over the rows; where their number is private,
// no more. Its law is that of the noise, and the interval holds. The twin has half of the noise.
func TestAMeanErrsAsADirectSum(t *testing.T) {
	const people, epsilon, draws = 400, 0.5, 800
	var rows []curator.Row
	truth := 0.0
	for i := range people {
		x := float64(i%50) - 10
		rows, truth = append(rows, curator.Row{x}), truth+x/people
	}
	direct := (age.High - age.Low) * math.Sqrt2 / epsilon / people
	for _, hidden := range []bool{false, true} {
		proto, r := planned(t, hidden, epsilon, 1e-7, age), stattest.Rand(t)
		const bins = 8
		counts, held := make([]int, bins), 0
		for range draws {
			_, model, err := curator.Release(proto, rows, release.Ledger{Releases: 1, Epsilon: 3, Delta: 1e-5}, r)
			if err != nil {
				t.Fatal(err)
			}
			mean, low, high, ok := model.(*histogram.Model).Tables[0].Average(0.95)
			if !ok || mean.StdErr > direct*(1+1e-3) || !hidden && mean.StdErr < direct*(1-1e-3) || hidden && mean.StdErr < direct/2 {
				t.Fatalf("hidden %v: %+v, and a direct sum errs by %v", hidden, mean, direct)
			}
			if low <= truth && truth <= high {
				held++
			}
			u := (mean.Mean - truth) / direct * math.Sqrt2 // in units of the Laplace law
			below := math.Exp(-math.Abs(u)) / 2
			if u > 0 {
				below = 1 - below
			}
			counts[min(bins-1, int(below*bins))]++
		}
		stattest.AtMost(t, 0.05, draws, draws-held)
		if hidden {
			continue
		}
		even := make([]float64, bins)
		for i := range even {
			even[i] = 1.0 / bins
		}
		stattest.GTest(t, even, counts)
		half := []float64{0, 0, 0, 0, 0, 0, 0, 0} // below quantiles of a law of half the width
		last := 0.0
		for i := range half {
			q := float64(i+1) / bins
			x := math.Log(2 * min(q, 1-q)) // -|u|
			below := math.Exp(2*x) / 2
			if q > 0.5 {
				below = 1 - below
			}
			if i == bins-1 {
				below = 1
			}
			half[i], last = below-last, below
		}
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, half, counts) })
	}
}

// published is the exact law of what is seen of a value that so many rows hold: nothing, or a noisy count from least on,
// up to far beyond, which is the last.
func published(held, least int, decay float64) []float64 {
	const far = 120
	law := make([]float64, far+1)
	if held == 0 {
		law[0] = 1
		return law
	}
	d := noise.DiscreteLaplace{Decay: decay}
	for k := -2000; k <= 2000; k++ {
		p := math.Exp(d.LogProb(k))
		if noisy := held + k; noisy < least {
			law[0] += p
		} else {
			law[min(far, 1+noisy-least)] += p
		}
	}
	return law
}

// By enumeration of all tables of few rows: what is published of values that nobody listed keeps the budget, delta
// included, of a row that is there or not and of one that is exchanged, and hardly any of delta is left over. The twin
// publishes from one below.
func TestValuesThatNobodyListedKeepTheBudget(t *testing.T) {
	for _, hidden := range []bool{true, false} {
		for _, budget := range [][2]float64{{1, 0.01}, {2, 1e-3}, {0.5, 0.05}} {
			epsilon, delta := budget[0], budget[1]
			proto := planned(t, hidden, epsilon, delta, city)
			decay, least := proto.Plan.Route.Table.Decay, proto.Plan.Question.Histogram.Attributes[0].Least
			if _, err := proto.Promise(); err != nil {
				t.Fatal(err)
			}
			worst := func(least int) (worst float64) {
				for x := range 6 {
					for y := range 6 {
						here := product(published(x, least, decay), published(y, least, decay))
						if hidden {
							worst = max(worst, stick(here, product(published(x+1, least, decay), published(y, least, decay)), epsilon))
						} else if x > 0 {
							worst = max(worst, stick(here, product(published(x-1, least, decay), published(y+1, least, decay)), epsilon))
						}
					}
				}
				return worst
			}
			got := worst(least)
			if got > delta {
				t.Errorf("hidden %v, epsilon %v: delta %v, and %v was promised", hidden, epsilon, got, delta)
			}
			if got < delta/8 || worst(least-1) < got*1.2 {
				t.Errorf("hidden %v, epsilon %v: delta %v of %v from %d on, %v from one below", hidden, epsilon, got, delta, least, worst(least-1))
			}
		}
	}
}

// The least counts are those of the exact law: 15 and 22 of a row that is there or not. Ten is far from delta 1e-6.
func TestTheLeastCountIsThatOfTheLaw(t *testing.T) {
	for delta, want := range map[float64]int{1e-6: 15, 1e-9: 22} {
		if got := planned(t, true, 1, delta, city).Plan.Question.Histogram.Attributes[0].Least; got != want {
			t.Errorf("delta %v: from %d on, want %d", delta, got, want)
		}
	}
	q := math.Exp(-1.0)
	if ten := math.Pow(q, 9) / (1 + q); ten < 8.9e-5 || ten > 9.1e-5 {
		t.Errorf("from 10 on delta is %v", ten)
	}
}

// A value is published by its noisy count alone, under the names that the rows have. One that could not stand on a page
// is no answer.
func TestValuesThatNobodyListed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cities.csv")
	var b strings.Builder
	b.WriteString("city\n")
	for range 500 {
		b.WriteString("Bern\nBiel\n\u202eLugano\n" + strings.Repeat("x", 300) + "\n\n")
	}
	b.WriteString("Chur\n")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []bool{true, false} {
		proto := planned(t, hidden, 1, 1e-7, city, drinks())
		rows, err := curator.Read(file, proto.Plan.Question.Histogram.Attributes, [][]string{{"city"}, {"city"}}, "", hidden)
		if err != nil {
			t.Fatal(err)
		}
		r, model, err := curator.Release(proto, rows, release.Ledger{Releases: 1, Epsilon: 3, Delta: 1e-5}, stattest.Rand(t))
		if err != nil {
			t.Fatal(err)
		}
		table := model.(*histogram.Model).Tables[0]
		if table.Size() != 2 || table.Name(0) != "Bern" || table.Name(1) != "Biel" {
			t.Errorf("hidden %v: %d values, %+v", hidden, table.Size(), table.Values)
		}
		want, smallest := "respondents", len(rows)
		if hidden {
			want, smallest = "rows", 1
		}
		if r.Headline[0].Name != want || r.Crowds[0].Smallest != smallest {
			t.Errorf("hidden %v: %+v, crowds %+v", hidden, r.Headline[0], r.Crowds)
		}
	}
}

// A row that is there or not moves as many numbers as are charged, by one each; the number of rows is in none by
// itself. The twin charges a row that is exchanged.
func TestARowMoreMovesTheCountsAsCharged(t *testing.T) {
	proto := planned(t, true, 1, 1e-7, every()...)
	promise, err := proto.Promise()
	if err != nil {
		t.Fatal(err)
	}
	r, most := stattest.Rand(t), 0
	for range 500 {
		rows := []curator.Row{anything(r), anything(r)}
		x, errX := curator.Counted(proto, rows, r)
		y, errY := curator.Counted(proto, rows[1:], r)
		if errX != nil || errY != nil {
			t.Fatal(errX, errY)
		}
		moved := 0
		for i := range x {
			if d := x[i] - y[i]; d < 0 || d > 1 {
				t.Fatalf("a number moves by %d", d)
			} else if d == 1 {
				moved++
			}
		}
		most = max(most, moved)
	}
	if charged := promise.Shuffled.Rounds; most != charged {
		t.Errorf("%d numbers move, and %d are charged", most, charged)
	}
	if other := planned(t, false, 1, 1e-7, every()...); other.Plan.Route.Table.Decay*1.5 > proto.Plan.Route.Table.Decay {
		t.Error("a row that is exchanged costs no more")
	}
}

// All releases of the same people have the same neighbours. One of replacement publishes the number of rows, which
// no later one can hide.
func TestNeighboursStayThoseOfTheFirst(t *testing.T) {
	for _, first := range []bool{true, false} {
		l := opened(t, t.TempDir())
		if _, err := l.Charge(planned(t, first, 1, 1e-7, drinks()), november, curator.Cap{}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Charge(planned(t, !first, 0.1, 1e-7, drinks()), november, curator.Cap{}, time.Now()); err == nil || !strings.Contains(err.Error(), "cannot be of others") {
			t.Errorf("other neighbours: %v", err)
		}
		if _, err := l.Charge(planned(t, first, 0.1, 1e-7, drinks()), november, curator.Cap{}, time.Now()); err != nil {
			t.Errorf("the same neighbours: %v", err)
		}
	}
}
