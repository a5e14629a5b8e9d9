package studio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/belief"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Drawn is what a collection of people who answer as the rows do would publish, drawn once from its
// exact law, and what it costs. Shares are of all people of a crowd.
type Drawn struct {
	People  int           `json:"people"` // in all
	Rows    int           `json:"rows"`
	Left    int           `json:"left"`             // rows that were left out for empty cells
	Crowds  []string      `json:"crowds"`           // that the plan names; none: there is one
	Tables  []Table       `json:"tables"`           // one for each thing that is asked
	Answer  []string      `json:"answer"`           // a sentence for each of them
	Sheets  []Shown       `json:"sheets,omitempty"` // tables of a release that is no count of values
	Says    []string      `json:"says,omitempty"`   // of the question, before anybody answers
	Needed  int           `json:"needed,omitempty"` // people, for what is aimed at; 0: nothing is
	Cards   []belief.Card `json:"cards"`
	Cost    []Line        `json:"cost"`
	Plan    string        `json:"plan"`    // TOML
	Lacks   []Lacks       `json:"lacks"`   // what it is not complete without
	Chosen  string        `json:"chosen"`  // see Choice.Answer
	Collect string        `json:"collect"` // see Choice.Collect
	// Adjacency is what the plan's epsilon is of.
	Adjacency string `json:"adjacency"`
}

// Table is one thing that is asked, of one crowd or two beside each other, of the same values.
type Table struct {
	Attribute   string       `json:"attribute"`
	Ordered     bool         `json:"ordered"`          // values are steps of a number, or stand in the order of a release
	Unit        string       `json:"unit,omitempty"`   // of numbers; none: they are shares of a crowd
	Signed      bool         `json:"signed,omitempty"` // they may be below zero
	Crowds      []Crowd      `json:"crowds"`
	Differences []Difference `json:"differences,omitempty"` // of the first crowd's shares less the second's, by value
}

// Crowd is one of a table.
type Crowd struct {
	Name   string  `json:"name"` // "" where there is one
	People int     `json:"people"`
	Values []Value `json:"values"`
}

// Value is one that the plan names.
type Value struct {
	Name     string  `json:"name"`
	Truth    float64 `json:"truth"`    // share of the rows that hold it
	Estimate float64 `json:"estimate"` // as it would be published
	Low      float64 `json:"low"`      // 95 % for all values of the table at once
	High     float64 `json:"high"`
}

// Difference is one of two shares, with its interval.
type Difference struct {
	By   float64 `json:"by"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Line is a number for people.
type Line struct {
	Title string `json:"title"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
}

// Draw designs the plan of a choice, and draws a collection.
func (s *Sheet) Draw(c Choice) (Drawn, error) {
	f, err := formOf(c)
	if err != nil {
		return Drawn{}, err
	}
	if err := c.check(); err != nil {
		return Drawn{}, err
	}
	p, err := f.draft(s, c)
	if err != nil {
		return Drawn{}, err
	}
	p, proto, err := designed(p)
	if err != nil {
		return Drawn{}, err
	}
	promise, err := proto.Promise()
	if err != nil {
		return Drawn{}, err
	}
	d := Drawn{Adjacency: p.Budget.Adjacency, Cards: belief.Cards(promise.Statements), Lacks: lacking(p)}
	if err := f.draw(&d, proto, c); err != nil {
		return Drawn{}, err
	}
	for _, m := range statement.Cost(proto) {
		d.Cost = append(d.Cost, Line{m.Title, m.String(), m.Note})
	}
	took, err := sealing(proto.Plan)
	if err != nil {
		return Drawn{}, err
	}
	d.Cost = append(d.Cost, Line{"Time to seal", took, "measured in this browser, on this machine"})
	if d.Plan = string(author.TOML(p)); len(d.Lacks) > 0 {
		d.Plan = head + d.Plan
	} else if err := protocol.Validate(p); err != nil {
		return Drawn{}, err
	}
	return d, nil
}

// head stands above a plan that is not complete.
const head = `# A plan that lacks keys or addresses of its parties, each of whom makes its own and sends the public half:
#   confetti keys new --help
# To try it with keys of one machine: confetti up trial --plan plan.toml --open
# To sign it, with keys and addresses in:
#   confetti plan sign plan.toml --key publisher.json --closes TIME --out plan.signed.json

`

// counted counts the values of columns.
type counted struct{ rows *rows }

func (f *counted) draft(s *Sheet, c Choice) (p plan.Plan, err error) {
	if err := c.checkAsked(s); err != nil {
		return p, err
	}
	if f.rows, err = s.rows(c); err != nil {
		return p, err
	}
	return c.draft(f.rows.asked, f.rows.crowds)
}

func (f *counted) draw(d *Drawn, proto *protocol.Protocol, c Choice) error {
	r := f.rows
	d.Rows, d.Left, d.Crowds, d.Collect = r.n, r.left, r.crowds, proto.Plan.Question.Histogram.Collect
	if !c.noised() {
		d.Chosen = proto.Plan.Question.Histogram.Randomizer.Name
	}
	stream := func(part ...uint64) *rand.Rand { return seeded.New(c.Seed, part...) }
	all, came, err := r.population(c.People)
	if err != nil {
		return err
	}
	d.People = all.Respondents()
	tallies, err := distribution.Draw(proto, all, stream, func(int) {})
	if _, err = question.Fits(err); err != nil { // who has no room in the plan says what the plan says
		return err
	}
	model, err := proto.Learn(tallies)
	if err != nil {
		return err
	}
	sheet, err := results.Beside(model, results.Public{})
	if err != nil {
		return err
	}
	cells := 0
	for _, a := range r.asked {
		cells += a.Domain() * len(r.sizes)
	}
	counts, err := sheets.ReadCounts(bytes.NewReader(sheet.Text), cells)
	if err != nil {
		return err
	}
	shown := r.beside(c.Beside)
	for i, a := range r.asked {
		t := Table{Attribute: a.Name, Ordered: a.Kind == "buckets"}
		for _, crowd := range shown {
			one := Crowd{People: came[crowd]}
			if len(r.crowds) > 0 {
				one.Name = r.crowds[crowd]
			}
			n, cell := float64(one.People), 0
			for _, v := range counts {
				if v.Attribute == a.Name && v.Crowd == one.Name {
					one.Values = append(one.Values, Value{v.Value, float64(r.truth[crowd][i][cell]) / float64(r.sizes[crowd]), v.Estimate / n, v.LowAll / n, v.HighAll / n})
					cell++
				}
			}
			if cell != a.Domain() {
				return fmt.Errorf("column %q: %d values of %d are published", a.Name, cell, a.Domain())
			}
			t.Crowds = append(t.Crowds, one)
		}
		t.compare()
		d.Tables, d.Answer = append(d.Tables, t), append(d.Answer, t.answer(len(r.asked) > 1))
	}
	return nil
}

// beside returns the crowds that are shown: the two that are asked for, or the two with the most rows.
func (r *rows) beside(asked [2]string) []int {
	if len(r.crowds) == 0 {
		return []int{0}
	}
	order := make([]int, len(r.crowds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return r.sizes[b] - r.sizes[a] })
	first, second := slices.Index(r.crowds, asked[0]), slices.Index(r.crowds, asked[1])
	if first < 0 || second < 0 || first == second {
		first, second = order[0], order[1]
	}
	return []int{first, second}
}

// compare sets the second crowd beside the first.
func (t *Table) compare() {
	if len(t.Crowds) < 2 {
		return
	}
	for i, a := range t.Crowds[0].Values {
		b := t.Crowds[1].Values[i]
		by, low, high := estimate.Minus(a.Estimate, a.Low, a.High, b.Estimate, b.Low, b.High)
		t.Differences = append(t.Differences, Difference{by, low, high})
	}
}

// answer says how well values are known, in a sentence.
func (t Table) answer(named bool) string {
	c, most, worst, apart := t.Crowds[0], 0, 0.0, 0.0
	for i, v := range c.Values {
		if v.Truth > c.Values[most].Truth {
			most = i
		}
		worst = max(worst, v.half())
	}
	for _, d := range t.Differences {
		apart = max(apart, d.High-d.By, d.By-d.Low)
	}
	first, whose, about := c.Values[most], "your rows", ""
	if c.Name != "" {
		whose, about = "its rows", fmt.Sprintf(" in “%s”", c.Name)
	}
	s := fmt.Sprintf("Of %s people%s, “%s”, which %s of %s hold, would be known to ±\u00a0%s, and every value at once to ±\u00a0%s or better.",
		numerals.FormatNumber(float64(c.People)), about, first.Name, percent(first.Truth), whose, points(first.half()), points(worst))
	if len(t.Crowds) > 1 {
		s += fmt.Sprintf(" What sets it apart from “%s” would be known to ±\u00a0%s or better.", t.Crowds[1].Name, points(apart))
	}
	if named {
		s = t.Attribute + ": " + strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// half returns that of the interval, to the farther end.
func (v Value) half() float64 { return max(v.Estimate-v.Low, v.High-v.Estimate) }

// points returns a difference of shares.
func points(share float64) string {
	return fmt.Sprintf("%s points", strings.TrimSuffix(percent(share), "\u00a0%"))
}

func percent(share float64) string {
	digits := 1
	switch {
	case share > 0 && share < 0.0001:
		return fmt.Sprintf("%.1g\u00a0%%", 100*share)
	case share < 0.01:
		digits = 2
	}
	return fmt.Sprintf("%.*f\u00a0%%", digits, 100*share)
}

// sealed is how many envelopes are sealed to see how long it takes.
const sealed = 8

// sealing measures what a device takes to seal its envelopes, or to split, prove and seal an answer
// that is summed.
func sealing(p plan.Plan) (string, error) {
	measure := envelopes
	if p.Route.Sum != nil {
		measure = shares
	}
	seconds, err := measure(p)
	switch {
	case err != nil:
		return "", err
	case seconds < 0.01:
		return "less than 0.01 s", nil
	case seconds >= 100:
		return fmt.Sprintf("%.0f s", seconds), nil
	}
	return fmt.Sprintf("%.2g s", seconds), nil
}

// shares returns what an answer takes, in seconds, which holds one thing: what it holds changes nothing.
func shares(p plan.Plan) (seconds float64, err error) {
	of, err := task.New(p, 0)
	if err != nil {
		return 0, err
	}
	vector := make([]uint64, p.Route.Sum.Circuit.Length)
	vector[0] = 1
	start := time.Now()
	_, err = of.Report(rng.New(), vector, start, nil)
	return time.Since(start).Seconds(), err
}

// envelopes returns what all of a device's take, in seconds, by some of them.
func envelopes(p plan.Plan) (seconds float64, err error) {
	var keys []envelope.PublicKey
	for _, party := range append(slices.Clone(p.Route.Instances()[0].Hops), p.Analyzer) {
		key, err := envelope.ParsePublicKey(party.Key)
		if err != nil {
			return 0, err
		}
		keys = append(keys, key)
	}
	sealer, err := envelope.NewSealer(envelope.Route(p.Hash(), 0, 0, keys...), p.Envelopes.PayloadBytes)
	if err != nil {
		return 0, err
	}
	payload := make([]byte, p.Envelopes.PayloadBytes)
	n := min(p.Envelopes.PerDevice, sealed)
	start := time.Now()
	for range n {
		if _, err := sealer.Seal(payload); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds() / float64(n) * float64(p.Envelopes.PerDevice), nil
}
