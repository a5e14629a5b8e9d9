// Package statement writes what a release says that follows from its plan: the question, the guarantees, what they
// rest on, and the cost. Used by party/analyzer, internal/service/analyzerd, internal/service/console and commands
// such as cmd/confetti/internal/releases.
package statement

import (
	"errors"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/audit/report"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// Plan is a plan of whose releases the words are written.
type Plan struct {
	*protocol.Protocol
	Promise protocol.Promise
	Study   *plan.Study // of which the plan is a round; nil: of none
	Audit   []byte      // the report that stands beside the release; nil: there is none
}

// New makes a plan of whose releases words are written. Audit is the report that stands beside
// the release, nil where there is none.
func New(signed plan.Signed, audit []byte) (p Plan, err error) {
	p.Study, p.Audit = signed.Study, audit
	if p.Protocol, err = protocol.New(signed.Plan); err == nil {
		p.Promise, err = p.Protocol.Promise()
	}
	return p, err
}

// Begin begins a release with the numbers of respondents. Came is how many of each crowd answered,
// counted or not; nil where that is not known.
func Begin(p *protocol.Protocol, crowds []tally.Crowd, came []int) release.Release {
	r := release.Release{Plan: p.Plan.Name(), Source: release.Collection}
	switch {
	case p.Plan.Route.Table != nil:
		r.Source = release.OwnTable
	case p.OneOperator():
		r.Source = release.Trial
	}
	for i, c := range crowds {
		out := release.Crowd{Smallest: c.Smallest}
		switch least := p.Plan.Crowd.Minimum; {
		case c.Tally == nil && came != nil && p.Plan.Crowd.Deletion == nil:
			out = release.Crowd{Lacks: max(0, least-came[i])}
		case c.Tally == nil:
			out = release.Crowd{}
		case c.Smallest == 0: // nobody counted it, and it has as many at least
			out.Smallest = least
		}
		r.Crowds = append(r.Crowds, out)
	}
	return r
}

// Titles writes what a release's numbers are called, and refuses what Write does. It states no guarantee, which takes the accountant.
func Titles(p plan.Plan, r *release.Release) error {
	proto, err := protocol.New(p)
	if err == nil {
		err = belongs(proto, *r)
	}
	if err != nil {
		return err
	}
	return results.Words(p, proto.Question, r)
}

// belongs refuses a release of another plan.
func belongs(p *protocol.Protocol, r release.Release) error {
	if r.Plan != p.Plan.Name() {
		return errors.New("the release is of another plan than its words would follow from")
	}
	if len(r.Crowds) != p.Plan.Crowds() {
		return fmt.Errorf("the release is of %d crowds, and its plan has %d", len(r.Crowds), p.Plan.Crowds())
	}
	return nil
}

// Write writes the words of a release: all that follows from its plan and its numbers. It refuses a finding that no
// release of the plan has.
func (p Plan) Write(r *release.Release) error {
	if err := belongs(p.Protocol, *r); err != nil {
		return err
	}
	guarantees, err := p.Stated(p.Promise, p.Study)
	if err != nil {
		return err
	}
	words := p.Words()
	w := release.Words{
		Title: p.Plan.Title, Question: words.Asked, Kind: p.Plan.Question.Kind, Cost: Cost(p.Protocol),
		Assumptions: slices.Concat(p.assumptions(), words.Assumptions), Notes: p.notes(*r),
	}
	if len(r.Rounds) > 0 {
		w.Title += " (all rounds so far)"
	}
	for _, s := range []string{words.Thinning, words.Unfit} {
		if s != "" {
			w.Assumptions = append(w.Assumptions, s)
		}
	}
	honesty := p.honesty(r.Crowds)
	honesty.Tables = append(honesty.Tables, results.Threats(p.Question, p.Plan, p.Promise.Shuffled)...)
	w.Protection = []release.Section{honesty}
	if p.Audit != nil && len(r.Rounds) == 0 {
		found, err := report.ParseReport(p.Audit)
		if err != nil {
			return err
		}
		w.Protection = append(w.Protection, found.Section())
	}
	for i, c := range r.Crowds {
		if c.Smallest == 0 {
			w.Withheld = append(w.Withheld, p.withheld(i, c.Lacks))
		}
	}
	r.Guarantees, r.Words = guarantees, w
	return results.Words(p.Plan, p.Question, r)
}

// assumptions returns those that the route rests on.
func (p Plan) assumptions() []string {
	switch {
	case p.Plan.Route.Table != nil:
		return p.tableAssumptions()
	case p.Plan.Route.Sum != nil:
		return p.sumAssumptions()
	}
	return append([]string{
		"At least one hop of each shuffler instance keeps its permutation and its key to itself.",
		p.enoughNoise(),
		"The entry hop counts only respondents that exist.",
		"HPKE and AES-128 hold.",
	}, p.deletes()...)
}

func (p Plan) enoughNoise() string {
	return fmt.Sprintf("At least %d of the smallest released crowd's respondents add their noise as the plan says (a dishonest share of at most %g).", p.Plan.MinHonest(), p.Plan.Budget.DishonestShare)
}

// deletes says what private sizes rest on; empty where sizes are public.
func (p Plan) deletes() []string {
	if p.Plan.Crowd.Deletion == nil {
		return nil
	}
	return []string{"The entry hop deletes contributions at random, as many as its noise says, and tells nobody how many. An observer who controls respondents of a crowd sees which of theirs were deleted, and learns more of its size than is stated."}
}

// tableAssumptions returns those of a release that the holder of a table makes. Nobody can check them.
func (p Plan) tableAssumptions() []string {
	rows := "Every person has one row, and the rows were not chosen by what is private: how many there are is published."
	chosen := "The values, bounds and buckets that the plan names were chosen without looking at the rows."
	if p.Plan.Budget.Adjacency == plan.AdjacencyLabel {
		rows = "Every person has one row, and neither the rows nor the clusters were chosen by labels."
		chosen = "The labels that the plan names were chosen without looking at those of the rows."
	}
	if p.Plan.RowsHidden() {
		rows = "Every person has one row, and nobody says how many there are: not in another release, and not beside this one."
	}
	return []string{
		"The holder drew the noise once, from a source that nobody can guess, and published nothing else of the rows.",
		chosen, rows,
		"The holder's ledger has every release of these people. Who deletes it has no budget left that means anything.",
	}
}

func (p Plan) sumAssumptions() []string {
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

// withheld says why nothing is published of a crowd and, where that is known, how many answers it lacked.
func (p Plan) withheld(crowd, lacks int) string {
	least := p.Plan.Crowd.Minimum
	few := fmt.Sprintf("fewer than %d respondents", least)
	switch {
	case p.Plan.Crowd.Deletion != nil:
		few += " after deletion, or lost to its noise"
	case lacks > 0:
		few = fmt.Sprintf("%d of %d answered, %d too few", least-lacks, least, lacks)
	}
	if p.Plan.Route.Noise() != nil {
		return fmt.Sprintf("%s: %s; no sum of them left the aggregators", p.CrowdName(crowd), few)
	}
	return fmt.Sprintf("%s: %s; nothing of them left the shuffler, whose entry tells their devices that they were not counted", p.CrowdName(crowd), few)
}
