package statement

import (
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// notes returns what the numbers of a release lack, of which round it is, and what readers of its
// sheet must know. Whoever simulates says that in remarks.
func (p Plan) notes(r release.Release) []string {
	notes := p.lacks(r.Dropped)
	if l := r.Ledger; l != nil && p.Plan.Route.Table != nil {
		neighbours := p.Plan.Budget.Adjacency
		if neighbours == plan.AdjacencyLabel { // which are charged as rows are
			neighbours = string(account.Replacement)
		}
		notes = append(notes, fmt.Sprintf("Release %d of %s that the holder's ledger has. All of them together, and what it will admit later, keep epsilon %s at delta %s (%s): it refuses what is beyond. The table as of %s.",
			l.Releases, p.Plan.Route.Table.People, account.AtMost(l.Epsilon, 4), account.AtMost(l.Delta, 3), neighbours, p.Plan.Route.Table.AsOf))
		if p.Plan.Budget.Adjacency == plan.AdjacencyLabel {
			notes = append(notes, "That is promised to labels alone: columns that were published beside them as they are have no protection, here or in any other release.")
		}
	}
	for i, c := range r.Crowds {
		if c.Failed {
			notes = append(notes, fmt.Sprintf("This release lacks a crowd: the sum of crowd %d can never be had.", i+1))
		}
		if c.Batches > 0 {
			notes = append(notes, fmt.Sprintf("Crowd %d is not in this release: %d of %d batches came, one an instance, and its reports are spread over all.", i+1, c.Batches, p.Plan.Contributions()))
		}
	}
	notes = append(notes, p.learned(r.Rounds)...)
	if p.Study != nil {
		notes = append(notes, p.InStudy(*p.Study))
	}
	if r.Source == release.Simulation || len(r.Rounds) > 0 || !results.Counted(p.Plan.Question) {
		return notes
	}
	if note := results.Noted(p.Plan.Question, r.Cells); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// learned says of which rounds a release is learned, and what they lack.
func (p Plan) learned(rounds []release.Round) (notes []string) {
	if len(rounds) == 0 {
		return nil
	}
	var added, gone []string
	for _, round := range rounds {
		number := fmt.Sprint(round.Number)
		if round.Deleted {
			gone = append(gone, number)
			continue
		}
		added = append(added, number)
		lacks := p.lacks(round.Dropped)
		for _, crowd := range round.Without {
			lacks = append(lacks, fmt.Sprintf("Crowd %d is not in this release: too few of its batches came, one an instance, and its reports are spread over all.", crowd))
		}
		for _, one := range lacks {
			notes = append(notes, fmt.Sprintf("Round %s: %s", number, one))
		}
	}
	notes = append(notes, fmt.Sprintf("Learned from the answers of rounds %s of study %s together, whose respondents are others in each.", strings.Join(added, ", "), plan.Short(p.Plan.Round.Study)))
	if len(gone) > 0 {
		notes = append(notes, fmt.Sprintf("The counts of rounds %s were deleted before, and are not in it.", strings.Join(gone, ", ")))
	}
	return notes
}

// lacks says how many fragments, or reports of a sum, are in no number.
func (p Plan) lacks(dropped int) []string {
	switch {
	case dropped == 0:
		return nil
	case p.Plan.Route.Sum == nil:
		return []string{fmt.Sprintf("%d messages did not open or came twice, and were not counted: every estimate lacks them.", dropped)}
	case dropped == 1:
		return []string{"1 report was refused: its proof did not hold, or it came twice. It is in no number here."}
	}
	return []string{fmt.Sprintf("%d reports were refused: their proofs did not hold, or they came twice. They are in no number here.", dropped)}
}
