package trend

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/release/page"
)

// frame is where a chart draws: the room inside its axes, and which rounds and shares these run over.
type frame struct {
	wide, high               float64
	left, right, top, bottom float64
	first, last              float64
	floor, ceiling           float64
	named                    bool // lines have their names at their ends
}

func (f frame) x(round float64) float64 {
	if f.last == f.first {
		return (f.left + f.right) / 2
	}
	return f.left + (f.right-f.left)*(round-f.first)/(f.last-f.first)
}

func (f frame) y(share float64) float64 {
	return f.bottom - (f.bottom-f.top)*(min(max(share, f.floor), f.ceiling)-f.floor)/(f.ceiling-f.floor)
}

// span is from where to where the axis of a chart goes: charts that are looked at together have one.
type span struct{ floor, ceiling float64 }

// spanOf returns the span of lines: shares from zero to one at most, and lifts with zero in it.
func spanOf(lines []Line, lifts bool) (s span) {
	least, most := 0.0, 0.01
	for _, l := range lines {
		for _, p := range l.Points {
			least, most = min(least, p.Low), max(most, p.High)
		}
	}
	if !lifts {
		return span{0, min(1, most*1.05)}
	}
	return span{min(-0.01, least*1.05), most * 1.05}
}

// with returns the span of both.
func (s span) with(other span) span {
	return span{min(s.floor, other.floor), max(s.ceiling, other.ceiling)}
}

// Frames of a chart for a desk and for a phone.
func desk(s span) frame {
	return frame{wide: 912, high: 330, left: 48, right: 740, top: 52, bottom: 296, floor: s.floor, ceiling: s.ceiling, named: true}
}

func phone(s span) frame {
	return frame{wide: 358, high: 280, left: 44, right: 346, top: 52, bottom: 246, floor: s.floor, ceiling: s.ceiling}
}

// chart is what one picture of a trend shows.
type chart struct {
	Trend
	lines []Line
	lifts bool
	unit  string // of the axis
}

// shares and lifted are the two that a trend may have.
func (t Trend) shares() chart { return chart{t, t.Lines, false, "% of those who answered"} }
func (t Trend) lifted() chart {
	unit := "points more than “" + t.First + "”"
	if t.Relative {
		unit = "% more than “" + t.First + "”"
	}
	return chart{t, t.Lifts[:min(mostLines+1, len(t.Lifts))], true, unit}
}

// mostDots is how many rounds have a mark on each line: of more the line alone can be seen.
const mostDots = 40

// draw writes the chart as SVG. Classes give colours, which follow the reader's theme.
func (t chart) draw(f frame) (template.HTML, error) {
	f.first, f.last = float64(t.Rounds[0].Round), float64(t.Rounds[len(t.Rounds)-1].Round)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, f.wide, f.high, html.EscapeString(t.alt()))
	_, _, marks, err := page.Span(100*f.floor, 100*f.ceiling, false)
	if err != nil {
		return "", fmt.Errorf("drawing %s: %w", t.Metric, err)
	}
	for _, m := range marks {
		y := f.y(m.At / 100)
		fmt.Fprintf(&b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`, f.left, f.right, y, y, f.left-6, y+4.5, m.Text)
	}
	if t.lifts {
		fmt.Fprintf(&b, `<line class="axis" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`, f.left, f.right, f.y(0), f.y(0))
	}
	fmt.Fprintf(&b, `<text x="%g" y="12">%s</text>`, f.left-30, html.EscapeString(shortened(t.unit, 2*mostWide)))
	t.missing(&b, f)
	t.seasons(&b, f)
	for i, l := range t.lines {
		l.draw(&b, f, i)
	}
	t.rounds(&b, f)
	t.notes(&b, f)
	if f.named {
		t.names(&b, f)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()), nil
}

// alt says what the chart shows, for whoever cannot see it: the newest numbers. A table has all.
func (t chart) alt() string {
	says := fmt.Sprintf("%s by round, %d rounds", t.title(), len(t.Rounds))
	if t.lifts {
		says = fmt.Sprintf("%s by round, in %s more than “%s”, %d rounds", t.title(), t.Unit(), t.First, len(t.Rounds))
	}
	for _, l := range t.lines {
		switch p := l.at(t.Newest); {
		case p == nil:
		case t.lifts:
			says += fmt.Sprintf("; %s now %s", l.Name(), p.SignedRange())
		default:
			says += fmt.Sprintf("; %s now %s %%", l.Value, p.Range())
		}
	}
	return says
}

func (t Trend) title() string {
	if t.Crowd != "" {
		return t.Metric + ", " + t.Crowd
	}
	return t.Metric
}

// missing shades the rounds without numbers, those that follow each other as one.
func (t chart) missing(b *strings.Builder, f frame) {
	why := func(i int) string {
		if t.lifts {
			return cmp.Or(t.Rounds[i].Missing, t.Rounds[i].Unlifted)
		}
		return t.Rounds[i].Missing
	}
	for i := 0; i < len(t.Rounds); i++ {
		if why(i) == "" {
			continue
		}
		j := i
		for j+1 < len(t.Rounds) && why(j+1) != "" {
			j++
		}
		from, to := max(f.left, f.x(float64(t.Rounds[i].Round)-0.4)), min(f.right, f.x(float64(t.Rounds[j].Round)+0.4))
		fmt.Fprintf(b, `<rect class="gone" x="%.1f" y="%g" width="%.1f" height="%g"/>`, from, f.top, max(1.5, to-from), f.bottom-f.top)
		if why, _, told := strings.Cut(t.Rounds[i].Missing, " on "); f.named && len(t.Rounds) <= mostDots {
			if !told {
				why, _, told = strings.Cut(why, ":")
			}
			if told {
				fmt.Fprintf(b, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`, min(max((from+to)/2, f.left+28), f.right-28), f.top+14, html.EscapeString(shortened(why, mostWide)))
			}
		}
		i = j
	}
}

// draw writes the band and the line of a value; the line is dotted over rounds without a number.
func (l Line) draw(b *strings.Builder, f frame, i int) {
	runs := [][]Point{{}}
	for k, p := range l.Points {
		if k > 0 && p.Round != l.Points[k-1].Round+1 {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], p)
	}
	along := func(points []Point, y func(Point) float64) string {
		all := make([]string, 0, len(points))
		for _, p := range points {
			all = append(all, fmt.Sprintf("%.1f,%.1f", f.x(float64(p.Round)), f.y(y(p))))
		}
		return strings.Join(all, " ")
	}
	for k, run := range runs {
		if k > 0 {
			before := runs[k-1]
			fmt.Fprintf(b, `<polyline class="t%d over" points="%s"/>`, i, along([]Point{before[len(before)-1], run[0]}, Point.Possible))
		}
		if len(run) == 1 {
			x := f.x(float64(run[0].Round))
			fmt.Fprintf(b, `<line class="t%d alone" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, i, x, x, f.y(run[0].Low), f.y(run[0].High))
		} else {
			back := slices.Clone(run)
			slices.Reverse(back)
			fmt.Fprintf(b, `<polygon class="t%d band" points="%s %s"/>`, i, along(run, func(p Point) float64 { return p.High }), along(back, func(p Point) float64 { return p.Low }))
			fmt.Fprintf(b, `<polyline class="t%d line" points="%s"/>`, i, along(run, Point.Possible))
		}
	}
	for k, p := range l.Points {
		if len(l.Points) <= mostDots || k == len(l.Points)-1 {
			fmt.Fprintf(b, `<circle class="t%d" cx="%.1f" cy="%.1f" r="3"/>`, i, f.x(float64(p.Round)), f.y(p.Possible()))
		}
	}
}

// rounds writes the axis: round numbers, or days where they are known.
func (t Trend) rounds(b *strings.Builder, f frame) {
	fmt.Fprintf(b, `<line class="axis" x1="%g" x2="%g" y1="%g" y2="%g"/>`, f.left, f.right, f.bottom, f.bottom)
	most := 2 + int(f.right-f.left)/140
	step := max(1, int(math.Ceil(float64(len(t.Rounds))/float64(most))))
	for i := 0; i < len(t.Rounds); i += step {
		r := t.Rounds[i]
		label, x := r.Name(), f.x(float64(r.Round))
		if !r.Opens.IsZero() {
			label = r.Opens.UTC().Format("2 Jan")
		}
		anchor := "middle"
		if x > f.right-30 {
			anchor = "end"
		}
		fmt.Fprintf(b, `<line class="axis" x1="%.1f" x2="%.1f" y1="%g" y2="%g"/><text x="%.1f" y="%g" text-anchor="%s">%s</text>`, x, x, f.bottom, f.bottom+5, x, f.bottom+20, anchor, label)
	}
}

// notes marks what happened, at its time between the middles of rounds.
func (t Trend) notes(b *strings.Builder, f frame) {
	for i, n := range t.Notes {
		x := min(max(f.x(t.when(n.At)), f.left), f.right)
		anchor := "start"
		if x > (f.left+f.right)/2 {
			anchor = "end"
		}
		fmt.Fprintf(b, `<line class="note" x1="%.1f" x2="%.1f" y1="%g" y2="%g"/><text x="%.1f" y="%g" text-anchor="%s">%s</text>`, x, x, f.top-8, f.bottom, x, f.top-24+14*float64(i%2), anchor, html.EscapeString(shortened(n.Text, mostWide)))
	}
}

// How many letters of a text a chart has room for, and of a name at the end of its line.
const mostWide, mostNamed = 24, 14

// shortened cuts a text that is too long for a chart; the list below has it whole.
func shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// when returns where a time lies among the rounds, each of which lies at its number from its opening to its close.
func (t Trend) when(at time.Time) float64 {
	place := float64(t.Rounds[0].Round) - 0.5
	for _, r := range t.Rounds {
		if r.Opens.IsZero() || r.Opens.After(at) {
			continue
		}
		place = float64(r.Round) + 0.5
		if whole := r.Closes.Sub(r.Opens); whole > 0 && at.Before(r.Closes) {
			place = float64(r.Round) - 0.5 + float64(at.Sub(r.Opens))/float64(whole)
		}
	}
	return place
}

// names writes the name and the newest number of each line at its end, apart from each other.
func (t chart) names(b *strings.Builder, f frame) {
	const apart = 17
	type name struct {
		y    float64
		line int
		text string
	}
	var all []name
	for i, l := range t.lines {
		p := l.Points[len(l.Points)-1]
		text := fmt.Sprintf("%s %s %%", shortened(l.Value, mostNamed), numerals.FormatDecimals(100*p.Possible(), 0))
		if t.lifts {
			text = fmt.Sprintf("%s %s", shortened(l.Name(), mostNamed), p.Signed())
		}
		all = append(all, name{f.y(p.Possible()), i, text})
	}
	slices.SortStableFunc(all, func(a, b name) int {
		return map[bool]int{true: -1, false: 1}[a.y < b.y]
	})
	for i := range all { // down, and what is then too low up again
		if i > 0 {
			all[i].y = max(all[i].y, all[i-1].y+apart)
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		limit := f.bottom
		if i < len(all)-1 {
			limit = all[i+1].y - apart
		}
		all[i].y = min(all[i].y, limit)
	}
	for _, n := range all {
		fmt.Fprintf(b, `<circle class="t%d" cx="%g" cy="%.1f" r="5"/><text class="end" x="%g" y="%.1f">%s</text>`, n.line, f.right+14, n.y, f.right+24, n.y+4.5, html.EscapeString(n.text))
	}
}

// Possible returns the share, or the end of its interval where noise took it beyond what can be true.
func (p Point) Possible() float64 { return min(max(p.Share, p.Low), p.High) }

// Percent prints the best guess.
func (p Point) Percent() string { return numerals.FormatDecimals(100*p.Possible(), 0) }

// Range prints the interval in percent, rounded apart.
func (p Point) Range() string {
	return numerals.FormatDecimals(math.Floor(1000*p.Low)/10, 1) + " to " + numerals.FormatDecimals(math.Ceil(1000*p.High)/10, 1)
}
