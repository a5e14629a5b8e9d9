// Package heavy measures how frequent strings that nobody listed are found: ours by both routes, rivals at their best,
// and liars among devices. Used by lab/cmd/confetti-lab/experiment.
package heavy

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/plan"
	stringsof "github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/simulate"
)

// Cell is one measurement.
type Cell struct {
	Strings string // a name of Populations
	People  int
	Epsilon float64
	Delta   float64
	Seed    uint64
	Noise   string  // of liars, or alone: who adds the noise of sums by two aggregators (plan.Sum); empty: answers are mixed
	Alone   bool    // no rivals, and one route
	Liars   float64 // the share of people whose devices lie; 0: rivals are measured beside ours
}

// Row is what one way found.
type Row struct {
	Way    string  `json:"way"`
	Found  int     `json:"found"`
	False  int     `json:"false"`         // of these, held by nobody
	Error  float64 `json:"rmse"`          // of counts that were found
	Within int     `json:"within"`        // of ours: true ones whose number of holders lies in their interval of 95 %
	Missed int     `json:"missed"`        // of ours: true ones that intervals of 95 % for all at once miss
	From   int     `json:"from"`          // the least number of holders from which nine of ten are found
	Bytes  int     `json:"bytes"`         // that a device sends; 0: it sends its string to a curator, or a name alone
	AtMost float64 `json:"false_at_most"` // of ours: how many are false at most, in expectation, as the release says
	Lost   int     `json:"lost"`          // of liars: strings that are found without them and not with them
	Lift   float64 `json:"lifted"`        // of liars: by how many respondents each lifts the one string that they name

	tried tried
}

// estimates of strings by what holds them.
type estimates map[string]float64

// row compares estimates with what people hold.
func row(way string, got estimates, held map[string]int) Row {
	r := Row{Way: way, Found: len(got)}
	squares := 0.0
	for text, count := range got {
		if held[text] == 0 {
			r.False++
			continue
		}
		squares += (count - float64(held[text])) * (count - float64(held[text]))
	}
	r.Error = math.Sqrt(squares / math.Max(1, float64(r.Found-r.False)))
	for text, n := range held {
		if n < len(r.tried) {
			r.tried[n].all++
			if _, ok := got[text]; ok {
				r.tried[n].found++
			}
		}
	}
	r.From = r.tried.from()
	return r
}

// tried counts strings by how many hold each, and those of them that were found. What more people hold is found.
type tried [1251]struct{ all, found int }

// from returns the least number of holders from which nine of ten are found, among strings of at most a quarter more.
func (t *tried) from() int {
	for holders := len(t) * 4 / 5; holders > 1; holders-- { // from above: the first number of which fewer are found
		all, found := 0, 0
		for _, of := range t[holders : holders*5/4+1] {
			all += of.all
			found += of.found
		}
		if all >= 3 && 10*found < 9*all {
			return holders + 1
		}
	}
	return 1
}

// Measure makes the rows of a cell.
func Measure(c Cell, data string, progress simulate.Progress) ([]Row, error) {
	p, err := population(c.Strings, data)
	if err != nil {
		return nil, err
	}
	people := p.draw(c.People, c.Seed)
	if c.Liars > 0 {
		return c.lies(p, people)
	}
	held := map[string]int{}
	for _, text := range people {
		held[text]++
	}
	var rows []Row
	noises := []string{"", plan.NoiseAggregators}
	if c.Alone {
		noises = []string{c.Noise}
	}
	for _, noise := range noises {
		way := "ours, two aggregators"
		if noise == "" {
			way = "ours, bits"
		}
		of, err := c.ask(p, noise).Run(c.Strings, people, progress)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way, err)
		}
		r := ours(way, of.Model.(*stringsof.Model), held)
		r.Bytes = of.Result.BytesPerDevice
		rows = append(rows, r)
	}
	if c.Alone {
		return rows, nil
	}
	return append(rows, rivals(c, p, held)...), nil
}

// Summary says what rows of one way say together, one a seed.
func Summary(rows []Row) string {
	found, errors := make([]float64, len(rows)), make([]float64, len(rows))
	all, wrong, within, held, atMost := 0, 0, 0, 0, 0.0
	var together tried
	for i, r := range rows {
		found[i], errors[i] = float64(r.Found), r.Error
		all += r.Found
		wrong += r.False
		within += r.Within
		atMost += r.AtMost
		if r.Missed == 0 {
			held++
		}
		for n, of := range r.tried {
			together[n].all += of.all
			together[n].found += of.found
		}
	}
	return fmt.Sprintf("%d runs: found %s, from %d on nine of ten; error of a count %s; false %d of %d, and %.1f expected at most; intervals hold for %.1f %% of true ones, all at once in %d of %d runs",
		len(rows), spread(found), together.from(), spread(errors), wrong, all, atMost, 100*float64(within)/math.Max(1, float64(all-wrong)), held, len(rows))
}

// spread says the mean of numbers, and how far they lie from it.
func spread(x []float64) string {
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return fmt.Sprintf("%.1f (deviation %.1f)", mean, math.Sqrt(squares/math.Max(1, float64(len(x)-1))))
}

// ours compares what a release says with what people hold.
func ours(way string, m *stringsof.Model, held map[string]int) Row {
	const level = 0.95
	got := estimates{}
	for _, f := range m.Found {
		got[f.Text] = f.Count.Mean
	}
	r := row(way, got, held)
	r.AtMost = m.FalseAtMost
	for i, f := range m.Found {
		n := float64(held[f.Text])
		if n == 0 {
			continue
		}
		if low, high := m.Interval(i, level); low <= n && n <= high {
			r.Within++
		}
		if low, high := m.IntervalAtOnce(i, level); n < low || high < n {
			r.Missed++
		}
	}
	return r
}

// ask returns the collection.
func (c Cell) ask(p listed, noise string) collection.Strings {
	return collection.Strings{
		Title: "Which strings do many hold?", Asked: plan.Strings{Alphabet: p.alphabet, Longest: p.longest},
		Budget: plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: "replacement"}, Noise: noise, Seed: c.Seed,
	}
}

// draw returns what so many people hold, by the population's weights.
func (p listed) draw(people int, seed uint64) []string {
	const forPeople = 0x9e0
	r := seeded.New(seed, forPeople)
	ends, total := make([]float64, len(p.weights)), 0.0
	for i, w := range p.weights {
		total += w
		ends[i] = total
	}
	all := make([]string, people)
	for i := range all {
		at, _ := slices.BinarySearch(ends, total*r.Float64())
		all[i] = p.texts[min(at, len(p.texts)-1)]
	}
	return all
}

// People lists what so many people of a population hold, one a respondent.
func People(c Cell, data string) ([]string, error) {
	p, err := population(c.Strings, data)
	if err != nil {
		return nil, err
	}
	return p.draw(c.People, c.Seed), nil
}
