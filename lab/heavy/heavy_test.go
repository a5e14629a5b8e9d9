package heavy

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	question "github.com/confetti-dp/confetti/question/strings"
)

// Populations that need no file are the same each time, of different strings that fit, the most frequent first.
func TestPopulationsFit(t *testing.T) {
	for _, name := range []string{"versions", "names", "models"} {
		p, err := population(name, "")
		again, _ := population(name, "")
		if err != nil || len(p.texts) < 20_000 || len(p.texts) != len(p.weights) {
			t.Fatal(name, err)
		}
		seen := map[string]bool{}
		for i, text := range p.texts {
			if seen[text] || text != again.texts[i] || len(text) > p.longest || !utf8.ValidString(text) || p.alphabet != "" && strings.Trim(text, p.alphabet) != "" {
				t.Fatalf("%s: %q", name, text)
			}
			if seen[text] = true; i > 0 && p.weights[i] > p.weights[i-1] {
				t.Fatalf("%s: %q is more frequent than the one before", name, text)
			}
		}
	}
	for _, name := range []string{"words", "nobody"} {
		if _, err := population(name, ""); err == nil {
			t.Errorf("%s: no file and no error", name)
		}
	}
}

// What is compared is found, false, the error and the first number of holders from which nine of ten are found.
func TestRowsCompare(t *testing.T) {
	held := map[string]int{"a": 100, "b": 90, "c": 80, "d": 10, "e": 9, "f": 8}
	r := row("a way", estimates{"a": 103, "b": 86, "c": 80, "z": 40}, held)
	if r.Found != 4 || r.False != 1 || math.Abs(r.Error-math.Sqrt(25.0/3)) > 1e-12 || r.From != 9 {
		t.Errorf("%+v", r)
	}
}

// Several seeds are summed up together: from how many holders on nine of ten are found is asked of the strings of all.
func TestSummary(t *testing.T) {
	held := map[string]int{"a": 100, "b": 99, "c": 98, "d": 50, "e": 49, "f": 48}
	one := row("a way", estimates{"a": 103, "b": 99, "c": 98, "d": 50, "e": 49}, held)
	two := row("a way", estimates{"a": 100, "b": 99, "c": 98, "d": 50, "e": 49, "f": 48, "z": 8}, held)
	one.Within, one.Missed, two.Within, two.AtMost = 4, 1, 6, 0.25
	want := "2 runs: found 6.0 (deviation 1.4), from 49 on nine of ten; error of a count 0.7 (deviation 0.9); false 1 of 12, and 0.2 expected at most; intervals hold for 90.9 % of true ones, all at once in 1 of 2 runs"
	if got := Summary([]Row{one, two}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if two.From != 1 {
		t.Errorf("all are found, from %d on", two.From)
	}
}

// The curator's threshold is the least at which a string of one holder shows with half of delta at most: by the law's tail,
// added up.
func TestTheStabilityHistogramIsTight(t *testing.T) {
	c := Cell{Epsilon: 1, Delta: 1e-6}
	q := math.Exp(-c.Epsilon / 2)
	beyond := func(k int) (sum float64) {
		for z := k; z < k+400; z++ {
			sum += (1 - q) / (1 + q) * math.Pow(q, float64(z))
		}
		return sum
	}
	above := 1
	for beyond(above-1) > c.Delta/2 {
		above++
	}
	shown := 0
	for seed := range uint64(400) {
		got := stable(c, map[string]int{"few": above - 4, "many": above + 40}, seeded.New(seed))
		if _, ok := got["many"]; !ok {
			t.Fatal("a string that many hold is not shown")
		}
		if n, ok := got["few"]; ok {
			if shown++; n < float64(above) {
				t.Fatalf("%v is shown, below %d", n, above)
			}
		}
	}
	if want := 400 * beyond(4); math.Abs(float64(shown)-want) > 5*math.Sqrt(want)+1 {
		t.Errorf("a string 4 below is shown in %d of 400, want some %.0f", shown, want)
	}
}

// Liars spend all ones that a proof allows on positions: each says as many, none twice, and all strings together gain more
// than one of each. One string alone gains one.
func TestLiarsSpendAllOnes(t *testing.T) {
	const liars, people = 1000, 3000
	c := Cell{Strings: "versions", People: people, Epsilon: 4, Delta: 1e-6, Seed: 1, Noise: plan.NoiseAggregators}
	p, err := population(c.Strings, "")
	if err != nil {
		t.Fatal(err)
	}
	proto, err := c.protocol(p)
	if err != nil {
		t.Fatal(err)
	}
	q := proto.Question.(*question.Question)
	ones, positions := float64(q.Code().Ones()), float64(q.Code().Positions())
	for names, want := range map[int]float64{1: positions, 4: ones} {
		l := lie{names: p.texts[:names]}
		one, all := proto.NewTally().(*tally.Sums), proto.NewTally().(*tally.Sums)
		if err := errors.Join(l.prove(q, one, 1), l.prove(q, all, liars)); err != nil {
			t.Fatal(err)
		}
		said, total := 0.0, 0.0
		for i, n := range one.N {
			if said += float64(n); n > 1 {
				t.Fatal("a number is no bit")
			}
			total += float64(all.N[i])
		}
		if said != want || total != liars*want {
			t.Errorf("%d strings: one liar says %v ones, and all %v; want %v", names, said, total, want)
		}
		got, err := found(proto, all, people)
		if err != nil {
			t.Fatal(err)
		}
		gained := 0.0
		for _, n := range got {
			gained += n / liars
		}
		if by := want / positions; math.Abs(gained-by) > 0.05 {
			t.Errorf("%d strings: one liar counts for %v in all, want %v", names, gained, by)
		}
	}
}

// Devices that lie count for one where they prove what they send, and for several with bits; nobody invents more strings
// by sums than liars are worth.
func TestLiarsCount(t *testing.T) {
	if testing.Short() {
		t.Skip("reads many sums")
	}
	c := Cell{Strings: "versions", People: 2000, Epsilon: 4, Delta: 1e-6, Seed: 1, Liars: 0.05}
	p, err := population(c.Strings, "")
	if err != nil {
		t.Fatal(err)
	}
	for noise, of := range map[string][2]float64{plan.NoiseAggregators: {0.8, 1.2}, "": {2, 9}} {
		c.Noise = noise
		l, err := c.lying(p, p.draw(c.People, c.Seed))
		if err != nil {
			t.Fatal(err)
		}
		most := 0.0
		for i, s := range l.strategies(p) {
			if noise == "" && (len(s.names) > 1 || s.hides) {
				continue // with bits nothing is promised of what liars invent
			}
			r, err := l.read(s, uint64(i))
			if err != nil {
				t.Fatal(err)
			}
			if most = max(most, r.Lift); noise != "" && r.False > l.liars/5 {
				t.Errorf("%s: %d are false", r.Way, r.False)
			}
		}
		if most < of[0] || most > of[1] {
			t.Errorf("noise of %q: one counts for %v, want %v to %v", noise, most, of[0], of[1])
		}
	}
}
