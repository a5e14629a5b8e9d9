package verify

import (
	"github.com/confetti-dp/confetti/internal/sanitize"
)

// shows says what is known after a verification of a collection, and showsTable of a table's counts.
const (
	shows = `It shows that the publisher signed this plan, or the study that it is a round of, whose
coordinator signed the round; that the promise follows from its numbers; that the public
state is the one that the plan names; and that the hops or aggregators that the plan names signed for the batches, with so many
respondents in each, that the analyzer says it counted; and that the analyzer whose key
the plan names signed these numbers. It cannot show that a hop kept its permutation to itself, or an aggregator its shares, that respondents exist and told the truth, or that the
numbers are those that were in the batches: the analyzer alone has opened them.`
	showsTable = `It shows that the promise follows from the plan's numbers, and that every name, interval and
picture follows from the counts. It cannot show that the counts are those of the table, that the holder drew the noise
as the plan says, or whose page this is: a holder signs nothing.`
)

// Report is what was looked at, and what was not.
type Report struct {
	// First is what is said before all else: whether it holds, for whom, and what is grave.
	First []string `json:"first"`
	// Expected says that somebody has said whose plan it is expected to be.
	Expected  bool        `json:"expected"`
	Findings  []Finding   `json:"findings"`
	Unchecked []Unchecked `json:"unchecked,omitempty"`
	// Shows says what is known now, and what no check can show.
	Shows string `json:"shows"`
}

// Failed returns how many findings do not hold.
func (r Report) Failed() (n int) {
	for _, f := range r.Findings {
		if !f.Holds {
			n++
		}
	}
	return n
}

// Unchecked is what was not looked at, since something was not given or not asked for.
type Unchecked struct {
	What string `json:"what"`
	Why  string `json:"why"` // and what would have it looked at
}

// Finding is one thing that was looked at.
type Finding struct {
	What  string `json:"what"`
	Holds bool   `json:"holds"`
	Says  string `json:"says"`
}

// written returns the report with everything written out that does not show, or turns text round:
// titles, operators and errors of files are others' words, on a page as in a terminal.
func (r Report) written() Report {
	for i, text := range r.First {
		r.First[i] = sanitize.Page(text)
	}
	for i, f := range r.Findings {
		r.Findings[i].What, r.Findings[i].Says = sanitize.Page(f.What), sanitize.Page(f.Says)
	}
	for i, u := range r.Unchecked {
		r.Unchecked[i] = Unchecked{sanitize.Page(u.What), sanitize.Page(u.Why)}
	}
	return r
}
