package results

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// histogramWords speaks of the cells of attributes, in each crowd.
type histogramWords struct {
	plan     plan.Plan
	release  *release.Release
	question *histogram.Question
}

// place says where a table of a histogram stands among all.
type place struct{ attributes, crowds, attribute, crowd int }

// key names what is of a table: by attribute, and by crowd if there are several.
func (p place) key(name, separator string) string {
	if p.crowds > 1 {
		name = fmt.Sprintf("crowd%s%d%s%s", separator, p.crowd+1, separator, name)
	}
	if p.attributes > 1 {
		name = fmt.Sprintf("attribute%s%d%s%s", separator, p.attribute+1, separator, name)
	}
	return name
}

var keyed = regexp.MustCompile(`^(?:attribute[-_](\d+)[-_])?(?:crowd[-_](\d+)[-_])?([a-z_-]+)$`)

// find returns what a name is of, and its last part.
func (w histogramWords) find(name, separator string) (at place, last string, ok bool) {
	at = place{attributes: len(w.plan.Question.Histogram.Attributes), crowds: w.plan.Crowds()}
	m := keyed.FindStringSubmatch(name)
	if m == nil {
		return at, "", false
	}
	for i, to := range []*int{&at.attribute, &at.crowd} {
		if m[i+1] != "" {
			n, err := strconv.Atoi(m[i+1])
			if err != nil {
				return at, "", false
			}
			*to = n - 1
		}
	}
	whole := at
	if m[3] == "groups" { // of all crowds
		whole.crowds = 1
	}
	ok = at.attribute >= 0 && at.attribute < at.attributes && at.crowd >= 0 && at.crowd < at.crowds && whole.key(m[3], separator) == name
	return at, m[3], ok
}

func (w histogramWords) asked(at place) plan.Attribute {
	return w.plan.Question.Histogram.Attributes[at.attribute]
}

// title names the attribute, and the crowd if there are several.
func (w histogramWords) title(at place) string {
	if at.crowds > 1 {
		return fmt.Sprintf("%s, crowd %q", w.asked(at).Name, w.plan.Crowd.Names[at.crowd])
	}
	return w.asked(at).Name
}

func (w histogramWords) axis(at place) encode.Axis {
	a := w.asked(at)
	return encode.Axis{Low: a.Low, High: a.High, Cells: a.Cells}
}

// cells takes the names of an attribute's.
func (w histogramWords) cells(at place) keys {
	if w.asked(at).Kind == "open" { // whose names came from the rows
		return anything
	}
	var names map[string]bool
	return func(key string) (string, bool) {
		if names == nil { // only where one is asked about: there may be many
			names = w.question.Names(at.attribute)
		}
		return key, names[key]
	}
}

func (w histogramWords) phrase(m release.Metric) (phrase, bool) {
	if m.Name == respondentsMetric {
		return respondentsPhrase(""), !w.plan.RowsHidden()
	}
	if m.Name == rowsMetric {
		return phrase{"Rows, as the noisy counts add up", release.Count, "how many there are is private"}, w.plan.RowsHidden()
	}
	if said, ok := w.coursePhrase(m); ok {
		return said, true
	}
	at, last, ok := w.find(m.Name, "_")
	if !ok {
		return phrase{}, false
	}
	title := w.title(at)
	switch last {
	case "largest":
		_, known := w.cells(at)(m.Key)
		return phrase{title: fmt.Sprintf("Respondents who hold %q, the largest estimate of %s", m.Key, title), unit: release.Count}, known
	case "average":
		a := w.asked(at)
		said := phrase{title: "Mean of " + title, note: fmt.Sprintf("of the numbers themselves, taken to the nearer of %g and %g where they lie outside", a.Low, a.High)}
		if w.plan.RowsHidden() {
			said.note += "; rows without a number are left out"
		} else {
			said.note += "; a row without a number counts as the middle"
		}
		return said, a.Kind == "mean"
	case "heavy_hitters":
		return phrase{fmt.Sprintf("Values of %s found to be held by somebody", title), release.Count, "false-discovery rate at most " + numerals.Percent(discoveryRate)}, true
	}
	a, axis := w.asked(at), w.axis(at)
	if a.Kind != "buckets" {
		return phrase{}, false
	}
	half := (a.High - a.Low) / float64(a.Cells) / 2
	share := func(bucket string) (phrase, bool) {
		return phrase{title: fmt.Sprintf("Share of %s in the end bucket %s", title, bucket), unit: release.Share}, !a.Others && a.Cells > 1
	}
	switch last {
	case "mean":
		if a.Others {
			return phrase{title: "Mean of " + title, note: fmt.Sprintf("each number taken for the middle of its bucket, which may move the mean by up to %.3g", half)}, true
		}
		return phrase{
			title: fmt.Sprintf("Mean of %s clipped to %s to %s", title, axis.FormatEdge(0), axis.FormatEdge(axis.Cells)),
			note:  fmt.Sprintf("a number outside taken to the nearer end, then each for the middle of its bucket, which may move this mean by up to %.3g; the mean of the numbers themselves has no bound, since the two end buckets hold whatever lies outside", half),
		}, true
	case "lowest_bucket":
		return share("below " + axis.FormatEdge(1))
	case "highest_bucket":
		return share(axis.FormatEdge(axis.Cells-1) + " and more")
	}
	return phrase{}, false
}

func (w histogramWords) section(s release.Section) (said, bool) {
	if s.Name == crowdsSection {
		return w.crowds(), w.plan.Crowds() > 1
	}
	if of := w.plan.Correlated(); of != nil {
		return w.course(s, *of), s.Name == courseSection
	}
	at, last, ok := w.find(s.Name, "-")
	if !ok {
		return said{}, false
	}
	switch last {
	case "answers":
		return w.answers(at, s), true
	case "groups":
		return w.groups(at), true
	}
	return said{}, false
}

// crowds returns the words of the numbers of respondents.
func (w histogramWords) crowds() said {
	t := sheetWords{title: "Respondents by crowd", columns: []column{{title: "crowd", keys: among(w.plan.Crowd.Names)}, {title: "respondents", unit: release.Count, empty: "withheld"}}}
	if w.plan.Crowd.Deletion != nil {
		t.note = "Randomized deletion keeps the sizes of crowds private: these numbers are smaller than the true ones by a random amount."
	}
	return said{title: "Crowds", tables: map[string]sheetWords{crowdsSection: t}}
}

// groups returns the words of cells that were put together anew.
func (w histogramWords) groups(at place) said {
	columns := []column{{title: "group", keys: anything}, {title: "cells", unit: release.Count}, {title: "respondents", unit: release.Count}}
	truth := column{title: truthColumn, unit: release.Count, known: true}
	shares := append(columns[:3:3], column{title: "share", unit: release.Share}, column{title: "share, " + numerals.Percent(level), unit: release.Share}, truth)
	crowd := called(map[string]string{"": w.asked(at).Name})
	if at.crowds > 1 {
		names := among(w.plan.Crowd.Names)
		crowd = func(key string) (string, bool) {
			name, ok := names(key)
			return fmt.Sprintf("%s, crowd %q", w.asked(at).Name, name), ok
		}
	}
	return said{
		title: "Groups of " + w.asked(at).Name, text: "What the reports carry, put together anew. It costs no privacy: they were private before.",
		tables: map[string]sheetWords{
			"crowd": {title: "%s", of: crowd, columns: shares},
			"all":   {title: "All crowds together", columns: append(columns[:3:3], truth)},
		},
	}
}

// answers returns the words of an attribute in a crowd.
func (w histogramWords) answers(at place, s release.Section) said {
	title, law, cells, a := w.title(at), w.question.Outline(at.attribute), w.cells(at), w.asked(at)
	out := said{
		title: title, text: "Estimates are unbiased, so that one of a cell that nobody holds is below zero as often as above. Errors are those of the noise, not of choosing respondents.",
		tables: map[string]sheetWords{"largest": w.largest(law, s, cells), "poisoning": w.poisoning()},
		lists:  map[string]listWords{"held": w.held(at, law, cells)}, figures: map[string]figureWords{},
	}
	switch _, proved := metric(w.release, at.key("heavy_hitters", "_")); {
	case a.Kind == "mean":
		out.text = fmt.Sprintf("A sum of the numbers, with noise, over how many rows there are. %s has how many rows lie towards either end, a row between both counted for a part of each.", sheets.CountsFile)
	case a.Kind == "open":
		out.text = fmt.Sprintf("Nobody declared these values: they are those of the rows whose noisy count is at least %d. That a rarer one is missing says nothing of it. An interval holds its own value's count with probability %s, published or not; of those that are published more may fail, where many values lie just below.", a.Least, numerals.Percent(level))
	case !proved:
		out.text += " There is no list of values that somebody holds: nothing is proved about the far tails of this mechanism's errors."
	}
	values := w.size(law, s)
	switch f := figure(s, at.key("top", "-")); {
	case a.Kind == "grid":
		out.figures[at.key("grid", "-")] = figureWords{kind: release.Heat, title: "Where respondents lie: " + title, x: "x", y: "y", alt: w.places(at, s)}
		for axis, of := range map[string]*plan.Axis{"x": a.X, "y": a.Y} {
			out.tables[axis] = along(axis, of.Cells)
		}
	case f != nil:
		what := "The most frequent values of %s"
		if a.Kind == "buckets" && len(f.Categories) == values && values <= figureBuckets {
			what = "Respondents by %s"
		}
		atOnce, holds := fmt.Sprintf(" of all %d at once", law.AtOnce()), fmt.Sprintf(" that hold for all %d values at once", law.AtOnce())
		if a.Kind == "open" {
			atOnce, holds = "", ""
		}
		out.figures[f.Name] = figureWords{
			kind: release.Bars, title: fmt.Sprintf(what+", with %s intervals%s", title, numerals.Percent(level), atOnce), x: a.Name, y: "respondents",
			alt:        fmt.Sprintf("Estimated respondents for each of %d values of %s, with %s intervals%s.", len(f.Categories), title, numerals.Percent(level), holds),
			categories: cells, series: []string{"estimate"},
		}
	}
	if a.Kind == "buckets" {
		out.tables["quantiles"] = w.quantiles(at, law)
		out.figures[at.key("distribution", "-")] = figureWords{
			kind: release.Lines, title: "Distribution of " + title, x: a.Name, y: "share of respondents", series: []string{"share at or below"},
			alt: fmt.Sprintf("Share of respondents whose %s lies at or below each edge of the buckets, with a band that holds the whole function with probability %s.", title, numerals.Percent(level)),
		}
	}
	return out
}

// figure returns that of a name in a section; nil where there is none.
func figure(s release.Section, name string) *release.Figure {
	for i := range s.Figures {
		if s.Figures[i].Name == name {
			return &s.Figures[i]
		}
	}
	return nil
}

// rows returns how many a table of a section has.
func rows(s release.Section, name string) int {
	for _, t := range s.Tables {
		if t.Name == name {
			return len(t.Rows)
		}
	}
	return 0
}

// size returns how many values an attribute has. Of those that nobody declared they are what the release has.
func (w histogramWords) size(law *histogram.Table, s release.Section) int {
	if law.Asked.Kind != "open" {
		return law.Size()
	}
	return rows(s, "largest")
}

// largest returns the words of the table of cells with their errors.
func (w histogramWords) largest(law *histogram.Table, s release.Section, cells keys) sheetWords {
	of := "values"
	if law.AtOnce() > law.Size() {
		of = "values of this page"
	}
	out := sheetWords{
		title: fmt.Sprintf("The %d largest of %d", rows(s, "largest"), w.size(law, s)),
		columns: []column{
			{title: "value", keys: cells}, {title: "respondents", unit: release.Count}, {title: numerals.Percent(level) + ", all at once", unit: release.Count},
			{title: truthColumn, unit: release.Count, known: true}, {title: "consistent", unit: release.Count},
		},
		note: fmt.Sprintf("The intervals hold the numbers of all %d %s together with probability %s, and so those of whatever values are picked for their estimates, as these were. The column consistent is not below zero", law.AtOnce(), of, numerals.Percent(level)),
	}
	if law.Asked.Kind == "open" {
		out.title = fmt.Sprintf("The %d largest that passed", rows(s, "largest"))
		out.columns[2].title = numerals.Percent(level)
		out.note = "The column consistent is not below zero"
	}
	switch {
	case law.Total():
		out.note += " and sums to the respondents over all values"
	case law.Asked.Items() == 1:
		out.note += " and sums to no more than the respondents over all values"
	}
	out.note += "; it is biased, and has no error of its own."
	if !law.Exact() {
		out.note += " Intervals are those of the normal law."
	}
	return out
}

// held returns the words of the list of values that somebody holds.
func (w histogramWords) held(at place, law *histogram.Table, cells keys) listWords {
	out := listWords{
		title: fmt.Sprintf("Values of %s found to be held by somebody", w.title(at)), items: cells,
		note: fmt.Sprintf("Of the whole list at most %s are held by nobody, in expectation over the noise (Benjamini and Hochberg).", numerals.Percent(discoveryRate)),
	}
	if !law.Independent() {
		out.note = fmt.Sprintf("Of the whole list at most %s are held by nobody, in expectation over the noise, however the errors are correlated (Benjamini and Yekutieli).", numerals.Percent(discoveryRate))
	}
	if m, ok := metric(w.release, at.key("heavy_hitters", "_")); ok && m.Value > listItems {
		out.note += fmt.Sprintf(" The first %d of %.0f are shown.", listItems, m.Value)
	}
	return out
}

// places returns what the picture of a grid shows.
func (w histogramWords) places(at place, s release.Section) string {
	largest := 0.0
	if f := figure(s, at.key("grid", "-")); f != nil && f.Grid != nil {
		largest = f.Grid.Largest()
	}
	a := w.asked(at)
	return fmt.Sprintf("Estimated respondents in each of %d by %d cells of %s; the largest holds %s.", a.X.Cells, a.Y.Cells, w.title(at), numerals.FormatNumber(largest))
}

// along returns the words of the sums of a grid along an axis.
func along(axis string, cells int) sheetWords {
	out := sheetWords{title: "Respondents along " + axis, columns: []column{{title: "from"}, {title: "to"}, {title: "respondents", unit: release.Count}, {title: truthColumn, unit: release.Count, known: true}}}
	if cells > tableRows {
		out.note = fmt.Sprintf("The first %d of %d.", tableRows, cells)
	}
	return out
}

// quantiles returns the words of their table. What reaches an open end bucket has no end there.
func (w histogramWords) quantiles(at place, law *histogram.Table) sheetWords {
	with := ""
	if law.Joint(level) > level {
		with = ", with the intervals of counts and of other columns,"
	}
	out := sheetWords{
		title: "Quantiles of " + w.title(at), note: fmt.Sprintf("All intervals hold at once%s with probability %s, and end at edges of buckets.", with, numerals.Percent(level)),
		columns: []column{
			{title: "share at or below", unit: release.Share}, {title: "estimate"}, {title: numerals.Percent(level) + ", all at once", empty: "any number"}, {title: truthColumn, known: true},
		},
	}
	if !w.asked(at).Others {
		out.note += " The two end buckets hold whatever lies outside, so that an interval that reaches one has no end there."
	}
	return out
}

// poisoning returns the words of how far devices that keep to no protocol could move an estimate.
func (w histogramWords) poisoning() sheetWords {
	out := sheetWords{
		title:   "How far malicious devices could move any one of these estimates",
		columns: []column{{title: "malicious, one in", unit: release.Count}, {title: "devices", unit: release.Count}, {title: "up, respondents", unit: release.Count}, {title: "down, respondents", unit: release.Count}},
		note:    "A device that keeps to no protocol may put all its envelopes into one cell, and nobody can tell: that is the price of fragments that cannot be linked.",
	}
	switch most, ok := w.question.Proved(); {
	case ok && most > 1:
		out.note = fmt.Sprintf("A device proves to both aggregators that each of its numbers is one that a cell and its noise may have, so that it moves each cell by %d respondents at most: what proves nothing is not added up. The proof does not say that the report is true, or that the noise was drawn.", most)
	case ok:
		out.note = "A device proves to both aggregators that what it sends is one report's, so that it moves each cell by one report at most: what proves nothing is not added up. The proof does not say that the report is true."
	}
	return out
}
