package results

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/question/table"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/release"
)

// A release stores numbers, each under a name, and names of its plan: values, classes, crowds. Titles, units,
// titles and notes follow from these. Whoever shows a release has Words write them, so that nobody can store others.
//
// Three things follow from no plan, and are stored as they are: the words of a public vocabulary, the names of groups
// that somebody has put together anew, and the state that the next round asks with.

// speaker returns what the findings of a release of one kind of question are.
type speaker interface {
	// phrase returns the words of a metric; not ok of one that no release of the plan has.
	phrase(m release.Metric) (p phrase, ok bool)
	// section returns those of a section; not ok of one that no release of the plan has.
	section(s release.Section) (w said, ok bool)
}

// phrase returns the words of a metric.
type phrase struct{ title, unit, note string }

// said returns the words of a section, and of what stands in it, by names.
type said struct {
	title, text string
	tables      map[string]sheetWords
	lists       map[string]listWords
	figures     map[string]figureWords
}

// sheetWords returns those of a table. Of several of one name the title says which it is.
type sheetWords struct {
	title, note string
	of          keys
	columns     []column
	heat        bool
}

// column returns the words of a column.
type column struct {
	title, unit string
	known       bool   // it is there only where something more is known: all of these or none
	keys        keys   // of the names in it; nil: none
	empty       string // where there is neither a name nor a number
}

// listWords returns those of a list.
type listWords struct {
	title, note string
	of, items   keys
}

// figureWords returns those of a figure.
type figureWords struct {
	kind             release.FigureKind
	title, alt, x, y string
	categories       keys
	series           []string // titles, in their order
	keys             keys     // of series, where they have names
	signed           bool     // numbers may be below zero
}

// keys returns the text of a name that is stored; not ok of one that the plan does not have.
type keys func(key string) (text string, ok bool)

// among takes the names of a list.
func among(names []string) keys {
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	return func(key string) (string, bool) { return key, known[key] }
}

// anything takes names that follow from no plan.
func anything(key string) (string, bool) { return key, true }

// called takes names that stand for words.
func called(words map[string]string) keys {
	return func(key string) (string, bool) {
		text, ok := words[key]
		return text, ok
	}
}

// accuracyMetric names how often what was learned is right, of public test records.
const accuracyMetric = "accuracy"

// speakerOf returns who speaks of a plan's question.
func speakerOf(p plan.Plan, q question.Question, r *release.Release) (speaker, error) {
	switch q := q.(type) {
	case *density.Question:
		return newDensityWords(p, q, r), nil
	case *histogram.Question:
		return histogramWords{p, r, q}, nil
	case *vector.Question:
		return newVectorWords(*p.Question.Vector, q, r), nil
	case *gradient.Question:
		return gradientWords{*p.Question.Gradient, q.Params()}, nil
	case *label.Question:
		return newLabelWords(p, q, r), nil
	case *latent.Question:
		return newLatentWords(p, r), nil
	case *strings.Question:
		return stringsWords{p, q, r}, nil
	case *table.Question:
		return tableWords{*p.Question.Table, q, r}, nil
	case *experiment.Question:
		return experimentWords{*p.Question.Experiment, r}, nil
	}
	return nil, fmt.Errorf("results: no words for %T", q)
}

// Words writes the words of what a release of the plan and its question says of the answer. It refuses what no release
// of the plan has.
func Words(p plan.Plan, q question.Question, r *release.Release) error {
	k, err := speakerOf(p, q, r)
	if err != nil {
		return err
	}
	w := writer{of: k, simulated: r.Source == release.Simulation}
	r.Headline, r.Sections = slices.Clone(r.Headline), slices.Clone(r.Sections)
	w.metrics("headline", r.Headline)
	for i := range r.Sections {
		w.section(fmt.Sprintf("sections[%d]", i), &r.Sections[i])
	}
	_, learns := k.phrase(release.Metric{Name: accuracyMetric})
	if one, is := k.(classes); is && len(one.names) < 2 {
		learns = false
	}
	_, tested := metric(r, accuracyMetric)
	r.Untested = learns && !tested && slices.ContainsFunc(r.Crowds, func(c release.Crowd) bool { return c.Smallest > 0 })
	if a, ok := k.(answerer); ok && w.err == nil {
		r.Answer = a.answer()
	}
	return w.err
}

// answerer is who says the answer in a sentence, where rows of numbers do not.
type answerer interface{ answer() string }

// writer writes words, and keeps the first thing that has none.
type writer struct {
	of        speaker
	simulated bool
	err       error
}

// refuse notes what no release of the plan has.
func (w *writer) refuse(path, format string, a ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("the release has in %s %s", path, fmt.Sprintf(format, a...))
	}
}

// known refuses what a simulation alone knows.
func (w *writer) known(path string, truth bool) {
	if truth && !w.simulated {
		w.refuse(path, "what a simulation alone knows")
	}
}

func (w *writer) metrics(path string, all []release.Metric) {
	for i := range all {
		m := &all[i]
		said, ok := w.of.phrase(*m)
		if !ok && w.simulated {
			said, ok = simulated(m.Name)
		}
		if !ok {
			w.refuse(path, "the metric %q, which no release of its plan has", m.Name+m.Key)
			continue
		}
		w.known(path, m.Truth != nil)
		m.Title, m.Unit, m.Note = said.title, said.unit, said.note
	}
}

// simulated returns the words of what simulations of every kind add.
func simulated(name string) (phrase, bool) {
	switch name {
	case "accuracy_exact":
		return phrase{"Best accuracy without any privacy", release.Share, "of classifiers that see the records"}, true
	case "accuracy_no_privacy":
		return phrase{"Accuracy without any privacy", release.Share, "of the same learner, from what a simulation knows without noise"}, true
	}
	return phrase{}, false
}

func (w *writer) section(path string, s *release.Section) {
	words, ok := w.of.section(*s)
	if !ok {
		w.refuse("sections", "the section %q, which no release of its plan has", s.Name)
		return
	}
	s.Title, s.Text = words.title, words.text
	s.Metrics, s.Tables, s.Lists, s.Figures = slices.Clone(s.Metrics), slices.Clone(s.Tables), slices.Clone(s.Lists), slices.Clone(s.Figures)
	w.metrics(path+".metrics", s.Metrics)
	for i := range s.Tables {
		t := &s.Tables[i]
		said, ok := words.tables[t.Name]
		if !ok {
			w.refuse(path, "the table %q, which no release of its plan has", t.Name)
			continue
		}
		t.Title, t.Note, t.Heat = w.title(path, said.title, t.Key, said.of), said.note, said.heat
		w.table(path, t, said.columns)
	}
	for i := range s.Lists {
		l := &s.Lists[i]
		said, ok := words.lists[l.Name]
		if !ok {
			w.refuse(path, "the list %q, which no release of its plan has", l.Name)
			continue
		}
		l.Title, l.Note = w.title(path, said.title, l.Key, said.of), said.note
		for _, item := range l.Items {
			w.key(path, item.Key, said.items)
			w.known(path, item.Truth != nil)
		}
	}
	for i := range s.Figures {
		said, ok := words.figures[s.Figures[i].Name]
		if !ok {
			w.refuse(path, "the figure %q, which no release of its plan has", s.Figures[i].Name)
			continue
		}
		w.figure(path, &s.Figures[i], said)
	}
}

// title returns that of one of several findings of a name.
func (w *writer) title(path, format, key string, of keys) string {
	if of == nil {
		if key != "" {
			w.refuse(path, "the name %q where its plan has none", key)
		}
		return format
	}
	return fmt.Sprintf(format, w.key(path, key, of))
}

// key returns the text of a name.
func (w *writer) key(path, key string, of keys) string {
	if of != nil {
		if text, ok := of(key); ok {
			return text
		}
	}
	w.refuse(path, "the name %q, which its plan does not have there", key)
	return key
}

func (w *writer) table(path string, t *release.Table, all []column) {
	columns := slices.DeleteFunc(slices.Clone(all), func(c column) bool { return c.known })
	if len(t.Rows) > 0 && len(t.Rows[0]) == len(all) {
		columns = all
	}
	t.Columns = nil
	for _, c := range columns {
		t.Columns = append(t.Columns, release.Column{Title: c.title, Unit: c.unit})
	}
	rows := make([][]release.Cell, len(t.Rows))
	for i, row := range t.Rows {
		if len(row) != len(columns) {
			w.refuse(path, "a table %q of %d columns, and its plan says %d", t.Name, len(row), len(columns))
			return
		}
		rows[i] = slices.Clone(row)
		for j := range row {
			switch cell := &rows[i][j]; {
			case cell.Key != "":
				cell.Text = w.key(path, cell.Key, columns[j].keys)
			case cell.Value == nil && !cell.Ends():
				cell.Text = columns[j].empty
			}
			w.known(path, columns[j].title == truthColumn)
		}
	}
	t.Rows = rows
}

func (w *writer) figure(path string, f *release.Figure, said figureWords) {
	f.Kind, f.Title, f.Alt, f.X.Title, f.Y.Title, f.Signed = said.kind, said.title, said.alt, said.x, said.y, said.signed
	for _, c := range f.Categories {
		w.key(path, c, said.categories)
	}
	f.Series = slices.Clone(f.Series)
	for i := range f.Series {
		s := &f.Series[i]
		w.known(path, len(s.Truth) > 0)
		switch {
		case said.keys != nil:
			s.Title = w.key(path, s.Key, said.keys)
		case s.Key != "" || i >= len(said.series):
			w.refuse(path, "a series in the figure %q, which no release of its plan has", f.Name)
		default:
			s.Title = said.series[i]
		}
	}
}

// metric returns that of a name in what a release says, in its headline or a section.
func metric(r *release.Release, name string) (m release.Metric, ok bool) {
	all := slices.Clone(r.Headline)
	for _, s := range r.Sections {
		all = append(all, s.Metrics...)
	}
	if i := slices.IndexFunc(all, func(m release.Metric) bool { return m.Name == name }); i >= 0 {
		return all[i], true
	}
	return m, false
}

// respondentsPhrase returns what every kind says of the number of respondents.
func respondentsPhrase(note string) phrase {
	return phrase{"Respondents counted", release.Count, note}
}

// onRecords returns how many public records a number was measured on.
func onRecords(m release.Metric) string { return fmt.Sprintf("on %d public test records", m.Records) }
