package results

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/release"
)

// classes speaks of densities, by class.
type classes struct {
	plan    plan.Plan
	names   []string
	labels  bool // classes were reported with noise
	cleared bool // which can be taken out: none is withheld
}

func newDensityWords(p plan.Plan, q *density.Question, r *release.Release) speaker {
	withheld := slices.ContainsFunc(r.Crowds, func(c release.Crowd) bool { return c.Smallest == 0 })
	return classes{p, p.Crowd.Names, q.Labels != nil, q.Labels != nil && !withheld}
}

func (w classes) phrase(m release.Metric) (phrase, bool) {
	p, ok := map[string]phrase{
		respondentsMetric:       respondentsPhrase(""),
		"accuracy":              {"Accuracy", release.Share, onRecords(m)},
		"decided":               {"Predictions decided beyond their error", release.Share, ""},
		"accuracy_debiased":     {"Accuracy with the label noise taken out", release.Share, "inverse of the randomized response on labels, weighted by debiased class sizes"},
		"accuracy_nearest_mean": {"Accuracy by the nearest class mean", release.Share, "densities of inner products, less half the squared length of each class's mean"},
		"clipped":               {"Coordinates clipped", release.Share, fmt.Sprintf("of %d public test records, after rotation", m.Records)},
		"clip_bias":             {"Largest bias from clipping", "", "of a density at any point, bounded from the public test records; not part of the standard errors"},
	}[m.Name]
	return p, ok && m.Key == ""
}

func (w classes) section(s release.Section) (said, bool) {
	switch s.Name {
	case "errors":
		return said{title: "How far a density may be off", tables: map[string]sheetWords{"errors": w.errors()}}, true
	case "classification":
		return said{
			title:  "How well it classifies",
			text:   "A record is given to the class whose private density is highest there. A prediction counts as decided where its lead over the runner-up is larger than the 95% error of that lead, which covers the privacy noise, rounding, and the sampling of random features.",
			tables: map[string]sheetWords{"confusion": confusionWords(w.names)},
			figures: map[string]figureWords{"leads": {
				kind: release.Lines, title: "Lead of the true class", keys: among(w.names), x: "density of the true class less the highest other", y: "share of test records",
				alt: "For each true class, the distribution over public test records of the private density of that class less the highest other one; right of zero the prediction is correct.",
			}},
		}, true
	case "words":
		return said{
			title: "What each class is about",
			text:  "Words of a public vocabulary, with the ranks that their errors allow; the ranks of a class hold for all words at once with probability 95%. First those whose density in the class lies furthest above that in the others, then those of highest density.",
			lists: map[string]listWords{
				"apart": {title: "%s, apart from the others", of: among(w.names), items: anything},
				"dense": {title: "%s, highest density", of: among(w.names), items: anything},
			},
		}, true
	case "sizes":
		return w.sizes(), true
	}
	return said{}, false
}

// errors returns the words of how far densities may be off where nobody has looked yet.
func (w classes) errors() sheetWords {
	t := sheetWords{
		title:   "Error of a density at any point",
		columns: []column{{title: "class", keys: among(w.names)}, {title: "root mean square, at most", empty: "withheld"}},
		note:    "Over all that was drawn: noise, rounding, random features. It holds at the worst point and whatever the records are (KDE, Theorem 3.2, with the constants of these features and the errors of these sums); at most points the error is less.",
	}
	switch kernelmap.Kernel(w.plan.Question.Density.Kernel.Name) {
	case kernelmap.InnerRotated:
		t.note += " What clipping biases comes to it."
	case kernelmap.GaussianPaired, kernelmap.GaussianProjected:
		t.note += " Rotations count as uniform ones in it: that the ones which are drawn err no more was measured, and is not proved."
	}
	return t
}

// sizes returns the words of the respondents of each class.
func (w classes) sizes() said {
	t := sheetWords{
		title: "Respondents by reported class", note: "Respondents of released batches only: those of withheld batches are not counted.",
		columns: []column{{title: "class", keys: among(w.names)}, {title: "reported", unit: release.Count, empty: "withheld"}},
	}
	out := said{title: "Respondents by class"}
	switch {
	case w.cleared:
		out.text = "Each respondent reported its class by randomized response; the estimate takes that noise out."
		t.columns = append(t.columns, column{title: "estimated", unit: release.Count})
	case w.labels:
		out.text = "Each respondent reported its class by randomized response. That noise cannot be taken out while a class is withheld, where an unknown part of all others was reported."
	}
	t.columns = append(t.columns, column{title: truthColumn, unit: release.Count, known: true})
	out.tables = map[string]sheetWords{"sizes": t}
	return out
}

// confusionWords returns those of which class is taken for which.
func confusionWords(names []string) sheetWords {
	t := sheetWords{title: "Confusion matrix", heat: true, note: "Rows are true classes, columns predictions, cells public test records.", columns: []column{{title: "true class", keys: among(names)}}}
	for _, name := range names {
		t.columns = append(t.columns, column{title: name})
	}
	return t
}
