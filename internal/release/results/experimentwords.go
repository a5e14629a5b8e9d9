package results

import (
	"fmt"
	"math"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// experimentWords speaks of arms and metrics.
type experimentWords struct {
	ask     plan.Experiment
	release *release.Release
}

func (w experimentWords) phrase(m release.Metric) (phrase, bool) {
	note := ""
	if w.ask.Looks > 1 {
		note = fmt.Sprintf("look %d of at most %d", w.ask.Look, w.ask.Looks)
	}
	p, ok := map[string]phrase{
		respondentsMetric: respondentsPhrase(note),
		"uneven":          {"How far people of an arm are from its share, in deviations", "", fmt.Sprintf("above %.2f no lift is shown", lift.TooUneven)},
		"sum_variance":    {"Variance of the noise in each sum", "", "in people, squared"},
		"line":            {"Deviations from zero from which a lift is taken for one", "", "of all comparisons and looks at once"},
	}[m.Name]
	if m.Name == "answers" && w.ask.Bits != nil {
		p, ok = phrase{"Rows that a respondent answered, on average", "", fmt.Sprintf("%d by the plan: where it is far from that, some are no devices of it", w.ask.Bits.Answered)}, true
	}
	return p, ok && m.Key == ""
}

func (w experimentWords) names() (arms, metrics keys) {
	var all []string
	for _, m := range w.ask.Metrics {
		all = append(all, m.Name)
	}
	return among(w.ask.Arms), among(all)
}

// section returns the words of lifts, and of arms.
func (w experimentWords) section(s release.Section) (said, bool) {
	arms, metrics := w.names()
	switch s.Name {
	case "lifts":
		return w.lifts(arms, metrics), true
	case "arms":
		return said{
			title: "The arms", text: w.evenness(),
			tables: map[string]sheetWords{
				"means": {title: "What each arm has", columns: []column{
					{title: "arm", keys: arms}, {title: "metric", keys: metrics}, {title: "people", unit: release.Count}, {title: "mean"}, {title: truthColumn, known: true},
				}},
				"sums": {title: "Sums, to which the next look adds", columns: []column{
					{title: "arm", keys: arms}, {title: "metric", keys: metrics}, {title: "up"}, {title: "down"}, {title: "apart"},
				}},
			},
		}, true
	}
	return said{}, false
}

func (w experimentWords) lifts(arms, metrics keys) said {
	text := fmt.Sprintf("By how much more each arm has than “%s”. ", w.ask.Arms[0])
	if n := (len(w.ask.Arms) - 1) * len(w.ask.Metrics); n > 1 {
		text += fmt.Sprintf("All %d intervals hold at once; the first metric alone decides. ", n)
	}
	if w.ask.Looks > 1 {
		text += fmt.Sprintf("This is look %d of at most %d, which were planned before the first; intervals are at this look's level, so that looking often does not make chance look like an effect. After an early stop the best guess is too high in the mean. The line counts how many people each look really had: so it holds if that number was fixed before the look before was read. Who chooses it by what was seen finds by chance more than twice as often. ", w.ask.Look, w.ask.Looks)
	}
	for _, m := range w.ask.Metrics {
		text += lift.SayCut(m) + " "
	}
	categories, alt := among(reasons), "Each row adds one reason not to know the lift exactly; the last is the answer."
	if len(w.ask.Arms) > 2 {
		categories, alt = arms, "Intervals of the lift of each arm, which hold at once."
	}
	return said{
		title: "Lift of " + w.ask.Metrics[0].Name, text: text,
		tables: map[string]sheetWords{"lifts": {title: "All comparisons", columns: []column{
			{title: "arm", keys: arms}, {title: "metric", keys: metrics}, {title: "best guess", unit: release.Share},
			{title: numerals.Percent(lift.Level(w.value("line"))) + " interval", unit: release.Share}, {title: "in the metric's own unit"}, {title: "deviations from zero"}, {title: truthColumn, unit: release.Share, known: true},
		}}},
		figures: map[string]figureWords{
			"lift":  {kind: release.Bars, title: "Lift of " + w.ask.Metrics[0].Name, x: "reason", y: "%", categories: categories, series: []string{"lift"}, alt: alt, signed: true},
			"looks": {kind: release.Lines, title: "When to stop", x: "look", y: "deviations from zero", series: []string{"stop above this line", "how far the lift is"}, alt: "How far the lift is from zero at each look, beside the line of O'Brien and Fleming."},
		},
	}
}

// value returns a metric of what a release says.
func (w experimentWords) value(name string) float64 {
	m, _ := metric(w.release, name)
	return m.Value
}

// evenness says whether people fell into the arms as planned.
func (w experimentWords) evenness() string {
	uneven := w.value("uneven")
	if uneven > lift.TooUneven {
		return fmt.Sprintf("People did not fall into the arms as planned: they are %.1f deviations away. No lift is shown, since who is missing may be what differs.", uneven)
	}
	return fmt.Sprintf("People fell into the arms as planned: a difference of this size comes by chance in at most %s of experiments.", numerals.Percent(byChance(uneven, len(w.ask.Arms))))
}

// byChance bounds how often some arm of so many is as far from its share. Two arms are equally far.
func byChance(uneven float64, arms int) float64 {
	if arms == 2 {
		arms = 1
	}
	return math.Min(1, float64(arms)*math.Erfc(uneven/math.Sqrt2))
}

// answer says what may be decided.
func (w experimentWords) answer() string {
	var table *release.Table
	for _, s := range w.release.Sections {
		for i := range s.Tables {
			if s.Tables[i].Name == "lifts" {
				table = &s.Tables[i]
			}
		}
	}
	switch {
	case len(w.release.Sections) == 0:
		return "Nothing is known: too few people answered."
	case table == nil && w.value("uneven") > lift.TooUneven:
		return "No lift is shown: people did not fall into the arms as planned."
	case table == nil:
		return fmt.Sprintf("No lift is shown: from fewer than %d people no interval is known to hold.", lift.Fewest)
	}
	said, line := "", w.value("line")
	for _, row := range table.Rows {
		if row[1].Key != w.ask.Metrics[0].Name {
			continue
		}
		if len(w.ask.Arms) > 2 {
			said += "“" + row[0].Key + "”: "
		}
		said += w.decided(row, line) + " "
	}
	return strings.TrimSpace(said) + "\nIt speaks of those who still answer."
}

// decided says what a comparison comes to.
func (w experimentWords) decided(row []release.Cell, line float64) string {
	m := w.ask.Metrics[0]
	what := m.Name
	if m.Capped {
		what += fmt.Sprintf(" (capped at %.4g)", m.High+m.Taken)
	}
	ends, evidence := row[3], *row[5].Value
	between := func(a, b float64) string { return fmt.Sprintf("%.1f to %.1f\u00a0%%", 100*a, 100*b) }
	if ends.Low == nil { // no share of the first arm's mean
		ends = row[4]
		between = func(a, b float64) string {
			return fmt.Sprintf("%.4g to %.4g in its own unit (what “%s” has is not clear of zero, so no share of it is told)", a, b, w.ask.Arms[0])
		}
	}
	low, high := *ends.Low, *ends.High
	switch {
	case evidence > line && low > 0:
		return fmt.Sprintf("Yes: %s is up by %s.", what, between(low, high))
	case evidence < -line && high < 0:
		return fmt.Sprintf("No: %s is down by %s.", what, between(-high, -low))
	case w.ask.Look < w.ask.Looks:
		return fmt.Sprintf("Not yet: the lift of %s is from %s.", what, between(low, high))
	}
	return fmt.Sprintf("Not shown: the lift of %s is from %s, and may be none.", what, between(low, high))
}
