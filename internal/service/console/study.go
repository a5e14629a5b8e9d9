package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
)

// study shows what each round of a study gave, and how each number went from round to round.
func (c *Console) study(w http.ResponseWriter, r *http.Request) error {
	all, newest, err := c.analyzer.studied(r.Context(), r.PathValue("study"))
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
		Curves []*curve
		Trends *trends
		Lines  template.HTML // of correlated rounds: the newest release tells of all
		LookUp *lookUp       // of windows
		So     int           // rounds so far
		More   int           // that were released and are not listed
		Takes  string
	}
	body.Study, body.So = r.PathValue("study"), len(all)
	if s := newest.signed.Study; s != nil {
		body.Rounds, body.Takes = s.Rounds, s.Takes
	}
	together := newest.signed.Plan.Correlated() != nil
	tabled := trend.Followed(newest.signed.Plan)
	last := -1 // that was released
	for i, p := range all {
		if p.Standing() == analyzerd.Released {
			last = i
		}
	}
	var drawn course
	for i, p := range all {
		one := round{Plan: p}
		listed := !(together || tabled) || i > last-newestRounds
		if p.Standing() == analyzerd.Released && !listed {
			body.More++
			continue
		}
		if p.Standing() == analyzerd.Released && !(together && i < last) {
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
			} else if !tabled {
				drawn.add(p.Round, out)
			}
		}
		if p.Over != "" {
			body.Over = p.Over
		}
		body.All = append(body.All, one)
	}
	body.Curves = drawn.draw()
	if tabled {
		if body.Trends, err = c.analyzer.trends(r.Context(), body.Study, newest, r.URL.Query()); err != nil {
			return err
		}
	}
	s := sheet{Title: newest.signed.Plan.Title, At: "collections", Trial: oneOperator(newest.signed.Plan), Trends: tabled}
	if body.LookUp != nil {
		s.Script = "release.js"
	}
	return c.render(w, r, http.StatusOK, "study", s, body)
}

// studied returns the rounds of a study in their order, and the newest with its plan.
func (a *reader) studied(ctx context.Context, name string) ([]analyzerd.Plan, *asked, error) {
	all, err := a.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(p analyzerd.Plan) bool { return p.Study != name || name == "" })
	if len(all) == 0 {
		return nil, nil, errNoPage
	}
	slices.SortFunc(all, func(a, b analyzerd.Plan) int { return cmp.Compare(a.Round, b.Round) })
	newest, err := a.plan(ctx, all[len(all)-1].Plan)
	return all, newest, err
}

// newestRounds is how many rounds that were released are listed where their numbers stand above.
const newestRounds = 6

// course is how the numbers of a study went: of one whose releases have no tables of respondents.
type course struct{ curves []*curve }

// curve is one number as it was in each round.
type curve struct {
	Title  string
	Points []point
	Line   string  // of SVG's polyline
	Zero   float64 // where zero is drawn

	key string
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

// maxWritten is how many points of a curve have their numbers beside them; of more the first and the last.
const maxWritten = 6

// add takes what a round gave. A number that was chosen by its estimate is another one in another round, and has no curve.
func (s *course) add(round int, out *released) {
	for _, m := range out.Headline {
		if m.Among > 1 {
			continue
		}
		p := point{Round: round, Text: m.String(), Interval: m.Interval(), value: m.Value, from: m.Value, to: m.Value}
		if m.Level > 0 {
			p.from, p.to = m.Low, m.High
		}
		one := s.curve(m.Name+"\x00"+m.Unit+"\x00"+m.Title, m.Title)
		one.Points = append(one.Points, p)
	}
}

// curve finds the curve of a number, or begins it.
func (s *course) curve(key, title string) *curve {
	for _, one := range s.curves {
		if one.key == key {
			return one
		}
	}
	s.curves = append(s.curves, &curve{Title: title, key: key})
	return s.curves[len(s.curves)-1]
}

// draw places the points of all curves that have two. Every scale begins at zero, or below it where a number is.
func (s *course) draw() (all []*curve) {
	for _, one := range s.curves {
		if len(one.Points) < 2 {
			continue
		}
		var a axis
		for _, p := range one.Points {
			a.hold(p.value, p.from, p.to)
		}
		one.place(a)
		all = append(all, one)
	}
	return all
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
