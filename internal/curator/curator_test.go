package curator_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/curator"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	_ "github.com/confetti-dp/confetti/question/all"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

func drinks() plan.Attribute {
	return plan.Attribute{Name: "drink", Kind: "categories", Values: []string{"tea", "mate"}}
}

func every() []plan.Attribute {
	return []plan.Attribute{
		drinks(), {Name: "age", Kind: "buckets", Low: 0, High: 100, Cells: 4},
		{Name: "snacks", Kind: "set", Values: []string{"fruit", "cake", "nuts"}, Most: 2},
		{Name: "place", Kind: "grid", X: &plan.Axis{Low: 0, High: 1, Cells: 2}, Y: &plan.Axis{Low: 0, High: 1, Cells: 2}},
	}
}

func asked(t testing.TB, law string, attributes ...plan.Attribute) *protocol.Protocol {
	t.Helper()
	p, err := curator.Ask{Holder: "the canteen", People: "guests", AsOf: "2026-11", Attributes: attributes, Law: law, Epsilon: 1, Delta: 1e-7}.Plan()
	if err != nil {
		t.Fatal(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return proto
}

// anything is a row of whatever a file may hold.
func anything(r *rand.Rand) curator.Row {
	one := func(all ...any) any { return all[r.IntN(len(all))] }
	return curator.Row{
		one("tea", "mate", "beer", "", nil), one(-1e300, 3.0, 50.0, 1e9, nil),
		one([]string{}, []string{"fruit"}, []string{"cake", "nuts"}, []string{"fruit", "cake", "nuts"}, []string{"fruit", "fruit", "what"}, []string{"x", "y", "z"}),
		one(encode.Point{X: 0.1, Y: 0.9}, encode.Point{X: 7, Y: -7}, nil),
	}
}

// One row exchanged for any other moves the counts by no more than what the noise was found for: each
// by one, and as many as the accountant charges. The twin counts all rows of a person.
func TestOneRowMovesTheCountsAsCharged(t *testing.T) {
	proto := asked(t, "", every()...)
	promise, err := proto.Promise()
	if err != nil {
		t.Fatal(err)
	}
	charged := promise.Shuffled.Rounds
	r, most := stattest.Rand(t), 0
	moved := func(a, b []curator.Row) (numbers, largest int) {
		x, errX := curator.Counted(proto, a, r)
		y, errY := curator.Counted(proto, b, r)
		if errX != nil || errY != nil {
			t.Fatal(errX, errY)
		}
		for i := range x {
			if d := int(x[i] - y[i]); d != 0 {
				numbers, largest = numbers+1, max(largest, d, -d)
			}
		}
		return numbers, largest
	}
	for range 500 {
		rows := []curator.Row{anything(r), anything(r), anything(r)}
		other := append([]curator.Row{anything(r)}, rows[1:]...)
		numbers, largest := moved(rows, other)
		if numbers > charged || largest > 1 {
			t.Fatalf("%d numbers move by up to %d, and %d are charged", numbers, largest, charged)
		}
		most = max(most, numbers)
	}
	if most < charged-2 {
		t.Errorf("at most %d numbers moved, of %d that are charged", most, charged)
	}
	tea, mate := curator.Row{"tea", 3.0, []string{}, nil}, curator.Row{"mate", 3.0, []string{}, nil}
	if _, largest := moved([]curator.Row{tea, tea}, []curator.Row{mate, mate}); largest < 2 {
		t.Error("two rows of one person move a count by no more than one")
	}
}

// The numbers of a release are the counts with noise of the plan's law, drawn anew for each. The twin
// expects half of it.
func TestAReleaseHasTheLawOfItsPlan(t *testing.T) {
	rows := []curator.Row{{"tea"}, {"tea"}, {"mate"}, {"beer"}}
	const top = 40
	for _, law := range []string{plan.LawLaplace, plan.LawGaussian} {
		proto, r := asked(t, law, drinks()), stattest.Rand(t)
		counts, alike := make([]int, 2*top+1), 0
		const draws = 1000
		for range draws {
			_, model, err := curator.Release(proto, rows, release.Ledger{Releases: 1, Epsilon: 3, Delta: 1e-5}, r)
			if err != nil {
				t.Fatal(err)
			}
			values := model.(*histogram.Model).Tables[0].Values
			z := int(values[0].Mean) - 2
			counts[max(-top, min(top, z))+top]++
			if int(values[1].Mean)-1 == z {
				alike++
			}
		}
		if alike > draws/2 {
			t.Errorf("%s: %d of %d draws have the same noise in two numbers", law, alike, draws)
		}
		table := proto.Plan.Route.Table
		stattest.GTest(t, lawOf(table.Decay, table.Sigma, top), counts)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, lawOf(table.Decay*2, table.Sigma/2, top), counts) })
	}
}

// lawOf tabulates a law on -top..top, its tails in the ends.
func lawOf(decay, sigma float64, top int) []float64 {
	log := noise.DiscreteLaplace{Decay: decay}.LogProb
	if sigma > 0 {
		log = noise.DiscreteGaussian{Sigma: sigma}.LogProb
	}
	law := make([]float64, 2*top+1)
	for k := -20 * top; k <= 20*top; k++ {
		law[max(-top, min(top, k))+top] += math.Exp(log(k))
	}
	return law
}

// A table is read whatever its cells say: what is no answer is none, numbers are clamped, and a person
// has one row.
func TestARowIsReadWhateverItSays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "people.csv")
	text := "id,drink,age,snacks,x,y\n1,tea,30,fruit; cake,0.5,0.5\n2,,NaN,,inf,0\n1,mate,31,nuts,0,0\n3,1203,-inf, ; ,zero,0\n4,tea,1e999,fruit,1,2\n"
	long := strings.Repeat("x", 2000) // of a person, an answer and an item
	text += long + "," + long + "," + long + ",fruit;" + long + ",1,2\n" + long + ",tea,1,,1,2\n" + long + "y,tea,1,,1,2\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	columns := [][]string{{"drink"}, {"age"}, {"snacks"}, {"x", "y"}}
	rows, err := curator.Read(file, every(), columns, "id", false)
	if err != nil || len(rows) != 6 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, want := range []struct {
		age   any
		items int
		place any
	}{{30.0, 2, encode.Point{X: 0.5, Y: 0.5}}, {nil, 0, encode.Point{X: 1, Y: 0}}, {0.0, 0, nil}, {100.0, 1, encode.Point{X: 1, Y: 1}}, {nil, 2, encode.Point{X: 1, Y: 1}}, {1.0, 0, encode.Point{X: 1, Y: 1}}} {
		if rows[i][1] != want.age || len(rows[i][2].([]string)) != want.items || rows[i][3] != want.place {
			t.Errorf("row %d is %v", i+1, rows[i])
		}
	}
	if _, err := curator.Counted(asked(t, "", every()...), rows, stattest.Rand(t)); err != nil {
		t.Errorf("they are not counted: %v", err)
	}
	if all, err := curator.Read(file, every(), columns, "", false); err != nil || len(all) != 8 {
		t.Errorf("%d rows without people, %v", len(all), err)
	}
	if _, err := curator.Read(file, every(), [][]string{{"drnk"}, {"age"}, {"snacks"}, {"x", "y"}}, "", false); err == nil || !strings.Contains(err.Error(), `no column "drnk"`) {
		t.Errorf("a column that is not there: %v", err)
	}
}

// Two columns of names have a cell for each pair.
func TestTwoColumnsTogether(t *testing.T) {
	a := curator.Joint(drinks(), plan.Attribute{Name: "class", Kind: "categories", Values: []string{"guest", "staff"}})
	if want := []string{"tea / guest", "tea / staff", "mate / guest", "mate / staff"}; strings.Join(a.Values, ",") != strings.Join(want, ",") || a.Name != "drink and class" {
		t.Errorf("%+v", a)
	}
}
