package histogram_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

func toldBy(t *testing.T, h plan.Histogram) *histogram.Question {
	t.Helper()
	p := example.Histogram(h)
	if !h.Randomizer.OneHot() {
		p.Budget.Adjacency = "replacement"
	}
	q, err := histogram.New(example.Design(t, p))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// Devices speak for the cell that they hold, and for another, as often as their words say, whatever
// the randomizer. The coin's share follows from these. Twins that say another cell twice as often are caught.
func TestTheCoinsShareIsThatOfReports(t *testing.T) {
	const draws, tea, coffee = 8_000, 1, 0
	with := func(name string, change func(*plan.Histogram)) plan.Histogram {
		h := plan.Histogram{Attributes: []plan.Attribute{example.Drinks()}, Randomizer: plan.Randomizer{Name: name, Accounting: "exact"}}
		if change != nil {
			change(&h)
		}
		return h
	}
	for name, h := range map[string]plan.Histogram{
		"one-hot": with("one-hot", nil), "asymmetric": with("one-hot-asymmetric", nil), "krr": with("krr", nil), "subset": with("subset", nil), "hadamard": with("hadamard", nil),
		"fragments":  with("one-hot", func(h *plan.Histogram) { h.Randomizer.Fragments = 4 }),
		"local-hash": with("local-hash", func(h *plan.Histogram) { h.Randomizer.Functions, h.Randomizer.Seed = 4096, example.Seed }),
	} {
		q := toldBy(t, h)
		symbol, err := q.Encode(histogram.Answers{Values: []any{"tea"}})
		if err != nil {
			t.Fatal(name, err)
		}
		r, spoken := stattest.Rand(t), [2]int{}
		for range draws {
			report, err := q.Randomize(r, symbol, nil)
			if err != nil {
				t.Fatal(err)
			}
			var channels []uint32
			for _, part := range report.Parts {
				for _, body := range part {
					channel, _, err := tally.ParseMessage(body)
					if err != nil {
						t.Fatal(err)
					}
					channels = append(channels, channel)
				}
			}
			for i, cell := range []int{tea, coffee} {
				if slices.Contains(q.SpokenFor(channels), cell) {
					spoken[i]++
				}
			}
		}
		held, other, coin := q.Said()
		k := float64(example.Drinks().Domain())
		if want := (k - 1) * other / (held + (k-1)*other); coin < want*(1-1e-12) || coin > want*(1+1e-12) {
			t.Errorf("%s: the coin has %v, want %v", name, coin, want)
		}
		stattest.Binomial(t, held, draws, spoken[0])
		if name == "local-hash" { // another cell shares the function's value by the seed
			continue
		}
		stattest.Binomial(t, other, draws, spoken[1])
		if other < 0.01 { // too rare for so few draws to tell twice
			continue
		}
		stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, min(0.95, 2*other), draws, spoken[1]) })
	}
}

// A report is told by the names of cells: of several things by the name of each, of a string by its
// beginning, of a number by its bucket. What no device sends is left out.
func TestReportsAreTold(t *testing.T) {
	age := plan.Attribute{Name: "age", Kind: "buckets", Low: 0, High: 100, Cells: 10}
	basket := plan.Attribute{Name: "basket", Kind: "set", Values: []string{"bread", "milk", "eggs"}, Most: 2}
	krr := plan.Randomizer{Name: "krr", Accounting: "exact"}
	for name, c := range map[string]struct {
		ask      plan.Histogram
		channels []uint32
		want     string
	}{
		"one":     {plan.Histogram{Attributes: []plan.Attribute{example.Drinks()}, Randomizer: krr}, []uint32{1}, "tea; "},
		"number":  {plan.Histogram{Attributes: []plan.Attribute{age}, Randomizer: krr}, []uint32{3}, "30 to 40; "},
		"set":     {example.OneHot(basket), []uint32{2, 0, 2, 1000}, "bread, eggs; "},
		"several": {func() plan.Histogram { h := example.OneHot(example.Drinks(), age); h.Collect = "split"; return h }(), []uint32{0, 1, uint32(example.Drinks().Domain()) + 2}, "drink: coffee, tea; age: 20 to 30; "},
		"nothing": {example.OneHot(basket), []uint32{1000}, "nothing, as happens by chance"},
	} {
		said := tally.NewMessages(2)
		for _, channel := range c.channels {
			said.Say(channel, 0)
		}
		got := toldBy(t, c.ask).Tell(append(said.Bodies, []byte{1}))
		if !strings.HasPrefix(got, c.want) || (got != c.want) != strings.HasSuffix(got, " the coin's") {
			t.Errorf("%s: %q, want %q and the coin's share", name, got, c.want)
		}
	}
}

// A message that speaks for many cells is told by few of them, and one of a sketch by the values that share
// its cell.
func TestFewOfManyAreTold(t *testing.T) {
	many := plan.Attribute{Name: "number", Kind: "categories", Size: 200}
	q := toldBy(t, plan.Histogram{Attributes: []plan.Attribute{many}, Randomizer: plan.Randomizer{Name: "hadamard", Accounting: "exact"}})
	said := tally.NewMessages(1)
	said.Say(3, 0)
	if got := q.Tell(said.Bodies); !strings.Contains(got, " and more; ") || strings.Count(got, ",") != 11 {
		t.Error(got)
	}
	p := example.Histograms()["count-mean"]
	sketched, err := histogram.New(example.Design(t, p))
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	for channel := range uint32(p.Question.Histogram.Sketch.Width) { // one row has each value once
		for _, cell := range sketched.SpokenFor([]uint32{channel}) {
			if found[cell] {
				t.Errorf("cell %d is told twice in one row", cell)
			}
			found[cell] = true
		}
	}
	if want := p.Question.Histogram.Attributes[0].Domain(); len(found) != want {
		t.Errorf("%d cells of %d are told in a row", len(found), want)
	}
}

// A question says how it tells what a device holds: k-ary response by the chance that it is told as it is, whose ratio to another cell's
// is e^epsilon, and the others by each cell's. A twin that says "as it is" of a set would be caught.
func TestChanceIsThatOfReports(t *testing.T) {
	h := plan.Histogram{Attributes: []plan.Attribute{example.Drinks()}, Randomizer: plan.Randomizer{Name: "krr", Accounting: "exact"}}
	p := example.Histogram(h)
	p.Budget.Adjacency = "replacement"
	p = example.Design(t, p)
	q, err := histogram.New(p)
	if err != nil {
		t.Fatal(err)
	}
	cells := float64(len(example.Drinks().Values))
	if example.Drinks().Others {
		cells++
	}
	var told float64
	var of int
	if n, err := fmt.Sscanf(q.Chance(0), "as it is with probability %g, otherwise one of %d at random", &told, &of); n != 2 || float64(of) != cells {
		t.Fatalf("%v: %q", err, q.Chance(0))
	}
	e := math.Exp(p.Question.Histogram.Randomizer.Epsilon)
	if want := (e - 1) / (e + cells - 1); math.Abs(told-want) > 6e-4 {
		t.Errorf("it is told as it is with %v, and the law has %v", told, want)
	}
	h.Randomizer.Name = "one-hot"
	if said := toldBy(t, h).Chance(0); !strings.HasPrefix(said, "each with probability ") {
		t.Error(said)
	}
}
