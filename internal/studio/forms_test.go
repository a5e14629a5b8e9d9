package studio

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/protocol"
)

// of is a choice of a kind with fields of its own.
func of(t testing.TB, kind string, fields any) Choice {
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return Choice{Title: "Test", Kind: kind, Fields: text, Missing: "skip", Epsilon: 1, People: 20_000, Seed: 1}
}

// kept fails unless the plan that comes with a drawing is the question's, and runs once its parties have keys.
func kept(t testing.TB, name string, c Choice, d Drawn) {
	t.Helper()
	p, err := author.Parse([]byte(d.Plan))
	if err == nil {
		p, err = keyed(p)
	}
	if err == nil {
		err = protocol.Check(p)
	}
	if err != nil || p.Question.Kind != c.Kind || p.Crowd.Minimum != c.People || p.Budget.Epsilon != 1 || len(d.Cards) < 2 || len(d.Cost) < 3 || len(d.Lacks) == 0 || len(d.Says) == 0 {
		t.Errorf("%s: %v, %d cards, %d costs, %d said\n%s", name, err, len(d.Cards), len(d.Cost), len(d.Says), d.Plan)
	}
}

// words is a column of strings, of which each is as frequent as its place says, and some rows are empty.
func words() *Sheet {
	var b strings.Builder
	b.WriteString("word,other\n")
	all := []string{"coffee", "tea", "water", "mate", "juice"}
	for i := range 1500 {
		word := all[min(len(all)-1, i%8/2)]
		if i%100 == 99 {
			word = ""
		}
		fmt.Fprintf(&b, "%s,%d\n", word, i)
	}
	s, err := Read([]byte(b.String()), true)
	if err != nil {
		panic(err)
	}
	return s
}

// Strings that many rows hold are found, mixed and summed, with intervals round the truth, of characters that are given
// or follow from the rows. What is said beforehand has what one who lies counts for.
func TestStringsAreFoundInAColumn(t *testing.T) {
	s, few := words(), func(alphabet string, longest int, route string) Choice {
		c := of(t, "strings", map[string]any{"column": 0, "alphabet": alphabet, "longest": longest})
		c.People, c.Route = 6000, route
		return c
	}
	s.seed = strings.Repeat("5a", 32) // a list has a false string with a probability of up to .05: here always the same
	for name, c := range map[string]Choice{
		"as the rows": few("", 0, ""), "as is said": few("a-z", 8, "mix"), "any text": few("", 8, "mix"), "summed": few("a-z", 8, "sum"),
	} {
		d, err := s.Draw(c)
		if err != nil {
			t.Fatal(name, err)
		}
		kept(t, name, c, d)
		if d.Rows != 1485 || d.Left != 15 || d.People != 6000 || len(d.Tables) != 1 || d.Tables[0].Unit == "" || len(d.Sheets) != 1 {
			t.Fatalf("%s: %+v", name, d)
		}
		found := map[string]Value{}
		for _, v := range d.Tables[0].Crowds[0].Values {
			found[v.Name] = v
			half := max(v.High-v.Estimate, v.Estimate-v.Low)
			if v.Truth < v.Estimate-2*half || v.Truth > v.Estimate+2*half { // of 1.96 deviations each
				t.Errorf("%s: %+v", name, v)
			}
		}
		if len(found) != 4 || math.Abs(found["coffee"].Truth-float64(c.People)/4) > 100 {
			t.Errorf("%s: found %v", name, found)
		}
		if !strings.Contains(strings.Join(d.Says, " "), "who lies") || strings.Contains(d.Plan, "coffee") {
			t.Errorf("%s: %q", name, d.Says)
		}
	}
}

// known is a table of people whom nobody asks: minutes, those of before, clicks, views, who paid and the arm of each.
func known() *Sheet {
	var b strings.Builder
	b.WriteString("minutes,before,clicks,views,paid,arm\n")
	r := seeded.New(7)
	for range 4000 {
		before := math.Exp(3 + r.NormFloat64()*0.8)
		views, paid := 5+r.IntN(40), 0
		if r.Float64() < 0.3 {
			paid = 1
		}
		arm := []string{"old", "new"}[r.IntN(2)]
		minutes := before * math.Exp(0.4*r.NormFloat64())
		if arm == "new" {
			minutes *= 1.3
		}
		fmt.Fprintf(&b, "%.2f,%.2f,%d,%d,%d,%s\n", minutes, before, r.IntN(1+2*views/5), views, paid, arm)
	}
	s, err := Read([]byte(b.String()), true)
	if err != nil {
		panic(err)
	}
	return s
}

// experimentOf has the fields of an experiment, but for those that are given.
func experimentOf(change map[string]any) map[string]any {
	fields := map[string]any{"metric": 0, "before": -1, "per": -1, "others": []int{}, "arm": -1, "arms": "old, new", "shares": "", "lift": 20.0, "power": 0.8, "looks": 1}
	for name, x := range change {
		fields[name] = x
	}
	return fields
}

// An experiment says how many people its lift takes, and draws what a release would decide: with what was known before, of a
// ratio, of zeros and ones, of several metrics, arms and looks, mixed and summed. Of rows with an arm the truth is theirs.
func TestAnExperimentIsAskedOfColumns(t *testing.T) {
	s := known()
	for name, one := range map[string]struct {
		fields map[string]any
		route  string
		truth  float64 // lift of the metric, in percent
		rows   int     // of the chart
	}{
		"minutes":       {experimentOf(nil), "sum", 20, 3},
		"before":        {experimentOf(map[string]any{"before": 1}), "sum", 20, 3},
		"mixed":         {experimentOf(map[string]any{"before": 1}), "mix", 20, 3},
		"a ratio":       {experimentOf(map[string]any{"metric": 2, "per": 3}), "sum", 20, 3},
		"zeros, ones":   {experimentOf(map[string]any{"metric": 4}), "sum", 20, 3},
		"three arms":    {experimentOf(map[string]any{"arms": "old,new,newest", "shares": "0.5,0.25,0.25"}), "sum", 20, 2},
		"others":        {experimentOf(map[string]any{"others": []int{4, 3}}), "sum", 20, 3},
		"looks":         {experimentOf(map[string]any{"looks": 3}), "sum", 20, 3},
		"with its arms": {experimentOf(map[string]any{"arm": 5}), "sum", 30, 3},
	} {
		c := of(t, "experiment", one.fields)
		c.Route = one.route
		d, err := s.Draw(c)
		if err != nil {
			t.Fatal(name, err)
		}
		kept(t, name, c, d)
		t.Logf("%s: %q, needed %d", name, d.Answer, d.Needed)
		if len(d.Tables) != 1 || !d.Tables[0].Signed || len(d.Tables[0].Crowds[0].Values) != one.rows || d.Needed < 1 || len(d.Sheets) < 2 {
			t.Fatalf("%s: %+v", name, d)
		}
		for _, v := range d.Tables[0].Crowds[0].Values {
			if off := math.Abs(v.Truth - one.truth); name == "with its arms" && off > 12 || name != "with its arms" && off > 1e-9 {
				t.Errorf("%s: %+v", name, v)
			}
			if v.Truth < v.Low-6 || v.Truth > v.High+6 {
				t.Errorf("%s: far from the truth: %+v", name, v)
			}
		}
		if says := strings.Join(d.Answer, " "); !strings.Contains(says, "up by") && !strings.Contains(says, "Not yet") {
			t.Errorf("%s: a lift of a fifth among 20,000 is not seen: %q", name, says)
		}
	}
}

// Tables of every two columns are told of columns of names and of numbers, mixed and summed: the pair that goes together is
// named, with the table of the rows. Of columns none are chosen, all are that can be asked.
func TestTablesAreAskedOfColumns(t *testing.T) {
	var b strings.Builder
	b.WriteString("drink,class,spend,note\n")
	for i := range 1200 {
		fmt.Fprintf(&b, "%s,%s,%d,\n", []string{"tea", "coffee", "mate", "milk"}[i%4], []string{"student", "staff"}[i%2], i%37)
	}
	s, err := Read([]byte(b.String()), true)
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct {
		columns []int
		listed  int
		route   string
	}{"mixed": {[]int{0, 1, 2}, 8, "mix"}, "summed": {[]int{0, 1, 2}, 8, "sum"}, "few listed": {[]int{0, 1, 2}, 2, "sum"}, "all": {[]int{}, 8, "sum"}} {
		c := of(t, "table", map[string]any{"columns": one.columns, "listed": one.listed, "ranges": 4})
		c.Route = one.route
		d, err := s.Draw(c)
		if err != nil {
			t.Fatal(name, err)
		}
		kept(t, name, c, d)
		says := strings.Join(append(d.Answer, d.Says...), " ")
		if !strings.Contains(says, "“drink by class” does the most") || !strings.Contains(says, "who lies") || len(d.Sheets) != 7 || len(d.Sheets[0].Shades) != 3 {
			t.Fatalf("%s: %q, %d tables", name, says, len(d.Sheets))
		}
		for _, row := range d.Sheets[1].Rows { // drink by class: each drink is of one class, and a quarter hold it
			var held [2]int
			for i := range held {
				if held[i], err = strconv.Atoi(strings.ReplaceAll(row[1+i], ",", "")); err != nil {
					t.Fatal(name, err)
				}
			}
			if few, many := min(held[0], held[1]), max(held[0], held[1]); row[0] == "tea" && (few > 300 || many < 4600 || many > 5400) {
				t.Errorf("%s: %v", name, row)
			}
		}
		if others := strings.Contains(d.Plan, "others = true"); others != (name == "few listed") || !strings.Contains(d.Plan, "cuts = [") {
			t.Errorf("%s: the plan lists\n%s", name, d.Plan)
		}
	}
}

// Errors of fields name what is wrong, and no value.
func TestFieldsThatCannotBeAsked(t *testing.T) {
	s := known()
	for want, c := range map[string]Choice{
		"no question of kind":     of(t, "riddle", nil),
		"unknown field":           of(t, "strings", map[string]any{"colum": 0}),
		"no such column":          of(t, "strings", map[string]any{"column": 9}),
		"characters are":          of(t, "strings", map[string]any{"column": 5, "alphabet": "z-a", "longest": 4}),
		"tables are of two":       of(t, "table", map[string]any{"columns": []int{0}, "listed": 8, "ranges": 4}),
		"1 ranges":                of(t, "table", map[string]any{"columns": []int{0, 5}, "listed": 8, "ranges": 1}),
		"two names or more":       of(t, "experiment", experimentOf(map[string]any{"arms": "old"})),
		"none of the arms":        of(t, "experiment", experimentOf(map[string]any{"arm": 5, "arms": "control,new"})),
		"nobody in one":           of(t, "experiment", experimentOf(map[string]any{"arm": 5, "arms": "old,new,newest"})),
		"no number":               of(t, "experiment", experimentOf(map[string]any{"metric": 5})),
		"there is no such column": of(t, "experiment", experimentOf(map[string]any{"metric": -1})),
		"0 looks":                 of(t, "experiment", experimentOf(map[string]any{"looks": 0})),
		"shares of the arms":      of(t, "experiment", experimentOf(map[string]any{"shares": "half"})),
		"3 shares of 2 arms":      of(t, "experiment", experimentOf(map[string]any{"shares": "1,1,1"})),
		"a power from":            of(t, "experiment", experimentOf(map[string]any{"power": 2})),
		"choose fewer people":     func() Choice { c := of(t, "experiment", experimentOf(nil)); c.People = 1_000_000; return c }(),
	} {
		if _, err := s.Draw(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
