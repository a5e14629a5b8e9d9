package analyzer

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/findings"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/release"
)

// Publish is the analyzer's work once everything is counted.
func Publish(p *protocol.Protocol, crowds []tally.Crowd, public findings.Public) (release.Release, question.Model, error) {
	model, err := p.Learn(crowds)
	if err != nil {
		return release.Release{}, nil, err
	}
	r, err := Describe(p, model, crowds, public)
	return r, model, err
}

// Describe writes up what was learned from the crowds.
func Describe(p *protocol.Protocol, model question.Model, crowds []tally.Crowd, public findings.Public) (release.Release, error) {
	headline, sections, err := findings.Describe(model, public)
	if err != nil {
		return release.Release{}, err
	}
	promise, err := p.Promise()
	if err != nil {
		return release.Release{}, err
	}
	r := statement.Of(p, promise, crowds, public.Came)
	r.Headline, r.Sections = headline, sections
	honesty := &r.Protection[0]
	honesty.Tables = append(honesty.Tables, findings.Threats(p.Question, p.Plan, promise.Shuffled)...)
	return r, nil
}

// Kept recomputes the guarantee from what arrived and returns why the plan's
// promise does not hold for it; then nothing may be published. The plan counts on
// (1-f) n_min honest respondents in the smallest batch. So many respondents have
// come to it, but what opened may be fewer whole contributions than n_min, and of
// those a share f may be silent or lie.
func Kept(p *protocol.Protocol, crowds []tally.Crowd) error {
	arrived := 0
	for _, c := range crowds {
		if c.Tally != nil && (arrived == 0 || c.Smallest < arrived) {
			arrived = c.Smallest
		}
	}
	return p.Kept(arrived)
}

// LacksReports says in a release how many reports the aggregators have refused, if any.
func LacksReports(refused int) []string {
	switch refused {
	case 0:
		return nil
	case 1:
		return []string{"1 report was refused: its proof did not hold, or it came twice. It is in no number here."}
	}
	return []string{fmt.Sprintf("%d reports were refused: their proofs did not hold, or they came twice. They are in no number here.", refused)}
}

// Lacks says in a release how many fragments are not in it, if any.
func Lacks(dropped int) []string {
	if dropped == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d fragments did not open or came twice, and were not counted: every estimate lacks them.", dropped)}
}
