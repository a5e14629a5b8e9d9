package results

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// What a release shows of a study that counts events from round to round: running totals, and what each round adds to
// them. All its intervals of running totals hold at once, in every release of the study, and so do those of single
// rounds.

const (
	courseSection = "course"
	courseCells   = 4  // whose lines have bands that can be told apart
	courseRows    = 60 // of a table, the newest
	courseTruths  = 40 // marks that leave a line in sight
)

// course returns what the rounds so far told.
func (m *answers) course(c *histogram.Course, truth *Truth) ([]release.Metric, release.Section) {
	t := m.tables[0]
	s := release.Section{Name: courseSection}
	top, named := t.Top(courseCells), t.Name
	among := c.Of * len(t.Values)
	if w := c.Windows; w != nil {
		top, named = []int{0}, func(int) string { return thing(t.Asked) }
		among = w.Number()
	}
	joint := estimate.Joint(level, among)
	totals, own := release.Figure{Name: "so-far"}, release.Figure{Name: "in-round"}
	var headline []release.Metric
	for _, cell := range top {
		said := truthOf(c, truth, cell)
		name := named(cell)
		totals.Series = append(totals.Series, line(c, name, c.Totals, cell, joint, said.totals))
		own.Series = append(own.Series, line(c, name, c.Since, cell, joint, said.own))
		table := release.Table{Name: "rounds", Key: name}
		for n, at := max(1, c.Rounds[len(c.Rounds)-1]-courseRows+1), 0; n <= c.Rounds[len(c.Rounds)-1]; n++ {
			for c.Rounds[at] < n {
				at++
			}
			row := []release.Cell{release.Number(float64(n), 0), {}, {}, {}, {}}
			if c.Rounds[at] == n {
				row = append(row[:1], within(c.Since[at][cell], joint)...)
				row = append(row, within(c.Totals[at][cell], joint)...)
			}
			if truth != nil {
				known := []release.Cell{{}, {}}
				if c.Rounds[at] == n {
					known = []release.Cell{release.Number(said.own[at], 0), release.Number(said.totals[at], 0)}
				}
				row = append(row, known...)
			}
			table.Rows = append(table.Rows, row)
		}
		s.Tables = append(s.Tables, table)
		if cell != top[0] { // a headline has one of each name
			continue
		}
		last := len(c.Rounds) - 1
		for i, of := range [][][]estimate.Value{c.Totals, c.Since} {
			v := of[last][cell]
			low, high := ends(v, joint)
			one := release.Metric{Name: courseMetrics[c.Windows != nil][i], Key: name, Value: v.Mean, StdErr: v.StdErr, Low: low, High: high, Level: level, Among: among}
			if truth != nil {
				one.Truth = &[][]float64{said.totals, said.own}[i][last]
			}
			headline = append(headline, one)
		}
	}
	s.Figures = []release.Figure{totals, own}
	if c.On != nil {
		metric, figure := turns(c, named(0), truth)
		headline, s.Figures = append([]release.Metric{metric}, headline...), append([]release.Figure{figure}, s.Figures...)
	}
	if len(c.Why) > 0 {
		missed := release.Table{Name: "missed"}
		for _, n := range slices.Sorted(maps.Keys(c.Why)) {
			missed.Rows = append(missed.Rows, []release.Cell{release.Number(float64(n), 0), release.Named(c.Why[n])})
		}
		s.Tables = append(s.Tables, missed)
	}
	if c.Windows != nil {
		metric, figures := windows(c.Windows, joint)
		headline, s.Figures = append(headline, metric), append(s.Figures, figures...)
	}
	return headline, s
}

// turns returns of how many the thing has begun and not ended: the newest round's, and the line of all. Its intervals hold for
// all rounds of the study at once.
func turns(c *histogram.Course, name string, truth *Truth) (release.Metric, release.Figure) {
	joint, last := estimate.Joint(level, c.Of), len(c.On)-1
	var on [][]estimate.Value
	var known []float64
	for i, v := range c.On {
		on = append(on, []estimate.Value{v})
		if truth != nil {
			begun := truth.Rounds[c.Rounds[i]-1]
			known = append(known, float64(begun[0]-begun[1]))
			if i > 0 {
				known[i] += known[i-1]
			}
		}
	}
	low, high := ends(c.On[last], joint)
	m := release.Metric{Name: onMetric, Key: name, Value: c.On[last].Mean, StdErr: c.On[last].StdErr, Low: low, High: high, Level: level, Among: c.Of}
	if truth != nil {
		m.Truth = &known[last]
	}
	return m, release.Figure{Name: onMetric, Series: []release.Series{line(c, name, on, 0, joint, known)}}
}

// onMetric names the number of those of whom a thing has begun and not ended, and its line.
const onMetric = "on"

// courseMetrics names those of the newest round, where windows are asked for and where not.
var courseMetrics = map[bool][2]string{false: {"so_far", "in_round"}, true: {"people_so_far", "people_in_round"}}

// saidTruth is what a simulation knows, by round told.
type saidTruth struct{ totals, own []float64 }

func truthOf(c *histogram.Course, truth *Truth, cell int) (t saidTruth) {
	if truth == nil {
		return t
	}
	total := 0.0
	for _, n := range c.Rounds {
		own := float64(truth.Rounds[n-1][cell])
		total += own
		if c.Windows != nil { // whoever said something, and of those the ones who had not before
			for _, more := range truth.Rounds[n-1][1:] {
				own += float64(more)
			}
		}
		t.totals, t.own = append(t.totals, total), append(t.own, own)
	}
	return t
}

// ends returns those of an interval: what happened cannot have happened less than never.
func ends(v estimate.Value, level float64) (low, high float64) {
	low, high = v.Interval(level)
	return max(0, low), max(0, high)
}

func within(v estimate.Value, level float64) []release.Cell {
	low, high := ends(v, level)
	return []release.Cell{release.Number(v.Mean, v.StdErr), release.Interval(low, high)}
}

// line returns that of a cell, with marks where a round told nothing.
func line(c *histogram.Course, name string, of [][]estimate.Value, cell int, level float64, truth []float64) release.Series {
	s := release.Series{Key: name}
	for i, n := range c.Rounds {
		v := of[i][cell]
		low, high := ends(v, level)
		s.X, s.Y = append(s.X, float64(n)), append(s.Y, v.Mean)
		s.Low, s.High = append(s.Low, low), append(s.High, high)
	}
	for _, n := range c.Missing() {
		s.Gaps = append(s.Gaps, float64(n))
	}
	if len(truth) <= courseTruths {
		s.Truth = truth
	}
	return s
}

// thing returns the name of what windows are asked about.
func thing(a plan.Attribute) string {
	if len(a.Values) > 0 {
		return a.Values[0]
	}
	return a.Name
}

func (w histogramWords) coursePhrase(m release.Metric) (phrase, bool) {
	of := w.plan.Correlated()
	if of == nil {
		return phrase{}, false
	}
	if of.Windows {
		return w.windowsPhrase(m)
	}
	if _, known := w.cells(place{})(m.Key); !known {
		return phrase{}, false
	}
	switch m.Name {
	case "so_far":
		return phrase{title: fmt.Sprintf("Times that “%s” was said so far", m.Key), unit: release.Count, note: "in the rounds that told something"}, true
	case onMetric:
		return phrase{title: fmt.Sprintf("People of whom “%s” holds after this round", m.Key), unit: release.Count, note: "what was said to begin less what was said to end"}, true
	case "in_round":
		return phrase{title: fmt.Sprintf("Times that “%s” was said in this round", m.Key), unit: release.Count}, true
	}
	return phrase{}, false
}

// course returns the words of the rounds so far.
func (w histogramWords) course(s release.Section, of plan.Correlated) said {
	cells, sure := w.cells(place{}), numerals.Percent(level)
	missing := ""
	if f := figure(s, "so-far"); f != nil && len(f.Series) > 0 && len(f.Series[0].Gaps) > 0 {
		missing = fmt.Sprintf(" %s told nothing: too few answered, or the row failed or came too late. What was said then is in no number, and costs nobody more.", roundsNamed(f.Series[0].Gaps))
		if rows(s, "missed") == len(f.Series[0].Gaps) { // which says why
			missing = fmt.Sprintf(" %s told nothing. What was said then is in no number, and costs nobody more.", roundsNamed(f.Series[0].Gaps))
		}
	}
	if of.Windows {
		return w.windows(s, of, missing)
	}
	text := fmt.Sprintf("Each person counts for at most %s in all %d rounds, and all rounds together cost what one answer is charged. Intervals of running totals hold for all %d rounds%s at once, in this release and in every other of the study, with probability %s, and those of single rounds do.%s",
		numerals.Count(of.Events, "event", "events"), of.Rounds, of.Rounds, w.ofCells(), sure, missing)
	if of.Turns {
		text += " Each person says in turn that it has begun and that it has ended, so that the difference counts of whom it holds; whoever has no event left is counted as the last one said."
	}
	truth := column{title: "truth, this round", unit: release.Count, known: true}
	whole := column{title: "truth, so far", unit: release.Count, known: true}
	return said{
		title: w.title(place{}) + ", round by round", text: text,
		tables: map[string]sheetWords{"rounds": {
			title: "The newest rounds of “%s”", of: cells,
			columns: []column{
				{title: "round", unit: release.Count}, {title: "in this round", unit: release.Count, empty: "no row"}, {title: sure + ", all at once", unit: release.Count, empty: "–"},
				{title: "so far", unit: release.Count, empty: "–"}, {title: sure + ", all at once", unit: release.Count, empty: "–"}, truth, whole,
			},
			note: "A round that adds less than nothing has more noise than events.",
		}, "missed": missedWords()},
		figures: map[string]figureWords{
			onMetric: {kind: release.Lines, title: "Of how many it holds after each round", x: "round", y: "people", keys: cells,
				alt: fmt.Sprintf("Of how many people it has begun and not ended after each round, with a band that holds all rounds at once with probability %s.", sure)},
			"so-far": {kind: release.Lines, title: "How often so far", x: "round", y: "times so far", keys: cells,
				alt: fmt.Sprintf("The running total after each round, with a band that holds all of them at once with probability %s.", sure)},
			"in-round": {kind: release.Lines, title: "What each round adds", x: "round", y: "times in the round", keys: cells,
				alt: fmt.Sprintf("What each round adds to the running total, with a band that holds all rounds at once with probability %s.", sure)},
		},
	}
}

// ofCells says that intervals are of all values too, where there are several.
func (w histogramWords) ofCells() string {
	if n := w.asked(place{}).Domain(); n > 1 {
		return fmt.Sprintf(" and all %d values", n)
	}
	return ""
}

// roundsNamed names rounds, of many the first ones.
func roundsNamed(rounds []float64) string {
	const most = 12
	var all []string
	for _, n := range rounds[:min(most, len(rounds))] {
		all = append(all, fmt.Sprintf("%.0f", n))
	}
	switch {
	case len(rounds) == 1:
		return "Round " + all[0]
	case len(rounds) > most:
		return fmt.Sprintf("Rounds %s and %d more", strings.Join(all, ", "), len(rounds)-most)
	}
	return "Rounds " + strings.Join(all, ", ")
}

// answer says how often a thing happened, of a study that counts events.
func (w histogramWords) answer() string {
	of := w.plan.Correlated()
	if of == nil {
		return ""
	}
	var says []string
	for _, s := range w.release.Sections {
		f, sentence := figure(s, "so-far"), saysSoFar[of.Windows]
		if of.Turns {
			f, sentence = figure(s, onMetric), "“%s” holds of %s to %s people now"
		}
		if f != nil {
			for _, line := range f.Series {
				last := len(line.X) - 1
				says = append(says, fmt.Sprintf(sentence, line.Key, numerals.FormatNumber(math.Round(line.Low[last])), numerals.FormatNumber(math.Round(line.High[last]))))
			}
		}
	}
	if len(says) == 0 {
		return ""
	}
	at := fmt.Sprintf("In at most %d rounds", of.Rounds)
	if r := w.plan.Round; r != nil {
		at = fmt.Sprintf("After round %d of %d", r.Number, of.Rounds)
	}
	return fmt.Sprintf("%s.\n%s; %s sure, for all %s at once.", strings.Join(says, "; "), at, numerals.Percent(level), map[bool]string{false: "rounds", true: "windows"}[of.Windows])
}

// saysSoFar are sentences of what was counted so far, where windows are asked for and where not.
var saysSoFar = map[bool]string{false: "“%s” was said %s to %s times so far", true: "“%s” was said by %s to %s different people so far"}

// missedWords says why rounds told nothing.
func missedWords() sheetWords {
	return sheetWords{
		title: "Rounds that told nothing",
		columns: []column{{title: "round", unit: release.Count}, {title: "why", keys: called(map[string]string{
			question.TooFew:    "withheld: too few answered",
			question.TooLate:   "late: its row had not come in time",
			question.RowFailed: "its row failed, and was given up",
		})}},
	}
}
