package results

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/table"
	"github.com/confetti-dp/confetti/release"
)

// tableWords speaks of tables of every two columns.
type tableWords struct {
	ask     plan.Crosstab
	of      *table.Question
	release *release.Release
}

// cautions returns those of the respondents that a release counts; none where it counts nobody.
func (w tableWords) cautions() string {
	counted, _ := metric(w.release, respondentsMetric)
	if counted.Value < 1 {
		return ""
	}
	return " " + w.of.Cautions(int(counted.Value))
}

// answer says how many pairs of columns tell of each other, and which do the most.
func (w tableWords) answer() string {
	told, known := metric(w.release, "associated")
	switch n := len(w.ask.Columns); {
	case !known:
		return "Nothing is known: too few people answered."
	case told.Value == 0:
		return fmt.Sprintf("No pair of columns tells of each other that would be told from noise, of %d.", n*(n-1)/2)
	case len(w.release.Sections) < 2 || w.release.Sections[1].Name != "pair":
		return fmt.Sprintf("%.0f of %d pairs of columns tell of each other.", told.Value, n*(n-1)/2)
	default:
		return fmt.Sprintf("%.0f of %d pairs of columns tell of each other.\nBy the best guess “%s” does the most. Of pairs that stand as 0 nothing is told from noise.", told.Value, n*(n-1)/2, w.release.Sections[1].Key)
	}
}

func (w tableWords) phrase(m release.Metric) (phrase, bool) {
	n := len(w.ask.Columns)
	p, ok := map[string]phrase{
		respondentsMetric: respondentsPhrase(""),
		"associated":      {"Pairs of columns that tell of each other", release.Count, fmt.Sprintf("of %d; of the others nothing is told from noise", n*(n-1)/2)},
		"sum_error":       {"Standard error of a number of the sum", release.Count, ""},
		"cells_at_once":   {"Errors to each side of a range, so that all hold at once", "", "whatever is asked of this release"},
		"strength":        {"Association", "", "Cramer's V: 0 where neither tells of the other, 1 where it tells all"},
		"cell_error":      {"Standard error of a count", release.Count, "of the count as it is, not of the best guess"},
		"off":             {"Best guesses are off, as a share of the respondents", release.Share, "mean over tables"},
		"off_raw":         {"Counts as they are are off", release.Share, "mean over tables"},
	}[m.Name]
	return p, ok && m.Key == ""
}

// columns returns the numbers of the columns that a section is of.
func (w tableWords) columns(key string) (a, b int, ok bool) {
	for b, second := range w.ask.Columns {
		for a, first := range w.ask.Columns[:b] {
			if pairName(first.Name, second.Name) == key {
				return a, b, true
			}
		}
	}
	return 0, 0, false
}

func (w tableWords) section(s release.Section) (said, bool) {
	switch s.Name {
	case "association":
		var names []string
		heat := []column{{title: "column"}}
		for _, c := range w.ask.Columns {
			names = append(names, c.Name)
			heat = append(heat, column{title: c.Name})
		}
		heat[0].keys = among(names)
		return said{
			title:  "How strongly two go together",
			text:   fmt.Sprintf("One charge covers every table. All that is told follows from %s, so asking of it is free, however often: confetti ask has any question of two columns. Three columns at once are not in it: of these it tells a range, and a guess by a model.%s", sheets.CountsFile, w.cautions()),
			tables: map[string]sheetWords{"association": {title: "How much two columns tell of each other", note: "Cramer's V, with noise taken out: from 0, nothing, to 1, all. A column beside itself stands as 0.", columns: heat, heat: true}},
		}, s.Key == ""
	case "pair":
		a, b, ok := w.columns(s.Key)
		if !ok {
			return said{}, false
		}
		first := column{title: w.ask.Columns[a].Name, keys: among(table.Values(w.ask.Columns[a]))}
		best, ranges := []column{first}, []column{first}
		for _, v := range table.Values(w.ask.Columns[b]) {
			best, ranges = append(best, column{title: v, unit: release.Count}), append(ranges, column{title: v, unit: release.Count})
		}
		return said{
			title: s.Key,
			tables: map[string]sheetWords{
				"best":   {title: "Best guess, in respondents", note: "Noise that has no structure is taken out. A guess has no range of its own.", columns: best, heat: true},
				"ranges": {title: "Ranges", note: numerals.Percent(level) + " for all that can be asked of this release at once.", columns: ranges},
			},
		}, true
	}
	return said{}, false
}
