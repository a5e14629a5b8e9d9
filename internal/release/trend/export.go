package trend

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/formula"
)

// WriteCSV writes a row for each round and line. Shares are of those who answered, and lifts of everybody: the last column
// says what a row is. A round without numbers has a row that says why. Texts that a spreadsheet would run have an apostrophe before them (formula.Quote).
func WriteCSV(w io.Writer, trends []Trend) error {
	c := csv.NewWriter(w)
	c.Write([]string{"metric", "crowd", "value", "season", "round", "opens", "closes", "respondents", "share", "low", "high", "missing", "arm", "is"}) // Error tells, as of the rest
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, t := range trends {
		lift := "lift in shares"
		if t.Relative {
			lift = "relative lift"
		}
		for i, l := range slices.Concat(t.Lines, t.Lifts) {
			is := "share"
			if i >= len(t.Lines) {
				is = lift
			}
			for _, r := range t.Rounds {
				missing := r.Missing
				if is == lift {
					missing = cmp.Or(missing, r.Unlifted)
				}
				row := []string{formula.Quote(t.Metric), formula.Quote(t.Crowd), formula.Quote(l.Value), strconv.Itoa(max(1, r.Season)), strconv.Itoa(cmp.Or(r.Own, r.Round)), moment(r.Opens), moment(r.Closes), strconv.Itoa(r.Respondents), "", "", "", formula.Quote(missing), formula.Quote(l.Arm), is}
				if p := l.at(r.Round); p != nil {
					row[8], row[9], row[10] = number(p.Share), number(p.Low), number(p.High)
				}
				c.Write(row)
			}
		}
	}
	c.Flush()
	return c.Error()
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// gauges are what Prometheus gets of a line, with the newest round's numbers.
var gauges = []struct {
	name, help string
	of         func(Line) (float64, bool)
}{
	{"confetti_trend_share", "Share of those who answered in the newest round, as it was estimated.", func(l Line) (float64, bool) { return l.Last().Share, true }},
	{"confetti_trend_share_low", "Low end of its interval, which holds for all values of the metric at once with probability 0.95.", func(l Line) (float64, bool) { return l.Last().Low, true }},
	{"confetti_trend_share_high", "High end of that interval.", func(l Line) (float64, bool) { return l.Last().High, true }},
	{"confetti_trend_change_low", "Low end of the change since the round before, of everybody: noise and sampling.", func(l Line) (float64, bool) {
		if l.Change == nil {
			return 0, false
		}
		return l.Change.Low, true
	}},
	{"confetti_trend_change_high", "High end of that change.", func(l Line) (float64, bool) {
		if l.Change == nil {
			return 0, false
		}
		return l.Change.High, true
	}},
}

// lifted are what Prometheus gets of a lift, with the newest round's numbers.
var lifted = []struct {
	name, help string
	of         func(Point) float64
}{
	{"confetti_trend_lift", "By how much more of it the arm has than the first one, in the newest round: a difference of shares, or a part of what the first has.", func(p Point) float64 { return p.Share }},
	{"confetti_trend_lift_low", "Low end of its interval, which holds for all comparisons and all rounds of a year at once with probability 0.95.", func(p Point) float64 { return p.Low }},
	{"confetti_trend_lift_high", "High end of that interval.", func(p Point) float64 { return p.High }},
}

// WritePrometheus writes the newest numbers of a study in Prometheus' text format.
func WritePrometheus(w io.Writer, study string, trends []Trend) error {
	var b strings.Builder
	for _, g := range gauges {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", g.name, g.help, g.name)
		for _, t := range trends {
			for _, l := range t.Lines {
				if x, there := g.of(l); there && l.at(t.Newest) != nil {
					fmt.Fprintf(&b, "%s{%s,value=\"%s\"} %s\n", g.name, t.labels(study), escaped(l.Value), strconv.FormatFloat(x, 'g', -1, 64))
				}
			}
		}
	}
	for _, g := range lifted {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", g.name, g.help, g.name)
		for _, t := range trends {
			for _, l := range t.Lifts {
				if p := l.at(t.Newest); p != nil {
					fmt.Fprintf(&b, "%s{%s,arm=\"%s\",value=\"%s\"} %s\n", g.name, t.labels(study), escaped(l.Arm), escaped(l.Value), strconv.FormatFloat(g.of(*p), 'g', -1, 64))
				}
			}
		}
	}
	for _, g := range []struct {
		name, help string
		of         func(Trend) int
	}{
		{"confetti_trend_round", "Number of the newest round with numbers, in its season.", func(t Trend) int {
			newest := t.Rounds[slices.IndexFunc(t.Rounds, func(r told) bool { return r.Round == t.Newest })]
			return cmp.Or(newest.Own, newest.Round)
		}},
		{"confetti_trend_missing_rounds", "Rounds without numbers so far: withheld or withdrawn.", func(t Trend) (n int) {
			for _, r := range t.Rounds {
				if r.Missing != "" {
					n++
				}
			}
			return n
		}},
	} {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", g.name, g.help, g.name)
		for _, t := range trends {
			fmt.Fprintf(&b, "%s{%s} %d\n", g.name, t.labels(study), g.of(t))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Trend) labels(study string) string {
	return fmt.Sprintf(`study="%s",metric="%s",crowd="%s"`, escaped(study), escaped(t.Metric), escaped(t.Crowd))
}

// escaped writes a label's value as the text format asks.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text)
}
