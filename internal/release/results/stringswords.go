package results

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/release"
)

// stringsWords speaks of strings that nobody listed.
type stringsWords struct {
	plan    plan.Plan
	of      *strings.Question
	release *release.Release
}

func (w stringsWords) phrase(m release.Metric) (phrase, bool) {
	expected := fmt.Sprintf("%d by the plan: where it is far from that, some are no devices of it", w.plan.Question.Strings.Answered)
	p, ok := map[string]phrase{
		respondentsMetric: respondentsPhrase(""),
		"found":           {"Strings found", release.Count, fmt.Sprintf("each by a check of numbers that had no part in choosing it, which a string that nobody says passes with probability %g at most", strings.Check)},
		"false_at_most":   {"Of these that nobody says, at most, in expectation", "", "the probabilities of all checks, added up (docs/strings.md)"},
		"least_needed":    {"Estimate that a string had to pass, at least", release.Count, "likely spellings need less"},
		"most_needed":     {"Estimate that a string had to pass, at most", release.Count, ""},
		"in_found":        {"Respondents who hold a string that was found", release.Count, ""},
		"in_others":       {"Respondents who hold another", release.Count, "and one that fits"},
		"unfit":           {"Respondents whose string did not fit the plan", release.Count, "one reserved string stands for all of these, and is counted whether it stands out or not"},
		"sum_error":       {"Standard error of a number of the sum", release.Count, ""},
		"answers":         {"Rows that a respondent answered, on average", "", expected},
	}[m.Name]
	return p, ok && m.Key == ""
}

func (w stringsWords) section(s release.Section) (said, bool) {
	if s.Name != "strings" {
		return said{}, false
	}
	found, _ := metric(w.release, "found")
	names := func(key string) (string, bool) {
		_, unfit := w.of.Symbols(key)
		return key, unfit == nil
	}
	t := sheetWords{title: "Strings that were found", columns: []column{
		{title: "string", keys: names}, {title: "respondents", unit: release.Count}, {title: numerals.Percent(level) + " interval", unit: release.Count},
		{title: "all at once", unit: release.Count}, {title: truthColumn, unit: release.Count, known: true},
	}}
	if found.Value > tableRows {
		t.note = fmt.Sprintf("The %d most frequent of %.0f; %s has all.", tableRows, found.Value, sheets.CountsFile)
	}
	return said{
		title:  "Which strings many hold",
		text:   fmt.Sprintf("Nobody listed these strings: they were read out of one sum (docs/strings.md). Rarer ones are not found. Intervals are of an estimate that is seen only where it passed. %s", w.of.Liars()),
		tables: map[string]sheetWords{"strings": t},
		figures: map[string]figureWords{"strings": {
			kind: release.Bars, title: "The most frequent strings", x: "string", y: "respondents", categories: names, series: []string{"respondents"},
			alt: "Bars of how many respondents hold each of the most frequent strings that were found, with intervals.",
		}},
	}, true
}
