package results

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/release"
)

// vectorWords speaks of sums of vectors, and of what they teach.
type vectorWords struct {
	ask         plan.Vector
	question    *vector.Question
	respondents int
}

func newVectorWords(ask plan.Vector, q *vector.Question, r *release.Release) speaker {
	respondents, _ := metric(r, respondentsMetric)
	return vectorWords{ask, q, int(respondents.Value)}
}

func (w vectorWords) phrase(m release.Metric) (phrase, bool) {
	on, none := onRecords(m), phrase{}
	p := map[string]phrase{
		respondentsMetric:     respondentsPhrase(""),
		"sum_error":           {"Standard error of a coordinate of the sum", "", fmt.Sprintf("of %d coordinates: of the random bits, and of clipping vectors that are alike", w.question.Coordinates())},
		"bits_error":          {"Of this by the random bits", "", ""},
		"error_ratio":         {"Error measured, over the one stated", "", "a simulation knows the sum"},
		"accuracy":            {"Accuracy", release.Share, on},
		"accuracy_no_privacy": {"Accuracy without any privacy", release.Share, "of the same learner from the exact sums, which a simulation knows"},
		"calibration_error":   {"How far its probabilities are off, on average", release.Share, "of public test records, in five groups of like probability"},
		"interval_coverage":   {"Truths within prediction intervals of 95%", release.Share, on},
		"r2":                  {"Share of the variance explained", release.Share, on},
	}[m.Name]
	switch proved := w.question.Proved(); {
	case proved && m.Name == "sum_error":
		p = phrase{"Standard error of a coordinate of the sum", "", fmt.Sprintf("of %d coordinates: of the aggregators' noise, and of rounding. Devices prove how long their vectors are", w.question.Coordinates())}
	case proved && m.Name == "bits_error":
		p = none // all of it
	}
	switch m.Name {
	case accuracyMetric:
		if len(w.ask.Classes) == 0 {
			p = none
		}
	case "answers":
		if w.question.Proved() {
			break
		}
		expected := w.question.Expected(max(1, w.respondents))
		p = phrase{"Rows answered by a respondent, on average", "", fmt.Sprintf("the plan's coins give %.4g, give or take %.2g: where it is far from that, some do not do what the plan says", expected.Mean, expected.StdErr)}
	case "auc":
		if len(w.ask.Classes) == 2 {
			p = phrase{"Pairs of either class that are ranked right", release.Share, on + ": " + w.ask.Classes[1] + " above " + w.ask.Classes[0]}
		}
	case "deviation":
		if w.ask.Number != nil {
			p = phrase{"Deviation of the truth from a prediction", "", fmt.Sprintf("of %s, from the same sums: an interval of 95 %% reaches %.2f times as far to either side", w.ask.Number.Name, moments.Within95)}
		}
	}
	return p, p != none && m.Key == ""
}

func (w vectorWords) section(s release.Section) (said, bool) {
	switch s.Name {
	case "sums":
		return said{title: "How exact the sums are"}, true
	case "classification":
		share := func(title string) column { return column{title: title, unit: release.Share} }
		records := column{title: "records", unit: release.Count}
		return said{title: "How well it classifies", text: learned[w.question.Made()], tables: map[string]sheetWords{
			"confusion": confusionWords(w.ask.Classes),
			"by_class":  {title: "Errors of each class", note: "Of public test records; intervals of 95%.", columns: []column{{title: "true class", keys: among(w.ask.Classes)}, records, share("wrong"), share("interval")}},
			"calibration": {
				title: "Is it as sure as it should be?", columns: []column{share("probability given"), records, share("given, on average"), share("right")},
				note: "Public test records by the probability that the classifier gives to its own answer; where the last two columns are far apart, it is not to be taken at its word.",
			},
		}}, true
	case "regression":
		return said{title: "How well it predicts", text: learned[plan.SumsSquares]}, true
	}
	return said{}, false
}

// learned says in a sentence how the classifier comes from the sums.
var learned = map[string]string{
	plan.SumsClasses:   "A record is given to the class with the largest inner product of its features with the sum of that class, which is the nearest mean where classes are of one size. Where public test records are many, each sum is shrunk along the directions in which these differ little, whatever their classes.",
	plan.SumsMoments:   "A record is given to the class of largest score by least squares, solved from the second moments and class sums, with half the largest eigenvalue of their noise added against it.",
	plan.SumsSquares:   "A record's number is predicted by least squares, solved from the products of features with each other and with the number, with half the largest eigenvalue of their noise added against it.",
	plan.SumsGradients: "A record is given to the class of largest score by logistic regression: each round of the study stepped down the mean gradient of its respondents, and the mean of the last half of the steps answers.",
}
