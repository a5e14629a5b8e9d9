package results

import (
	"fmt"
	"regexp"

	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// stepRefused names a step that was not taken.
const stepRefused = "refused"

// gradientWords speaks of a model that learns by gradients.
type gradientWords struct {
	ask     plan.Gradient
	learned int // numbers of the model
}

func (w gradientWords) phrase(m release.Metric) (phrase, bool) {
	p, ok := map[string]phrase{
		"accuracy":        {"Accuracy", release.Share, onRecords(m) + ", after this round"},
		"round":           {"Rounds so far", release.Count, ""},
		respondentsMetric: respondentsPhrase("in this round"),
		"mean_gradient":   {"Length of the mean gradient", "", "with its noise"},
		"noise_gradient":  {"Length of its noise alone", "", ""},
	}[m.Name]
	return p, ok && m.Key == ""
}

// stateName matches the name of a state.
var stateName = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (w gradientWords) section(s release.Section) (said, bool) {
	switch s.Name {
	case "classification":
		return said{title: "How well it classifies", text: "A record is given to the class that the model finds likeliest.", tables: map[string]sheetWords{"confusion": confusionWords(w.ask.Classes)}}, true
	case "rounds":
		return said{
			title: "How it learned",
			text:  "In each round devices tell how their examples would change the model, and the model takes a step of the mean. The figure has the length of the estimated mean, and that of its noise alone, of whose direction nothing is learned.",
			tables: map[string]sheetWords{"rounds": {title: "Rounds", columns: []column{
				{title: "round"}, {title: "respondents", unit: release.Count}, {title: "length of the mean gradient"}, {title: "of noise alone"},
				{title: "step", empty: "taken", keys: called(map[string]string{stepRefused: "not taken: it led beyond the plan's bound"})},
			}}},
			figures: map[string]figureWords{"learning-curve": {
				kind: release.Lines, title: "Length of the mean gradient by round", alt: "For each round the length of the estimated mean gradient, and that of its noise alone.",
				x: "round", y: "length", series: []string{"estimated mean gradient", "noise alone"},
			}},
		}, true
	case "model":
		return said{
			title: "The model",
			text:  fmt.Sprintf("It learns %d numbers. With the steps so far it is the public state %s, which the analyzer gives to whoever asks.", w.learned, s.Key),
		}, stateName.MatchString(s.Key)
	}
	return said{}, false
}
