// Package statement writes what a release says and what follows from its plan: the question, the
// guarantees, what they rest on, what is left of them where fewer keep to the protocol, and the cost.
// The analyzer publishes it; a device carries none of it.
package statement

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// of is the plan that is written of.
type of struct{ *protocol.Protocol }

// Of writes a release with all that follows from the plan, its promise and the realised
// numbers of respondents: everything but the findings. Came is how many respondents of
// each crowd answered, counted or not; nil where that is not known.
func Of(proto *protocol.Protocol, promise protocol.Promise, crowds []tally.Crowd, came []int) release.Release {
	p := of{proto}
	words := p.Words()
	r := release.Release{
		Title: p.Plan.Title, Kind: p.Plan.Question.Kind, Plan: p.Plan.Name(), Question: words.Asked, Source: Source(proto.Plan),
		Guarantees: promise.Statements, Cost: Cost(proto),
		Assumptions: p.assumptions(),
	}
	r.Assumptions = append(r.Assumptions, words.Assumptions...)
	for _, s := range []string{words.Thinning, words.Unfit} {
		if s != "" {
			r.Assumptions = append(r.Assumptions, s)
		}
	}
	r.Protection = append(r.Protection, p.honesty(promise.Shuffled, crowds))
	for crowd, c := range crowds {
		if c.Tally == nil {
			r.Withheld = append(r.Withheld, p.withheld(crowd, came))
		}
	}
	return r
}

// Source returns where answers come from by the parties of a plan: a trial where the analyzer's
// operator runs every hop of an instance, since it has all keys on that way, and no hop there is
// honest towards it. Of a sum it is one where one operator runs both aggregators, and where each
// adds half of the noise, one of them and the analyzer.
func Source(p plan.Plan) release.Source {
	alone := slices.ContainsFunc(p.Route.Instances(), func(in plan.Instance) bool {
		return !slices.ContainsFunc(in.Hops, func(h plan.Party) bool { return h.Operator != p.Analyzer.Operator })
	})
	if s := p.Route.Sum; s != nil {
		reader := p.Analyzer.Operator
		alone = s.Leader.Operator == s.Helper.Operator || s.Noise == plan.NoiseShared && (s.Leader.Operator == reader || s.Helper.Operator == reader)
	}
	if alone {
		return release.Trial
	}
	return release.Collection
}

// assumptions are those that the route rests on.
func (p of) assumptions() []string {
	if p.Plan.Route.Sum != nil {
		return p.sumAssumptions()
	}
	return append([]string{
		"At least one hop of each shuffler instance keeps its permutation and its key to itself.",
		p.enoughNoise(),
		"The entry hop counts only respondents that exist.",
		"HPKE and AES-128 hold.",
	}, p.deletes()...)
}

func (p of) enoughNoise() string {
	return fmt.Sprintf("At least %d of the smallest released crowd's respondents add their noise as the plan says (a dishonest share of at most %g).", p.Plan.HonestMinimum(), p.Plan.Budget.DishonestShare)
}

// deletes says what private sizes rest on; empty where sizes are public.
func (p of) deletes() []string {
	if p.Plan.Crowd.Deletion == nil {
		return nil
	}
	return []string{"The entry hop deletes contributions at random, as many as its noise says, and tells nobody how many. An observer who controls respondents of a crowd sees which of theirs were deleted, and learns more of its size than is stated."}
}

func (p of) sumAssumptions() []string {
	s := p.Plan.Route.Sum
	if p.Noised() {
		who := "At least one aggregator draws its noise as the plan says, once a batch, and keeps its key to itself. It relies on no respondent."
		if s.Noise == plan.NoiseShared {
			who = "Both aggregators draw their noise as the plan says, once a batch, and keep their keys to themselves. The guarantee relies on no respondent."
		}
		return []string{who, inContext, "HPKE, AES-128 and TurboSHAKE128 hold."}
	}
	tokens := "No aggregator invents respondents: both check single-use tokens."
	if !p.BothCheck() {
		tokens = "No aggregator invents respondents. The plan does not have both of them check single-use tokens, so that it takes the word of the one that does not."
	}
	return []string{
		"At least one aggregator keeps its key and its shares to itself.", p.enoughNoise(), tokens, inContext,
		"HPKE, AES-128 and TurboSHAKE128 hold.",
	}
}

const inContext = "An honest aggregator counts a report once and hands over a batch once, also after a crash."

// withheld says why nothing is published of a crowd and, where its size is known and the
// plan keeps no sizes private, how many answers it lacked.
func (p of) withheld(crowd int, came []int) string {
	few := fmt.Sprintf("fewer than %d respondents", p.Plan.Crowd.Minimum)
	switch {
	case p.Plan.Crowd.Deletion != nil:
		few += " after deletion, or lost to its noise"
	case came != nil && came[crowd] < p.Plan.Crowd.Minimum:
		few = fmt.Sprintf("%d of %d answered, %d too few", came[crowd], p.Plan.Crowd.Minimum, p.Plan.Crowd.Minimum-came[crowd])
	}
	if p.Plan.Route.Sum != nil {
		return fmt.Sprintf("%s: %s; no sum of them left the aggregators", p.CrowdName(crowd), few)
	}
	return fmt.Sprintf("%s: %s; nothing of them left the shuffler, whose entry tells their devices that they were not counted", p.CrowdName(crowd), few)
}
