package studio

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/strictjson"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// form makes a plan of what somebody chose of one kind of question, and draws a collection by it.
type form interface {
	// draft returns the plan as asked for, without noise, and with the keys of Parties alone.
	draft(s *Sheet, c Choice) (plan.Plan, error)
	// draw draws one collection by the plan, and reads it as an analyzer does.
	draw(d *Drawn, p *protocol.Protocol, c Choice) error
}

// formOf returns that of a choice's kind.
func formOf(c Choice) (form, error) {
	switch c.Kind {
	case "", "histogram":
		return &counted{}, nil
	case "strings":
		return filled(&stringsAsked{}, c)
	case "table":
		return filled(&tableAsked{}, c)
	case "experiment":
		return filled(&experimentAsked{}, c)
	}
	return nil, fmt.Errorf("no question of kind %q is made here", c.Kind)
}

// whole asks one question of whole records, whose fields are a part of the page: a kind's own.
type whole interface {
	// ask returns the plan's question, but for its noise, for people who are the rows that hold something in each column.
	ask(s *Sheet, c Choice) (drafted, error)
	// came returns so many people who answer as the rows do.
	came(n int, r *rand.Rand) distribution.Population
	// truth returns what is known of them.
	truth(p *protocol.Protocol) (*results.Truth, error)
}

// drafted is a question before its noise.
type drafted struct {
	title    string // where nobody gave one
	question plan.Question
	says     []string // before anybody answers
	needed   int      // people, for what is aimed at; 0: nothing is
	rows     int
	left     int // rows that were left out
}

// once makes a form of a question of whole records.
type once struct {
	of whole
	drafted
}

// filled reads the fields of a choice.
func filled(of whole, c Choice) (form, error) {
	if err := strictjson.JSON(c.Fields, of); err != nil {
		return nil, fmt.Errorf("what is chosen: %w", err)
	}
	return &once{of: of}, nil
}

func (o *once) draft(s *Sheet, c Choice) (p plan.Plan, err error) {
	if o.drafted, err = o.of.ask(s, c); err != nil {
		return p, err
	}
	o.question.Unfit = plan.UnfitReference
	return c.plan(o.title, o.question, "replacement", nil)
}

func (o *once) draw(d *Drawn, p *protocol.Protocol, c Choice) error {
	d.Rows, d.Left, d.Says, d.Needed = o.rows, o.left, o.says, o.needed
	if q, ok := p.Question.(question.Comparer); ok {
		for _, one := range q.Compare() {
			d.Says = append(d.Says, one.Title+": "+one.Says)
		}
	}
	people := o.of.came(c.People, seeded.New(c.Seed, forPeople))
	d.People = people.Respondents()
	crowds, err := distribution.Draw(p, people, func(part ...uint64) *rand.Rand { return seeded.New(c.Seed, part...) }, func(int) {})
	if _, err = question.Fits(err); err != nil { // who has no room in the plan says what the plan says
		return err
	}
	model, err := p.Learn(crowds)
	if err != nil {
		return err
	}
	truth, err := o.of.truth(p)
	if err != nil {
		return err
	}
	r := release.Release{Source: release.Simulation, Crowds: []release.Crowd{{Smallest: d.People}}}
	if r.Headline, r.Sections, err = results.Describe(model, results.Public{Truth: truth}); err != nil {
		return err
	}
	if err := results.Words(p.Plan, p.Question, &r); err != nil {
		return err
	}
	d.show(r)
	return nil
}

// forPeople is the stream of who comes.
const forPeople = 0x9e0

// show takes what a release would have: its answer, its ranges as charts, and its tables.
func (d *Drawn) show(r release.Release) {
	for line := range strings.SplitSeq(r.Answer, "\n") {
		if line != "" {
			d.Answer = append(d.Answer, line)
		}
	}
	if len(d.Answer) == 0 {
		var says []string
		for _, m := range r.Headline {
			says = append(says, strings.TrimSpace(m.Title+": "+m.String()+" "+parenthesised(m.FormatTruth())))
		}
		d.Answer = []string{strings.Join(says, ". ") + "."}
	}
	for _, s := range r.Sections {
		for _, f := range s.Figures {
			if f.Kind == release.Bars && len(f.Series) == 1 && len(f.Series[0].Low) == len(f.Categories) {
				d.Tables = append(d.Tables, ranges(f, d.People))
			}
		}
		for _, t := range s.Tables {
			d.Sheets = append(d.Sheets, sheetOf(t))
		}
	}
}

func parenthesised(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// ranges returns a figure of them as a chart.
func ranges(f release.Figure, people int) Table {
	t, s := Table{Attribute: f.Title, Ordered: true, Unit: f.Y.Title, Signed: f.Signed}, f.Series[0]
	one := Crowd{People: people}
	for i, name := range f.Categories {
		v := Value{Name: name, Estimate: s.Y[i], Low: s.Low[i], High: s.High[i]}
		if i < len(s.Truth) {
			v.Truth = s.Truth[i]
		}
		one.Values = append(one.Values, v)
	}
	t.Crowds = []Crowd{one}
	return t
}

// Shown is a table as a release would have it, in words.
type Shown struct {
	Title   string      `json:"title"`
	Note    string      `json:"note,omitempty"`
	Columns []string    `json:"columns"`
	Rows    [][]string  `json:"rows"`
	Shades  [][]float64 `json:"shades,omitempty"` // of its numbers, as parts of the darkest; none where it is not shaded
}

// sheetOf writes a table, and shades it where a release does.
func sheetOf(t release.Table) Shown {
	out := Shown{Title: t.Title, Note: t.Note}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, c.Title)
	}
	most := 0.0
	for _, row := range t.Rows {
		texts, numbers := make([]string, len(row)), make([]float64, len(row))
		for i, c := range row {
			texts[i] = t.Format(i, c)
			if c.Value != nil && *c.Value > 0 {
				numbers[i] = *c.Value
			}
		}
		out.Rows, out.Shades = append(out.Rows, texts), append(out.Shades, numbers)
		most = max(most, slices.Max(numbers))
	}
	if !t.Heat || most == 0 {
		out.Shades = nil
	}
	for _, row := range out.Shades {
		for i := range row {
			row[i] /= most
		}
	}
	return out
}

// records returns the cells of some columns, of rows that have one in each. What an empty cell means is the choice's.
func (s *Sheet) records(c Choice, columns ...int) (rows [][]string, left int, err error) {
	missing, err := table.ParseMissing(c.Missing)
	if err != nil {
		return nil, 0, err
	}
	instead, fill := missing.Instead()
	for _, at := range columns {
		if at < 0 || at >= len(s.Columns) {
			return nil, 0, errors.New("there is no such column: choose one of the table")
		}
	}
rows:
	for i := range s.Rows {
		row := make([]string, len(columns))
		for k, at := range columns {
			switch row[k] = s.cells[at][i]; {
			case row[k] != "":
			case missing.Skips():
				left++
				continue rows
			case fill:
				row[k] = instead
			default:
				return nil, 0, fmt.Errorf("line %d of column %q is empty: choose what that means", i+1, s.Columns[at].Name)
			}
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, 0, errors.New("no row is left: count empty ones as a value of their own, or choose another column")
	}
	return rows, left, nil
}

// publicSeed returns that of a plan, drawn once for a sheet: nobody has chosen it, and a plan that is drawn again is the same.
func (s *Sheet) publicSeed() string {
	if s.seed == "" {
		r := rng.New()
		for range 4 {
			s.seed += fmt.Sprintf("%016x", r.Uint64())
		}
	}
	return s.seed
}
