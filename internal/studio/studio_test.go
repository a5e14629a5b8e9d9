package studio

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/protocol"
)

// survey is a table of 500 people: a way to work, an age, and things that they own.
func survey() []byte {
	var b strings.Builder
	b.WriteString("way,age,owns,name,town\n")
	ways := []string{"bicycle", "bicycle", "train", "bicycle", "", "car", "train", "bicycle"}
	owns := []string{"phone", "phone; radio", "", "phone;boat", "radio"}
	for i := range 500 {
		fmt.Fprintf(&b, "%s,%d,%s,person %d,%s\n", ways[i%len(ways)], 18+i%60, owns[i%len(owns)], i, []string{"south", "north", "north"}[i%3])
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
	return Choice{Title: "Test", Asked: []Asked{one(column, kind)}, Missing: "skip", Epsilon: 1, People: 5000, Seed: 1}
}

func one(column int, kind string) Asked {
	return Asked{Column: column, Kind: kind, Named: 20, Low: 10, High: 80, Cells: 7, Most: 2}
}

func with(c Choice, change func(*Choice)) Choice {
	c.Asked = slices.Clone(c.Asked)
	change(&c)
	return c
}

// What is drawn has the shares of the rows, within its own intervals, and the plan that comes
// with it keeps its promise once its parties have keys.
func TestADrawIsOfTheRows(t *testing.T) {
	s := read(t, survey())
	town := 4
	bicycles := map[string]float64{"bicycle": 251.0 / 438}
	for name, c := range map[string]struct {
		Choice
		values int // of the first thing that is asked
		truth  map[string]float64
	}{
		"names":         {asked(0, "categories"), 3, bicycles},
		"numbers":       {asked(1, "buckets"), 7, nil},
		"sets":          {asked(2, "set"), 3, map[string]float64{"phone": 0.6, "boat": 0.2}},
		"a few names":   {with(asked(3, "categories"), func(c *Choice) { c.Asked[0].Named = 2 }), 3, nil},
		"empty is said": {with(asked(0, "categories"), func(c *Choice) { c.Missing = "value=nothing" }), 4, map[string]float64{"nothing": 62.0 / 500}},
		"two columns":   {with(asked(0, "categories"), func(c *Choice) { c.Asked = append(c.Asked, one(1, "buckets")) }), 3, bicycles},
		"split":         {with(asked(0, "categories"), func(c *Choice) { c.Asked, c.Collect = append(c.Asked, one(2, "set")), "split" }), 3, bicycles},
		"crowds":        {with(asked(0, "categories"), func(c *Choice) { c.Crowd = &town }), 3, map[string]float64{"bicycle": 84.0 / 146}},
		"a sum":         {with(asked(0, "categories"), func(c *Choice) { c.Route = "sum" }), 3, bicycles},
		"a shared sum":  {with(asked(2, "set"), func(c *Choice) { c.Route, c.Noise = "sum", "shared" }), 3, nil},
		"of devices":    {with(asked(0, "categories"), func(c *Choice) { c.Route, c.Noise = "sum", "devices" }), 3, bicycles},
		"all at once": {with(asked(0, "categories"), func(c *Choice) {
			c.Crowd, c.Route, c.Asked, c.Suite = &town, "sum", append(c.Asked, one(1, "buckets")), "x-wing"
		}), 3, nil},
		"of a million": {with(asked(2, "set"), func(c *Choice) { c.People = 1_000_000 }), 3, map[string]float64{"phone": 0.6}},
	} {
		start := time.Now()
		d, err := s.Draw(c.Choice)
		if err != nil {
			t.Fatal(name, err)
		}
		t.Logf("%s: %v; %s; %s %s", name, time.Since(start), strings.Join(d.Answer, " "), d.Chosen, d.Collect)
		if len(d.Tables) != len(c.Asked) || len(d.Tables[0].Crowds[0].Values) != c.values {
			t.Errorf("%s: %+v", name, d.Tables)
		}
		for _, table := range d.Tables {
			if n := len(table.Crowds); n != 1 && c.Crowd == nil || c.Crowd != nil && (n != 2 || len(table.Differences) != len(table.Crowds[0].Values)) {
				t.Errorf("%s: %d crowds and %d differences", name, n, len(table.Differences))
			}
			for _, crowd := range table.Crowds {
				for _, v := range crowd.Values {
					if want, known := c.truth[v.Name]; known && c.Crowd == nil && math.Abs(v.Truth-want) > 1e-9 {
						t.Errorf("%s: %q is held by %v of the rows, want %v", name, v.Name, v.Truth, want)
					}
					if !(v.Low <= v.Truth+2e-4 && v.Truth-2e-4 <= v.High) {
						t.Errorf("%s, %s: %+v", name, crowd.Name, v)
					}
				}
			}
			for i, diff := range table.Differences {
				if truth := table.Crowds[0].Values[i].Truth - table.Crowds[1].Values[i].Truth; !(diff.Low <= truth+4e-4 && truth-4e-4 <= diff.High) {
					t.Errorf("%s: the difference is %v, and %+v is drawn", name, truth, diff)
				}
			}
		}
		p, err := author.Parse([]byte(d.Plan))
		if err != nil {
			t.Fatal(name, err)
		}
		if p, err = keyed(p); err == nil {
			err = protocol.Check(p)
		}
		if err != nil || p.Budget.Epsilon != 1 || p.Crowd.Minimum != c.People || p.Title != "Test" || p.Budget.Adjacency != d.Adjacency {
			t.Errorf("%s: %v\n%s", name, err, d.Plan)
		}
		if strings.Contains(d.Plan, "person 400") || strings.Contains(d.Plan, "x25519:") {
			t.Errorf("%s: the plan holds more than it asks:\n%s", name, d.Plan)
		}
		if len(d.Cards) < 2 || len(d.Cost) < 3 || len(d.Lacks) == 0 {
			t.Errorf("%s: %+v %+v %+v", name, d.Cards, d.Cost, d.Lacks)
		}
		again := c.Choice
		again.Answer, again.Collect = d.Chosen, d.Collect
		if quick, err := s.Draw(again); err != nil || quick.Plan != d.Plan {
			t.Errorf("%s: with what was chosen given the plan is another one: %v\n%s\n%s", name, err, d.Plan, quick.Plan)
		}
	}
}

// People are those of the smallest crowd; the others are as much larger as their rows are more.
func TestTheSmallestCrowdHasThePeople(t *testing.T) {
	s, town := read(t, survey()), 4
	d, err := s.Draw(with(asked(1, "buckets"), func(c *Choice) { c.Crowd, c.People = &town, 1000 }))
	if err != nil {
		t.Fatal(err)
	}
	// 167 rows of 500 are of the south, 333 of the north.
	north, south := d.Tables[0].Crowds[0], d.Tables[0].Crowds[1]
	if !slices.Equal(d.Crowds, []string{"north", "south"}) || north.Name != "north" || south.People != 1000 || north.People != 333*1000/167 || d.People != north.People+1000 {
		t.Errorf("%v: %d in the north, %d in the south, of %d", d.Crowds, north.People, south.People, d.People)
	}
	if d, err = s.Draw(with(asked(1, "buckets"), func(c *Choice) { c.Crowd, c.People, c.Beside = &town, 1000, [2]string{"south", "north"} })); err != nil || d.Tables[0].Crowds[0].Name != "south" {
		t.Errorf("%v, %+v", err, d.Tables)
	}
}

// A plan is complete when each of its parties has its address and its keys, and says until then what it
// lacks, and the command that makes it.
func TestAPlanIsCompleteWithItsParties(t *testing.T) {
	s := read(t, survey())
	key := func() string {
		k, err := envelope.GenerateKey("x25519")
		if err != nil {
			t.Fatal(err)
		}
		return k.Public().String()
	}
	sign, errSign := relay.GenerateSignKey()
	releases, errReleases := relay.GenerateSignKey()
	if err := errors.Join(errSign, errReleases); err != nil {
		t.Fatal(err)
	}
	c := with(asked(0, "categories"), func(c *Choice) {
		c.Parties = Parties{
			Way: []Party{
				{"North", "https://north.example:8443/\npurpose  hop\npublic key  " + key() + "\n" + sign.Public().String()},
				{"South", `url = "https://south.example"` + "\nhttps://south.example " + key() + " receipts = '" + sign.Public().String() + "'"},
			},
			Analyzer: Party{"Institute", "https://institute.example " + key() + "\n" + releases.Public().String()}, Closes: "2030-01-31T00:00:00Z",
		}
	})
	d, err := s.Draw(c)
	if err != nil || len(d.Lacks) != 0 {
		t.Fatal(err, d.Lacks)
	}
	p, err := author.Parse([]byte(d.Plan))
	if err == nil {
		err = errors.Join(protocol.Validate(p), protocol.Check(p))
	}
	if err != nil || p.Times.Closes.Year() != 2030 || p.Route.Mix.Instances[0].Hops[0].URL != "https://north.example:8443" || p.Analyzer.Operator != "Institute" {
		t.Errorf("%v\n%s", err, d.Plan)
	}
	for name, change := range map[string]struct {
		of    func(*Choice)
		lacks []Lacks
	}{
		"an address": {func(c *Choice) { c.Parties.Way[1].Text = c.Parties.Way[0].Text[len("https://north.example:8443/"):] }, []Lacks{{"hop 2", "its address, such as https://confetti.example:8443", ""}}},
		"an end":     {func(c *Choice) { c.Parties.Closes = "" }, []Lacks{{"publisher", "when the collection closes", ""}}},
		"tokens":     {func(c *Choice) { c.Parties.Issuer = Party{"Registry", "https://tokens.example"} }, []Lacks{{"hop 1", "a public key of tokens, which the issuer makes for this plan alone", "confetti keys new keys/hop-1.json --for tokens"}, {"hop 2", "a public key of tokens, which the issuer makes for this plan alone", "confetti keys new keys/hop-2.json --for tokens"}}},
		"an issuer":  {func(c *Choice) { c.Parties.Way[0].Text += " rsa2048:AAAA" }, []Lacks{{"hop 2", "", ""}, {"issuer", "who it is: tokens are demanded", ""}}},
		"a good key": {func(c *Choice) {
			c.Parties.Analyzer.Text = releases.Public().String() + " https://institute.example x25519:" + strings.Repeat("A", 43)
		}, []Lacks{{"analyzer", "a public key that envelopes can be sealed with, which this is not", "confetti keys new keys/open.json"}}},
		"a key of releases": {func(c *Choice) { c.Parties.Analyzer.Text = "https://institute.example " + key() }, []Lacks{{"analyzer", "the public key that signs its releases", "confetti keys new keys/releases.json --for releases"}}},
		"another way":       {func(c *Choice) { c.Parties.Way[0], c.Route = Party{"North", "https://north.example"}, "sum" }, []Lacks{{"leader", "the public key that it opens with", "confetti keys new keys/open.json"}, {"leader", "the public key of its receipts", "confetti keys new keys/receipts.json --for receipts"}}},
	} {
		d, err := s.Draw(with(c, func(c *Choice) { c.Parties.Way = slices.Clone(c.Parties.Way); change.of(c) }))
		if name == "an issuer" {
			change.lacks = change.lacks[1:]
		}
		if err != nil || !slices.Equal(d.Lacks, change.lacks) {
			t.Errorf("without %s: %v, %+v", name, err, d.Lacks)
		}
	}
	for want, change := range map[string]func(*Choice){
		"private key file": func(c *Choice) {
			c.Parties.Analyzer.Text = `{"format": "confetti-private-key/v1", "private_key": "hush"}`
		},
		"two different keys": func(c *Choice) { c.Parties.Analyzer.Text += " " + key() },
		"no time":            func(c *Choice) { c.Parties.Closes = "tomorrow" },
		"3 parties mix":      func(c *Choice) { c.Route, c.Parties.Way = "sum", append(c.Parties.Way, Party{}) },
		"must be https://": func(c *Choice) {
			c.Parties.Analyzer.Text = strings.Replace(c.Parties.Analyzer.Text, "example", "example/path", 1)
		},
	} {
		_, err := s.Draw(with(c, func(c *Choice) { c.Parties.Way = slices.Clone(c.Parties.Way); change(c) }))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// More privacy, and fewer people, mean longer intervals: what the sliders show.
func TestIntervalsFollowTheSliders(t *testing.T) {
	s := read(t, survey())
	longest := func(change func(*Choice)) float64 {
		d, err := s.Draw(with(asked(0, "categories"), change))
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for _, v := range d.Tables[0].Crowds[0].Values {
			worst = max(worst, v.half())
		}
		return worst
	}
	middle := longest(func(*Choice) {})
	if less := longest(func(c *Choice) { c.Epsilon = 4 }); less >= middle {
		t.Errorf("at epsilon 4 %v, at 1 %v", less, middle)
	}
	if more := longest(func(c *Choice) { c.People = 500 }); more <= middle {
		t.Errorf("of 500 people %v, of 5000 %v", more, middle)
	}
}

// Errors name what is wrong and never a value.
func TestWhatCannotBeAsked(t *testing.T) {
	s := read(t, survey())
	name, none := 3, 9
	for want, change := range map[string]func(*Choice){
		"no such column":    func(c *Choice) { c.Asked[0].Column = 9 },
		"column of crowds":  func(c *Choice) { c.Crowd = &none },
		"names 438 crowds":  func(c *Choice) { c.Crowd = &name },
		"asked twice":       func(c *Choice) { c.Asked = append(c.Asked, c.Asked[0]) },
		"and the crowd":     func(c *Choice) { c.Crowd = &c.Asked[0].Column },
		"0 columns":         func(c *Choice) { c.Asked = nil },
		"epsilon is 0":      func(c *Choice) { c.Epsilon = 0 },
		"62 of 500 rows":    func(c *Choice) { c.Missing = "refuse" },
		"people are 1":      func(c *Choice) { c.People = 1 },
		"0 values":          func(c *Choice) { c.Asked[0].Named = 0 },
		"not a finite":      func(c *Choice) { c.Asked[0] = one(3, "buckets") },
		"lowest number":     func(c *Choice) { c.Asked[0] = one(1, "buckets"); c.Asked[0].High = 10 },
		"not as":            func(c *Choice) { c.Asked[0].Kind = "grid" },
		"a device tells 0":  func(c *Choice) { c.Asked[0] = one(2, "set"); c.Asked[0].Most = 0 },
		"devices answer is": func(c *Choice) { c.Answer = "none" },
		"route is":          func(c *Choice) { c.Route = "post" },
		"noise is of sums":  func(c *Choice) { c.Noise = "shared" },
		"collect is \"some": func(c *Choice) { c.Collect = "some" },
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
		costlimit.Heap(t, 200, len(text), func() {
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
