package histogram

import (
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Words speak of answers and crowds.
func (h *Question) Words() question.Words {
	reference := "one drawn at random, which adds the same to each count in expectation."
	if h.ask.Randomizer.OneHot() || h.noised() {
		reference = "none, which adds nothing to any count in expectation."
	}
	w := question.Words{
		Asked: h.asked(), Answer: "answers", Crowd: "crowd", Assumptions: h.assumptions(),
	}
	if !total(h.ask) {
		w.Unfit = terms.SaysUnfit(h.plan.Question, reference)
	}
	for crowd := range h.plan.Crowds() {
		w.Crowds = append(w.Crowds, h.crowdName(crowd))
	}
	return w
}

func (h *Question) asked() string {
	names := make([]string, len(h.attributes))
	for i, a := range h.attributes {
		switch a.kind {
		case "mean":
			names[i] = a.name + " (its mean)"
		case "open":
			names[i] = a.name + " (values that many hold)"
		default:
			names[i] = fmt.Sprintf("%s (%d cells)", a.name, a.cells.Size())
		}
	}
	if ofWindows(h.plan) {
		return fmt.Sprintf("To how many different people does it happen, in any rounds that follow each other: %s? Each says whether it happened since the last round and, if so, in which round it happened last before.", h.attributes[0].name)
	}
	if h.correlated != nil {
		return fmt.Sprintf("How often does it happen, from round to round: %s? Each says what happened since the last round.", h.attributes[0].name)
	}
	s := "How many respondents hold each value of " + strings.Join(names, ", ") + "?"
	switch h.ask.Collect {
	case plan.CollectSample:
		s += " Each answers one of them, drawn at random."
	case plan.CollectSplit:
		s += " Each answers all of them."
	}
	return s
}

func (h *Question) crowdName(crowd int) string {
	if len(h.plan.Crowd.Names) == 0 {
		return "everybody"
	}
	return fmt.Sprintf("crowd %q", h.plan.Crowd.Names[crowd])
}
