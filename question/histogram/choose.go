package histogram

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// Choose designs a plan whose histogram leaves open how it is answered: by which
// randomizer, if its name is empty, and whether several attributes are sampled or
// split, if collect is, and of correlated rounds whether each asks afresh. It says why in words, "" where nothing was open.
func Choose(p plan.Plan) (plan.Plan, string, error) {
	if c := ofStudy(p); c != nil && c.Bits == 0 {
		return joined(p)
	}
	if Noised(p) {
		p, err := designed(p)
		return p, "", err
	}
	if p.Question.Histogram.Randomizer.Name != "" {
		return collected(p)
	}
	answers, err := compareRandomizers(p)
	if err != nil {
		return p, "", err
	}
	return answers[0].Plan, preferred(answers), nil
}

// collected designs a plan, of several attributes as they are best asked.
func collected(p plan.Plan) (plan.Plan, string, error) {
	if h := p.Question.Histogram; len(h.Attributes) > 1 && h.Collect == "" {
		return choose(p)
	}
	p, err := designed(p)
	return p, "", err
}

// Compare compares the randomizers that might answer and, of several attributes, the two
// ways of asking them.
func (h *Question) Compare() (all []question.Comparison) {
	if h.correlated != nil {
		if _, says, err := joined(h.plan); err == nil {
			all = append(all, question.Comparison{Key: "rounds", Title: "Together or afresh", Says: says})
		}
	}
	if h.noised() {
		return all
	}
	if answers, err := compareRandomizers(h.plan); err == nil && len(answers) > 1 {
		all = append(all, question.Comparison{Key: "answers", Title: "Best answer", Says: preferred(answers)})
	}
	if len(h.attributes) > 1 {
		_, _, why, err := compareCollect(h.plan)
		if err != nil {
			why = "only this plan's can be designed: " + err.Error()
		}
		all = append(all, question.Comparison{Key: "choice", Title: "Sample or split", Says: why})
	}
	return all
}

// ofRandomizer is what one randomizer comes to.
type ofRandomizer struct {
	Plan      plan.Plan         // designed for it
	Error     float64           // predicted standard error of a value that an equal share holds, the largest of the attributes'
	Local     account.Guarantee // if everyone colludes
	Envelopes int               // of a device
	why       string            // of several attributes, how they are asked
}

// tie is what more of error nobody would notice: the number of envelopes then decides.
const tie = 1.1

// compareRandomizers designs a plan with every randomizer that is worth comparing at
// the plan's budget and neighbours, the preferred one first: it errs least to a tenth
// and sends the fewest envelopes, unless it protects nobody if everyone colludes and
// another does.
//
// One message of k-ary response hides among all others, whichever value they name,
// and so errs about as little as one-hot's many; one-hot alone answers with sets and
// is accounted for removal.
func compareRandomizers(p plan.Plan) ([]ofRandomizer, error) {
	var all []ofRandomizer
	var errs []error
	for _, name := range comparable(p) {
		ask := *p.Question.Histogram
		ask.Randomizer.Name = name
		q := p
		q.Question.Histogram = &ask
		a, err := answering(q)
		if err != nil {
			if !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) { // one fault is told once
				errs = append(errs, err)
			}
			continue
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, errors.Join(errs...)
	}
	protects := slices.ContainsFunc(all, func(a ofRandomizer) bool { return a.Local.Meaningful() })
	least := math.Inf(1)
	for _, a := range all {
		if a.Local.Meaningful() || !protects {
			least = math.Min(least, a.Error)
		}
	}
	slices.SortStableFunc(all, func(a, b ofRandomizer) int {
		rank := func(a ofRandomizer) int {
			switch {
			case protects && !a.Local.Meaningful():
				return 2
			case a.Error > tie*least:
				return 1
			}
			return 0
		}
		if d := cmp.Compare(rank(a), rank(b)); d != 0 || rank(a) > 0 {
			return cmp.Or(d, cmp.Compare(a.Error, b.Error))
		}
		return cmp.Or(cmp.Compare(a.Envelopes, b.Envelopes), cmp.Compare(a.Error, b.Error))
	})
	return all, nil
}

// comparable returns the randomizers that may answer: one-hot alone if report fragments,
// a sketch or the paper's accounting are asked for.
func comparable(p plan.Plan) []string {
	ask := *p.Question.Histogram
	if ask.Randomizer.Fragments > 1 || ask.Sketch != nil || ask.Randomizer.Accounting == string(calibrate.Paper) {
		return plan.Randomizers[:1]
	}
	set := slices.ContainsFunc(ask.Attributes, func(a plan.Attribute) bool { return a.Kind == "set" })
	var names []string
	for _, name := range plan.Randomizers {
		bits := plan.Randomizer{Name: name}.OneHot()
		if ways[name].compared && (bits || !set && p.Budget.Adjacency == string(account.Replacement)) {
			names = append(names, name)
		}
	}
	return names
}

func answering(p plan.Plan) (ofRandomizer, error) {
	p, why, err := collected(p)
	if err != nil {
		return ofRandomizer{}, err
	}
	h, err := New(p)
	if err != nil {
		return ofRandomizer{}, err
	}
	a := ofRandomizer{Plan: p, Envelopes: p.Envelopes.PerDevice * p.Contributions(), why: why}
	n := p.Crowd.Minimum
	for i, t := range h.randomizers {
		a.Error = math.Max(a.Error, t.deviation(n/h.attributes[i].cells.Size(), n, h.share()))
	}
	a.Local, err = h.local()
	return a, err
}

// preferred says in words why the first of compareRandomizers is preferred.
func preferred(all []ofRandomizer) string {
	if len(all) == 0 {
		return ""
	}
	says := func(a ofRandomizer) string {
		envelopes := "one envelope"
		if a.Envelopes > 1 {
			envelopes = fmt.Sprintf("%d envelopes", a.Envelopes)
		}
		return fmt.Sprintf("%s errs by %.4g with %s a device and, if everyone colludes, %s", a.Plan.Question.Histogram.Randomizer.Name, a.Error, envelopes, a.Local.Verdict())
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s: at the same shuffled epsilon (%s), among %d respondents and for a value that an equal share of them holds, %s",
		all[0].Plan.Question.Histogram.Randomizer.Name, all[0].Plan.Budget.Adjacency, all[0].Plan.Crowd.Minimum, says(all[0]))
	for _, a := range all[1:] {
		s.WriteString("; " + says(a))
	}
	s.WriteString(".")
	if all[0].why != "" {
		s.WriteString(" " + all[0].why)
	}
	return s.String()
}
