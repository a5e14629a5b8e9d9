package console

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
)

// study is what each round of a study gave, and how each number went from round to round.
func (c *Console) study(w http.ResponseWriter, r *http.Request) error {
	all, err := c.analyzer.list(r.Context())
	if err != nil {
		return err
	}
	name := r.PathValue("study")
	all = slices.DeleteFunc(all, func(p analyzerd.Plan) bool { return p.Study != name || name == "" })
	if len(all) == 0 {
		return errNoPage
	}
	slices.SortFunc(all, func(a, b analyzerd.Plan) int { return cmp.Compare(a.Round, b.Round) })
	newest, err := c.analyzer.plan(r.Context(), all[len(all)-1].Plan)
	if err != nil {
		return err
	}
	type round struct {
		analyzerd.Plan
		Answer string
	}
	var body struct {
		Study  string
		Rounds int
		All    []round
		Over   string
		Charts []*curves
		Lines  template.HTML // of rounds that hang together: the newest release tells of all
		LookUp *lookUp       // of windows
		So     int           // rounds so far
		More   int           // that were released and are not listed
		Apart  string
		Takes  string
	}
	body.Study, body.So = name, len(all)
	if s := newest.signed.Study; s != nil {
		body.Rounds, body.Takes = s.Rounds, s.Takes
	}
	together := newest.signed.Plan.Correlated() != nil
	last := -1 // that was released
	for i, p := range all {
		if p.Standing() == analyzerd.Released {
			last = i
		}
	}
	var drawn course
	for i, p := range all {
		one := round{Plan: p}
		if p.Standing() == analyzerd.Released && together && i < last {
			if i < last-newestRounds {
				body.More++
				continue
			}
		} else if p.Standing() == analyzerd.Released {
			of, err := c.analyzer.plan(r.Context(), p.Plan)
			if err != nil {
				return err
			}
			out, err := c.analyzer.release(r.Context(), of)
			if err != nil {
				return err
			}
			one.Answer = out.answer()
			if together {
				if body.Lines, err = page.Lines(out.Release); err != nil {
					return err
				}
				body.LookUp = lookedUp(out.Release, r.URL.Query())
			} else {
				drawn.add(p.Round, out)
				body.Apart = cmp.Or(body.Apart, out.apart)
			}
		}
		if p.Over != "" {
			body.Over = p.Over
		}
		body.All = append(body.All, one)
	}
	body.Charts = drawn.draw()
	s := sheet{Title: newest.signed.Plan.Title, At: "collections", Trial: oneOperator(newest.signed.Plan)}
	if body.LookUp != nil {
		s.Script = "release.js"
	}
	return c.render(w, r, http.StatusOK, "study", s, body)
}

// newestRounds is how many rounds that were released are listed where the newest release tells of all.
const newestRounds = 6

// course is how the numbers of a study went, in charts.
type course struct{ charts []*curves }

// curves are numbers of one kind, drawn on one scale: the values of an attribute in a crowd, or a
// number by itself.
type curves struct {
	Title  string // "" of a number by itself
	Unit   string // in words
	Curves []*curve
	More   int // that are not drawn
}

// curve is one number as it was in each round.
type curve struct {
	Label  string
	Points []point
	Line   string  // of SVG's polyline
	Zero   float64 // where zero is drawn
}

// point is a number of one round.
type point struct {
	Round           int
	Text, Interval  string // the number, and its interval in words where there is one
	X, Y, Low, High float64
	Says            float64 // where its number stands
	Anchor          string  // which end of the number is there; "": it is not written

	value, from, to float64
}

const (
	maxCurves  = 12 // of one chart
	maxWritten = 6  // points of a curve that have their numbers beside them; of more the first and the last
)

// Units of a chart of values.
const (
	inShares = "in percent of the respondents"
	inPeople = "in respondents"
)

// add takes what a round gave. A number that was chosen by its estimate is another one in another
// round: its value has a curve in the table that it was chosen from.
func (s *course) add(round int, out *released) {
	for _, crowds := range out.tables {
		for _, t := range crowds {
			s.values(round, t)
		}
	}
	for _, m := range out.Headline {
		if m.Among > 1 {
			continue
		}
		p := point{Round: round, Text: m.String(), Interval: m.Interval(), value: m.Value, from: m.Value, to: m.Value}
		if m.Level > 0 {
			p.from, p.to = m.Low, m.High
		}
		s.chart("", m.Name+"\x00"+m.Unit+"\x00"+m.Label).curve(m.Label).add(p)
	}
}

// values takes a table: each of its values has a curve, with an interval that holds for all at once.
func (s *course) values(round int, t table) {
	title, unit, scale, text := t.Attribute, inPeople, 1.0, people
	if t.Crowd != "" {
		title += ", " + t.Crowd
	}
	if t.Respondents > 0 { // of unlike many in each round
		unit, scale, text = inShares, 1/float64(t.Respondents), share
	}
	chart := s.chart(title, unit)
	for _, n := range t.counts {
		x, low, high := scale*possible(n), scale*n.LowAll, scale*n.HighAll
		chart.curve(n.Value).add(point{Round: round, Text: text(x), Interval: text(low) + " to " + text(high), value: x, from: low, to: high})
	}
}

// chart finds the chart of a title and unit, or begins it.
func (s *course) chart(title, unit string) *curves {
	for _, c := range s.charts {
		if c.Title == title && c.Unit == unit {
			return c
		}
	}
	s.charts = append(s.charts, &curves{Title: title, Unit: unit})
	return s.charts[len(s.charts)-1]
}

// curve finds the curve of a value, or begins it.
func (c *curves) curve(label string) *curve {
	for _, one := range c.Curves {
		if one.Label == label {
			return one
		}
	}
	c.Curves = append(c.Curves, &curve{Label: label})
	return c.Curves[len(c.Curves)-1]
}

func (c *curve) add(p point) { c.Points = append(c.Points, p) }

// draw places the points of all curves that have two, the largest of each chart where there are
// many. Charts of values come first. Every scale begins at zero, or below it where a number is.
func (s *course) draw() (all []*curves) {
	for _, c := range s.charts {
		c.Curves = slices.DeleteFunc(c.Curves, func(one *curve) bool { return len(one.Points) < 2 })
		if len(c.Curves) > maxCurves {
			slices.SortStableFunc(c.Curves, func(a, b *curve) int { return cmp.Compare(b.most(), a.most()) })
			c.More, c.Curves = len(c.Curves)-maxCurves, c.Curves[:maxCurves]
		}
		if len(c.Curves) == 0 {
			continue
		}
		var a axis
		for _, one := range c.Curves {
			for _, p := range one.Points {
				a.hold(p.value, p.from, p.to)
			}
		}
		for _, one := range c.Curves {
			one.place(a)
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b *curves) int { return cmp.Compare(min(1, len(b.Title)), min(1, len(a.Title))) })
	return all
}

// most returns the largest number of a curve.
func (c *curve) most() float64 {
	return slices.MaxFunc(c.Points, func(a, b point) int { return cmp.Compare(a.value, b.value) }).value
}

// place puts the points into a drawing of 600 by 200.
func (c *curve) place(a axis) {
	up := func(x float64) float64 { return 190 - 1.6*a.at(x) }
	c.Zero = up(0)
	var line []string
	for i := range c.Points {
		p := &c.Points[i]
		p.X = 20 + 560*float64(i)/float64(max(1, len(c.Points)-1))
		p.Y, p.Low, p.High = up(p.value), up(p.from), up(p.to)
		switch {
		case i == 0:
			p.Anchor = "start"
		case i == len(c.Points)-1:
			p.Anchor = "end"
		case len(c.Points) <= maxWritten:
			p.Anchor = "middle"
		}
		if p.Says = p.High - 8; p.Says < 20 {
			p.Says = p.Low + 20
		}
		line = append(line, fmt.Sprintf("%.1f,%.1f", p.X, p.Y))
	}
	c.Line = strings.Join(line, " ")
}

// Says returns what a chart begins with.
func (c *curves) Says() string {
	says := "It begins at zero."
	if c.Title != "" {
		says = fmt.Sprintf("Each value has a curve of its own, %s; all begin at zero and have one scale. A bar is an interval that holds for all values of a round at once, with confidence %s.", c.Unit, numerals.Percent(level))
	}
	if c.More > 0 {
		says += fmt.Sprintf(" These are the largest; %d more are in the tables of the rounds.", c.More)
	}
	return says
}

// axis is what the width of a chart stands for.
type axis struct{ low, high float64 }

func (a *axis) hold(xs ...float64) {
	for _, x := range xs {
		a.low, a.high = min(a.low, x), max(a.high, x)
	}
}

func (a axis) at(x float64) float64 {
	if a.high == a.low {
		return 0
	}
	return 100 * (min(max(x, a.low), a.high) - a.low) / (a.high - a.low)
}
