package studio

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/costtest"
	"github.com/confetti-dp/confetti/plan/author"
	"github.com/confetti-dp/confetti/protocol"
)

// survey is a table of 500 people: a way to work, an age, and things that they own.
func survey() []byte {
	var b strings.Builder
	b.WriteString("way,age,owns,name\n")
	ways := []string{"bicycle", "bicycle", "train", "bicycle", "", "car", "train", "bicycle"}
	owns := []string{"phone", "phone; radio", "", "phone;boat", "radio"}
	for i := range 500 {
		fmt.Fprintf(&b, "%s,%d,%s,person %d\n", ways[i%len(ways)], 18+i%60, owns[i%len(owns)], i)
	}
	return []byte(b.String())
}

func read(t testing.TB, text []byte) *Sheet {
	t.Helper()
	s, err := Read(text, false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestColumnsAreGuessed(t *testing.T) {
	s := read(t, survey())
	for i, want := range []Column{
		{Name: "way", Empty: 62, Distinct: 3, Kind: "categories", Most: 1},
		{Name: "age", Distinct: 60, Kind: "buckets", Numbers: true, Low: 10, High: 80, Cells: 7, Most: 1},
		{Name: "owns", Empty: 100, Distinct: 3, Kind: "set", Most: 2},
	} {
		if got := s.Columns[i]; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if s.Columns[3].Doubt == "" {
		t.Error("a column of names of people is not doubted")
	}
	lines := read(t, []byte("tea\r\ncoffee, black\n\ntea\n\n"))
	if got := lines.Columns[0]; len(lines.Columns) != 1 || lines.Rows != 4 || got.Distinct != 2 || got.Empty != 1 {
		t.Errorf("lines are %+v", lines)
	}
	for _, x := range []struct{ low, high, from, to float64 }{{0, 1, 0, 1}, {18, 77, 10, 80}, {-3.2, 4.9, -4, 5}, {5, 5, 5, 6}, {1e9, 3e9, 1e9, 3e9}} {
		if from, to, cells := around(x.low, x.high); from != x.from || to != x.to || cells < 1 {
			t.Errorf("round ends of %v and %v are %v and %v with %d steps", x.low, x.high, from, to, cells)
		}
	}
}

// asked is a choice for a column of the survey.
func asked(column int, kind string) Choice {
	return Choice{Title: "Test", Column: column, Kind: kind, Named: 20, Low: 10, High: 80, Cells: 7, Most: 2, Missing: "skip", Epsilon: 1, People: 5000, Seed: 1}
}

// What is drawn has the shares of the rows, within its own intervals, and the plan that comes
// with it keeps its promise once its parties have keys.
func TestADrawIsOfTheRows(t *testing.T) {
	s := read(t, survey())
	for name, c := range map[string]struct {
		Choice
		values int
		truth  map[string]float64
	}{
		"names":         {asked(0, "categories"), 3, map[string]float64{"bicycle": 251.0 / 438}},
		"numbers":       {asked(1, "buckets"), 7, nil},
		"sets":          {asked(2, "set"), 3, map[string]float64{"phone": 0.6, "boat": 0.2}},
		"a few names":   {with(asked(3, "categories"), func(c *Choice) { c.Named = 2 }), 3, nil},
		"empty is said": {with(asked(0, "categories"), func(c *Choice) { c.Missing = "value=nothing" }), 4, map[string]float64{"nothing": 62.0 / 500}},
	} {
		start := time.Now()
		d, err := s.Draw(c.Choice)
		if err != nil {
			t.Fatal(name, err)
		}
		t.Logf("%s: %v; %s; %s", name, time.Since(start), d.Answer, d.Chosen)
		if len(d.Values) != c.values {
			t.Errorf("%s: %d values: %+v", name, len(d.Values), d.Values)
		}
		for _, v := range d.Values {
			if want, known := c.truth[v.Name]; known && math.Abs(v.Truth-want) > 1e-9 {
				t.Errorf("%s: %q is held by %v of the rows, want %v", name, v.Name, v.Truth, want)
			}
			if !(v.Low <= v.Truth+2e-4 && v.Truth-2e-4 <= v.High) {
				t.Errorf("%s: %+v", name, v)
			}
		}
		p, err := author.Parse([]byte(d.Plan))
		if err != nil {
			t.Fatal(name, err)
		}
		if p, err = keyed(p); err == nil {
			err = protocol.Check(p)
		}
		if err != nil || p.Budget.Epsilon != 1 || p.Crowd.Minimum != 5000 || p.Title != "Test" {
			t.Errorf("%s: %v\n%s", name, err, d.Plan)
		}
		if strings.Contains(d.Plan, "person 400") || strings.Contains(d.Plan, "x25519:") {
			t.Errorf("%s: the plan holds more than it asks:\n%s", name, d.Plan)
		}
		if len(d.Cards) < 3 || len(d.Cost) < 3 {
			t.Errorf("%s: %+v %+v", name, d.Cards, d.Cost)
		}
	}
}

func with(c Choice, change func(*Choice)) Choice { change(&c); return c }

// More privacy, and fewer people, mean longer intervals: what the sliders show.
func TestIntervalsFollowTheSliders(t *testing.T) {
	s := read(t, survey())
	longest := func(change func(*Choice)) float64 {
		d, err := s.Draw(with(asked(0, "categories"), change))
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for _, v := range d.Values {
			worst = max(worst, v.half())
		}
		return worst
	}
	middle := longest(func(*Choice) {})
	if less := longest(func(c *Choice) { c.Epsilon = 4 }); less >= middle {
		t.Errorf("at epsilon 4 %v, at 1 %v", less, middle)
	}
	if same := longest(func(c *Choice) { c.Answer = "krr" }); same != middle {
		t.Errorf("the answer that was chosen, given again, has %v, and %v", same, middle)
	}
	if more := longest(func(c *Choice) { c.People = 500 }); more <= middle {
		t.Errorf("of 500 people %v, of 5000 %v", more, middle)
	}
}

// Errors name what is wrong and never a value.
func TestWhatCannotBeAsked(t *testing.T) {
	s := read(t, survey())
	for want, change := range map[string]func(*Choice){
		"no such column":    func(c *Choice) { c.Column = 9 },
		"epsilon is 0":      func(c *Choice) { c.Epsilon = 0 },
		"62 of 500 rows":    func(c *Choice) { c.Missing = "refuse" },
		"people are 1":      func(c *Choice) { c.People = 1 },
		"0 values":          func(c *Choice) { c.Named = 0 },
		"not a finite":      func(c *Choice) { c.Column, c.Kind = 3, "buckets" },
		"lowest number":     func(c *Choice) { c.Column, c.Kind, c.High = 1, "buckets", 10 },
		"not as":            func(c *Choice) { c.Kind = "grid" },
		"of sets at most":   func(c *Choice) { c.Column, c.Kind, c.People = 2, "set", 1_000_000 },
		"a device tells 0":  func(c *Choice) { c.Column, c.Kind, c.Most = 2, "set", 0 },
		"devices answer":    func(c *Choice) { c.Answer = "none" },
		"an empty cell is ": func(c *Choice) { c.Missing = "guess" },
	} {
		_, err := s.Draw(with(asked(0, "categories"), change))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "person") {
			t.Errorf("%q: %v", want, err)
		}
	}
	for want, text := range map[string]string{"there are no values": "\n\n", "line 3": "a,b\n1,2\n3\n", "line 2": "a\nb\x07\n"} {
		if _, err := Read([]byte(text), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if s, err := Read([]byte("one\none\n"), false); err != nil {
		t.Fatal(err)
	} else if _, err := s.Draw(asked(0, "categories")); err == nil || !strings.Contains(err.Error(), "one value") {
		t.Errorf("one value: %v", err)
	}
}

// Whatever is dropped is read or refused, and takes memory in proportion.
func FuzzRead(f *testing.F) {
	f.Add(survey(), true)
	f.Add([]byte("tea\ncoffee\n"), false)
	f.Add([]byte("a;b\n1;2\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, table bool) {
		costtest.Heap(t, 200, len(text), func() {
			s, err := Read(text, table)
			if err != nil {
				return
			}
			for i, c := range s.Columns {
				if len(s.cells[i]) != s.Rows || c.Numbers && !(c.Low <= c.High) {
					t.Fatalf("%+v", c)
				}
			}
		})
	})
}
