package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/release"
)

// What a reader sees before scrolling: an answer in words of what is sure, and rows of bars.

// mostRows bounds how many values a page draws before it is unfolded: those, with title and answer, are what the
// first screen of a phone holds.
const mostRows = 10

// row is one value: solid as far as it is sure, light as far as it may go, with a mark at the best guess.
type row struct {
	Name, Value, Range, Truth string
	Sure, Perhaps, Mark       float64 // in percent of the axis: where sure ends, how far on perhaps goes, and the best guess
}

// rows are a chart.
type rows struct {
	Rows  []row
	Ticks []string // from zero, at even distances
	Unit  string
	Note  string
	// Signed says that ranges lie around zero: nothing is sure from an end of the axis on.
	Signed bool
}

// ranged reports whether a figure is one of counts with ranges.
func ranged(f *release.Figure) bool {
	return f != nil && f.Kind == release.Bars && len(f.Series) == 1 && len(f.Series[0].Low) == len(f.Categories) && len(f.Series[0].High) == len(f.Categories) && len(f.Categories) > 0
}

// leading returns the figure that stands above all else, nil if there is none.
func leading(r release.Release) *release.Figure {
	for _, s := range r.Sections {
		for i := range s.Figures {
			return &s.Figures[i]
		}
	}
	return nil
}

func number(x float64) string { return numerals.FormatNumber(math.Round(x)) }

// chart returns the rows of the leading figure, or of three shares; nil of what has neither.
func chart(r release.Release) *rows {
	if three := beside(r); three != nil {
		return three
	}
	f := leading(r)
	if !ranged(f) {
		return nil
	}
	if f.Signed {
		return signed(f)
	}
	s := f.Series[0]
	section := r.Sections[slices.IndexFunc(r.Sections, func(s release.Section) bool { return len(s.Figures) > 0 })]
	top := 0.
	for _, high := range s.High {
		top = max(top, high)
	}
	step := even(top / 4)
	axis := step * math.Ceil(top/step)
	if !(axis > 0) {
		return nil
	}
	at := func(x float64) float64 { return 100 * min(1, max(0, x/axis)) }
	out := &rows{Unit: "people", Note: together(r.Source, section, f) + " Their width is the noise that protects people; it says nothing of who was not asked."}
	for _, i := range foremost(s.Y, mostRows) {
		guess := min(max(s.Y[i], s.Low[i]), s.High[i]) // noise may take it beyond what can be true
		one := row{
			Name: f.Categories[i], Value: number(max(0, guess)), Range: number(max(0, s.Low[i])) + " to " + number(max(0, s.High[i])),
			Sure: at(s.Low[i]), Perhaps: at(s.High[i]) - at(s.Low[i]), Mark: at(guess),
		}
		if i < len(s.Truth) {
			one.Truth = "truth " + number(s.Truth[i])
		}
		out.Rows = append(out.Rows, one)
	}
	if more := len(f.Categories) - mostRows; more > 0 {
		out.Note = fmt.Sprintf("The %d largest; the others stand below. ", mostRows) + out.Note
	}
	for x := 0.; x <= axis*(1+1e-9); x += step {
		out.Ticks = append(out.Ticks, number(x))
	}
	return out
}

// signed returns the rows of ranges that may lie below zero, on an axis that has zero in it.
func signed(f *release.Figure) *rows {
	s := f.Series[0]
	low, high := min(0, slices.Min(s.Low)), max(0, slices.Max(s.High))
	step := fine((high - low) / 4)
	from, to := step*math.Floor(low/step), step*math.Ceil(high/step)
	at := func(x float64) float64 { return 100 * min(1, max(0, (x-from)/(to-from))) }
	out := &rows{Unit: f.Y.Label, Note: f.Alt, Signed: true}
	for i, name := range f.Categories {
		one := row{Name: name, Value: decimal(s.Y[i]), Range: decimal(s.Low[i]) + " to " + decimal(s.High[i]), Sure: at(s.Low[i]), Perhaps: at(s.High[i]) - at(s.Low[i]), Mark: at(s.Y[i])}
		if i < len(s.Truth) {
			one.Truth = "truth " + decimal(s.Truth[i])
		}
		out.Rows = append(out.Rows, one)
	}
	for x := from; x <= to+step/2; x += step {
		out.Ticks = append(out.Ticks, strconv.FormatFloat(math.Round(x/step)*step, 'g', 6, 64))
	}
	return out
}

// decimal writes a number with one digit behind the point.
func decimal(x float64) string {
	if x = math.Round(10*x) / 10; x == 0 {
		x = 0 // and not its negative
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}

// fine returns the next of 1, 2 and 5 times a power of ten.
func fine(x float64) float64 {
	unit := math.Pow10(int(math.Floor(math.Log10(max(1e-6, x)))))
	for _, m := range []float64{1, 2, 5} {
		if m*unit >= x {
			return m * unit
		}
	}
	return 10 * unit
}

// together says of which values ranges hold at once, and how surely.
func together(source release.Source, s release.Section, f *release.Figure) string {
	if i := slices.IndexFunc(s.Lists, func(l release.List) bool { return l.Level > 0 && l.Among > 1 }); i >= 0 {
		if source == release.OwnTable {
			return fmt.Sprintf("All %s ranges of this page hold together with %.0f\u00a0%% probability.", number(float64(s.Lists[i].Among)), 100*s.Lists[i].Level)
		}
		return fmt.Sprintf("%s: all %s ranges hold together with %.0f\u00a0%% probability.", upper(s.Title), number(float64(s.Lists[i].Among)), 100*s.Lists[i].Level)
	}
	return f.Title + "."
}

// foremost returns where the largest of so many numbers stand, in the order in which they stand.
func foremost(y []float64, most int) []int {
	all := make([]int, len(y))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(y[b], y[a]) })
	all = all[:min(most, len(all))]
	slices.Sort(all)
	return all
}

// even returns the next of 1, 2, 2.5 and 5 times a power of ten, at least one: people are whole.
func even(x float64) float64 {
	unit := math.Pow10(int(math.Floor(math.Log10(max(1, x)))))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*unit >= x && m*unit == math.Trunc(m*unit) {
			return m * unit
		}
	}
	return 10 * unit
}

// metric returns one of so many by its name, nil where it is not there.
func metric(all []release.Metric, name string) *release.Metric {
	if i := slices.IndexFunc(all, func(m release.Metric) bool { return m.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// metricOf returns a metric of a release by its name; nil where it has none.
func metricOf(r release.Release, names ...string) *release.Metric {
	for _, name := range names {
		for _, all := range append([][]release.Metric{r.Headline}, sectionMetrics(r)...) {
			if m := metric(all, name); m != nil && m.Unit == release.Share {
				return m
			}
		}
	}
	return nil
}

func sectionMetrics(r release.Release) (all [][]release.Metric) {
	for _, s := range r.Sections {
		all = append(all, s.Metrics)
	}
	return all
}

// classes returns how many a learner tells apart, by the rows of what it takes for what; 0 where no table says that.
func classes(r release.Release) int {
	for _, s := range r.Sections {
		for _, t := range s.Tables {
			if t.Heat && len(t.Rows) > 1 && len(t.Rows) == len(t.Columns)-1 {
				return len(t.Rows)
			}
		}
	}
	return 0
}

// beside returns what a learner gets right by chance, with privacy, and without; nil of what learns no classes.
func beside(r release.Release) *rows {
	private := metricOf(r, "accuracy")
	if private == nil {
		return nil
	}
	out := &rows{Ticks: []string{"0", "25", "50", "75", "100"}, Unit: "% right", Note: "Of public records with a known class. "}
	add := func(name string, m release.Metric) {
		low, high := m.Value, m.Value
		if m.Level > 0 {
			low, high = m.Low, m.High
		}
		one := row{Name: name, Value: percent(m.Value), Sure: 100 * low, Perhaps: 100 * (high - low), Mark: 100 * m.Value}
		if m.Level > 0 {
			one.Range = strings.TrimSuffix(percent(low), "\u00a0%") + " to " + percent(high)
		}
		out.Rows = append(out.Rows, one)
	}
	if k := classes(r); k > 0 {
		add("By chance", release.Metric{Value: 1 / float64(k)})
		out.Note += fmt.Sprintf("Chance is one guess among %d classes. ", k)
	}
	add("With privacy", *private)
	if m := metricOf(r, "accuracy_no_privacy", "accuracy_exact"); m != nil {
		add(without, *m)
	} else if r.Source == release.Simulation {
		out.Note += "What a learner would get without privacy was not measured."
	} else {
		out.Note += "What a learner would get without privacy is not known: nobody has the records."
	}
	return out
}

// without names what a learner gets that sees the records.
const without = "Without"

func percent(share float64) string { return fmt.Sprintf("%.1f\u00a0%%", 100*share) }

// sayAnswer says in words what is sure: its first sentence, and what else.
func sayAnswer(r release.Release) (first, more string) {
	if r.Answer != "" {
		first, more, _ = strings.Cut(r.Answer, "\n")
		return first, more
	}
	if r.Untested {
		defer func() { more = strings.TrimSpace(more + " " + untested) }()
	}
	if three := beside(r); three != nil {
		var all []string
		for _, one := range three.Rows {
			if one.Name == "With privacy" {
				first = one.Range
				if first == "" {
					first = one.Value
				}
				first += " right with privacy."
				continue
			}
			name := one.Name
			if name == without {
				name = "without privacy"
			}
			all = append(all, name+" "+one.Value)
		}
		if len(all) > 0 {
			more = strings.Join(all, ", ") + "."
		}
		return first, more
	}
	f, between := leading(r), ranges(r)
	if !ranged(f) {
		var all []string
		for _, m := range r.Headline[:min(2, len(r.Headline))] {
			all = append(all, m.Label+": "+m.String())
		}
		if len(between) > 0 {
			all = between
		}
		if len(all) == 0 {
			return "", ""
		}
		return strings.Join(all, "; ") + ".", ""
	}
	if len(between) > 0 { // of columns that have no picture
		defer func() { more = strings.TrimSpace(more + " " + strings.Join(between, "; ") + ".") }()
	}
	var ranging []release.Section
	for _, s := range r.Sections {
		if len(s.Figures) > 0 && ranged(&s.Figures[0]) {
			ranging = append(ranging, s)
		}
	}
	first, more = ranks(f.Categories, f.Series[0])
	if n := metric(r.Headline, "respondents"); n != nil && n.Value > 0 && len(r.Crowds) < 2 {
		of := " of "
		if strings.HasPrefix(first, tooClose) {
			of = ", among "
		}
		first = strings.TrimSuffix(first, ".") + of + number(n.Value) + " people."
	}
	if len(ranging) < 2 {
		return first, more
	}
	first, more = titled(ranging[0], first), ""
	for _, s := range ranging[1:min(mostAnswers, len(ranging))] {
		one, _ := ranks(s.Figures[0].Categories, s.Figures[0].Series[0])
		more += titled(s, one) + " "
	}
	if n := len(ranging) - mostAnswers; n > 0 {
		more += fmt.Sprintf("And %d more below.", n)
	}
	return first, strings.TrimSpace(more)
}

// ranges says between what the means of one holder's columns lie, which no picture has.
func ranges(r release.Release) (all []string) {
	for _, m := range r.Headline {
		if r.Source == release.OwnTable && m.Level > 0 && m.Key == "" {
			low, high := m, m
			low.Value, high.Value = m.Low, m.High
			all = append(all, m.Label+": "+low.String()+" to "+high.String())
		}
	}
	return all
}

// heading returns the title, with a capital where it begins with the name of a column.
func heading(r release.Release) string {
	if r.Source == release.OwnTable || r.Source == release.Simulation {
		return upper(r.Title)
	}
	return r.Title
}

// grid returns the shaded table that a release without pictures opens with; nil where it has none.
func grid(r release.Release) *release.Table {
	if leading(r) != nil || beside(r) != nil || len(r.Sections) == 0 || len(r.Sections[0].Tables) == 0 || !r.Sections[0].Tables[0].Heat {
		return nil
	}
	return &r.Sections[0].Tables[0]
}

// untested stands where a learner would open with three bars.
const untested = "How often it is right, by chance, with privacy and without, is not known: no public test records were given."

// mostAnswers bounds of how many questions, or crowds, an answer speaks.
const mostAnswers = 3

// titled puts the title of a section before what is said of it.
func titled(s release.Section, said string) string { return upper(s.Title) + ": " + said }

// upper returns a text with a capital letter first.
func upper(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// tooClose begins an answer that nobody can give.
const tooClose = "Too close to tell"

var ordinals = []string{"first", "second", "third"}

// ranks says which values surely come first, second and third, and which are too close to tell.
func ranks(names []string, s release.Series) (first, more string) {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Y[b], s.Y[a]) })
	// tied are the values from a place on that may stand there.
	tied := func(place int) []string {
		var all []string
		for _, i := range order[place:] {
			if s.High[i] >= s.Low[order[place]] {
				all = append(all, "“"+names[i]+"”")
			}
		}
		return all
	}
	tie := func(all []string) string {
		if len(all) > 4 {
			return fmt.Sprintf("any of %d", len(all))
		}
		return strings.Join(all, " or ")
	}
	i := order[0]
	if all := tied(0); len(all) > 1 {
		return tooClose + " what comes first: " + tie(all) + ".", ""
	}
	first = fmt.Sprintf("“%s” comes first: %s to %s.", names[i], number(max(0, s.Low[i])), number(max(0, s.High[i])))
	var sure []string
	for place := 1; place < min(len(order), len(ordinals)); place++ {
		all := tied(place)
		if len(all) > 1 {
			if len(sure) > 0 {
				more = strings.Join(sure, ", ") + ". "
			}
			return first, more + "Then " + tie(all) + ": too close to tell."
		}
		sure = append(sure, all[0]+" is "+ordinals[place])
	}
	if len(sure) > 0 {
		more = strings.Join(sure, ", ") + "."
	}
	return first, more
}

// Answer says in words what is sure, in one or two sentences.
func Answer(r release.Release) string {
	first, more := sayAnswer(r)
	return strings.TrimSpace(first + " " + more)
}

// answer returns sayAnswer for the page.
func answer(r release.Release) template.HTML {
	first, more := sayAnswer(r)
	out := "<strong>" + template.HTMLEscapeString(first) + "</strong>"
	if more != "" {
		out += " " + template.HTMLEscapeString(more)
	}
	return template.HTML(out)
}

// people says how many answered, "" where that is not known or not for everybody.
func people(r release.Release) string {
	if n := metric(r.Headline, "respondents"); n != nil && n.Value > 0 {
		if r.Source == release.OwnTable || r.Source == release.Simulation && !r.Full {
			return number(n.Value) + " people"
		}
		return number(n.Value) + " people answered"
	}
	return ""
}
