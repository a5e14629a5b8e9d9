package results

import (
	"fmt"
	"strconv"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/release"
)

// labelWords speaks of labels in clusters, or one by one.
type labelWords struct {
	ask      plan.Label
	clusters []string
	released float64
	said     string // of a table, whose labels others train on: what is told
	fair     bool   // what noise flatters is taken back
}

func newLabelWords(p plan.Plan, q *label.Question, r *release.Release) speaker {
	if sums, ok := q.Inner().(*vector.Question); ok {
		return newVectorWords(*q.InnerPlan().Question.Vector, sums, r)
	}
	released, _ := metric(r, "clusters")
	w := labelWords{ask: *p.Question.Label, clusters: p.Crowd.Names, released: released.Value}
	if p.Route.Table != nil {
		w.said, w.fair = saidOfHeld(w.ask, r), p.Route.Table.Law == plan.LawLaplace
	}
	return w
}

// answer returns what is told of the labels of a table; a learner of collected ones is judged by public records.
func (w labelWords) answer() string { return w.said }

// saidOfHeld says how much of the labels of a table is left in what others train on.
func saidOfHeld(ask plan.Label, r *release.Release) string {
	if ask.Report == plan.LabelEach {
		m := randomize.KRR{K: len(ask.Classes), Epsilon: ask.Randomizer.Epsilon}
		return fmt.Sprintf("%s of the labels are true, by chance, and the table does not say which.\nThe modified loss takes the others back on average.", percent(m.Prob(0, 0)))
	}
	m, _ := metric(r, "agreement")
	said := fmt.Sprintf("%s to %s have the likeliest label of their cluster.\n", percent(m.Low), percent(m.High))
	if ask.Report == label.Resampled {
		return said + fmt.Sprintf("Of the labels %s stayed, and the others were drawn by noisy counts of clusters.", percent(ask.Randomizer.Keep))
	}
	return said + "All labels were drawn by noisy counts of clusters."
}

func (w labelWords) phrase(m release.Metric) (phrase, bool) {
	p, ok := map[string]phrase{
		respondentsMetric:  respondentsPhrase(""),
		"clusters":         {"Clusters released", release.Count, fmt.Sprintf("of %d", w.ask.Clusters)},
		"smallest_cluster": {"Respondents in the smallest cluster", release.Count, ""},
		"largest_cluster":  {"Respondents in the largest cluster", release.Count, ""},
		"agreement":        agreementPhrase("label", w.flattered()),
		"accuracy":         {"Accuracy", release.Share, onRecords(m)},
	}[m.Name]
	return p, ok && m.Key == ""
}

// agreementPhrase returns how many have what is likeliest in their cluster.
func agreementPhrase(what, flattered string) phrase {
	return phrase{"Respondents with the likeliest " + what + " of their cluster", release.Share, flattered}
}

// flattered says what the choice of the likeliest by noisy counts does to what is said of it.
func (w labelWords) flattered() string {
	if w.fair {
		return "what the noise adds by choosing the label is taken off"
	}
	return flatters
}

// flatters is said of shares and intervals of what the same noisy counts have chosen.
const flatters = "from the same counts, which flatters it, and its interval"

// countsBy returns the words of a table of respondents by a name of the plan.
func countsBy(title, what string, names keys) sheetWords {
	return sheetWords{title: title, columns: []column{{title: what, keys: names}, {title: "respondents", unit: release.Count}}}
}

func (w labelWords) section(s release.Section) (said, bool) {
	classes, count := among(w.ask.Classes), func(title string) column { return column{title: title, unit: release.Count} }
	switch {
	case s.Name == "labels" && w.ask.Report == plan.LabelEach:
		return said{
			title: "How many hold each label", tables: map[string]sheetWords{"labels": countsBy("Respondents by label", "label", classes)},
			text: fmt.Sprintf("Each report stands beside the number of its public record (%s): a network on public features learns from how likely each is for each label (docs/labels.md).", sheets.CountsFile),
		}, true
	case s.Name == "clusters" && w.ask.Report != plan.LabelEach:
		clusters := sheetWords{title: "Clusters", columns: []column{{title: "cluster", keys: among(w.clusters)}, count("respondents"), {title: "likeliest label", keys: classes}, count("respondents with it")}}
		if w.released > tableRows {
			clusters.note = fmt.Sprintf("The %d largest of %.0f; %s has all.", tableRows, w.released, sheets.CountsFile)
		}
		text := "Features are given the likeliest label of their public cluster. How often that is wrong is estimated from the same counts, which flatters it, and its interval: of labels that are equally frequent the noise has chosen one. A network on public features that learns from these counts does better (docs/labels.md)."
		if w.fair {
			text = "Of a rule that gives each row the likeliest label of its public cluster, by the noisy counts. How often that is wrong is estimated from the same counts. What the noise adds by choosing the label is taken off."
		}
		return said{
			title: "How well clusters tell labels",
			text:  text,
			tables: map[string]sheetWords{
				"errors":   {title: "Errors by class", columns: []column{{title: "class", keys: classes}, count("respondents"), {title: "given another class", unit: release.Share}, {title: "95 % interval", unit: release.Share}}},
				"clusters": clusters, "confusion": confusionWords(w.ask.Classes),
			},
		}, true
	}
	return said{}, false
}

// numbers takes those from 1 to n, with a word before them.
func numbers(word string, n int) keys {
	return func(key string) (string, bool) {
		i, err := strconv.Atoi(key)
		return word + key, err == nil && i >= 1 && i <= n && strconv.Itoa(i) == key
	}
}

// percent writes a share with one digit behind the point.
func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }
