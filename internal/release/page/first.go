package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/release"
)

// What a reader sees before scrolling, beside the answer in words: rows of bars, or a shaded table.

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
	out := &rows{Unit: f.Y.Title, Note: f.Alt, Signed: true}
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
