package table

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// Event returns that of the rows that devices answer in secret. It has in it that rows may be crowded, and that a
// device may have more answers than envelopes. Of sums it is that of the noise that is relied upon.
func (q *Question) Event(honest int, _ bool) account.Event {
	if q.Summed() {
		return q.lost(sumprivacy.Promised(*q.plan.Route.Sum))
	}
	return q.rows.Spec().Event(terms.Relied(honest, q.plan.MinHonest()))
}

// Risks returns nothing beside the loss. How many rows a device answers says nothing of its record.
func (q *Question) Risks() question.Risks {
	if q.Summed() {
		return question.Risks{}
	}
	return question.Risks{Messages: float64(q.ask.Answered)}
}

// names returns those of the columns.
func (q *Question) names() (all []string) {
	for _, c := range q.ask.Columns {
		all = append(all, c.Name)
	}
	return all
}

// Words speak of tables.
func (q *Question) Words() question.Words {
	w := question.Words{
		Asked:  fmt.Sprintf("What goes with what? Each respondent has a value of each of %d columns (%s), and tables of every two are counted.", len(q.ask.Columns), terms.List(q.names()...)),
		Answer: "whole record", Crowd: "crowd", Crowds: []string{"everybody"},
		Unfit:    terms.SaysUnfit(q.plan.Question, "all values of its column, each a little."),
		Thinning: terms.Thinned, Assumptions: []string{terms.OwnCoins},
	}
	if q.Summed() {
		w.Thinning, w.Assumptions = "", nil
		w.Unfit = terms.SaysUnfit(q.plan.Question, "a value of its column that the device draws, each as likely.")
	}
	return w
}

// Guarantees state replacement of a whole record.
func (q *Question) Guarantees(shuffled account.Guarantee) ([]account.Statement, error) {
	const note = "Speaks of all columns of one respondent's record together, exchanged for any others. One charge covers every table."
	if q.Summed() {
		return terms.NoisedSums(q.plan, shuffled, note, q.lost), nil
	}
	return terms.SecretRows(q.plan, q.Event(q.plan.MinHonest(), false), q.rows.Local(), shuffled, note)
}

// Tell returns in how many signs a record was said (question.Describer).
func (q *Question) Tell(bodies [][]byte) string {
	signs := terms.Signs(bodies, q.ask.Rows)
	if signs == 0 {
		return terms.Nothing
	}
	return fmt.Sprintf("%s, drowned in %s; at least %s", terms.Count(len(q.ask.Columns), "value"), terms.Count(signs, "coin"), terms.Coin(q.ask.Flip, "sign"))
}

// Compare says, before anybody answers, how exact tables will be, and what a liar counts for.
func (q *Question) Compare() []question.Comparison {
	n := q.plan.Crowd.Minimum
	s := q.Known(n, make([]float64, q.code.Numbers()), q.deviation(n))
	least, most := math.Inf(1), 0.0
	for a, b := range s.Pairs {
		least, most = min(least, s.CellError(a, b)), max(most, s.CellError(a, b))
	}
	const told = 4 // errors
	says := fmt.Sprintf("Of %d respondents a count of two values together is right to %.0f or %.0f, by the table (%s); one that %.2g %% hold is told from none. ", n, least, most, map[bool]string{true: "one standard error", false: "about one standard error: the release measures it"}[q.Summed()], 100*told*most/float64(n))
	says += fmt.Sprintf("Ranges of all that can be asked hold at once: they are %.1f errors to each side. One charge covers %s, and asking of the release is free. ", s.Quantile(level), terms.Count(q.code.Pairs(), "table"))
	return []question.Comparison{{Key: "tables", Title: "What tables tell", Says: says + q.Cautions(n)}}
}

// Cautions says of so many respondents what noise does where columns tell nothing of each other, whether they are few for
// tables, and what those who lie count for.
func (q *Question) Cautions(respondents int) string {
	s := q.Known(respondents, make([]float64, q.code.Numbers()), q.deviation(respondents))
	noise := astray(s)
	says := fmt.Sprintf("Where columns tell nothing of each other, noise has about %.2g %% of respondents in another cell of a table. ", 100*noise)
	if noise > fewPeople {
		says += "These are few for tables: best guesses may be further off than columns by themselves would be without noise. Ask more people, or fewer columns and values. "
	}
	if q.Summed() {
		moved := tables.Moved(q.code.Shape, s.Ordered)
		return says + fmt.Sprintf("A device proves that it marks %s at most, and not which: one who lies moves what can be asked for by up to %.1f. %s", terms.Count(q.code.Pairs(), "cell"), math.Ceil(10*moved)/10, together(moved, respondents))
	}
	liar := math.Ceil(q.liar())
	return says + fmt.Sprintf("One who lies counts for about %.0f respondents in one cell. %s Where people are hostile, have two aggregators add up what devices prove (--route sum).", liar, together(liar, respondents))
}

// together says what one and five in a hundred respondents do who lie alike, where each counts for so many.
func together(each float64, respondents int) string {
	most := func(share float64) float64 {
		return math.Ceil(min(1, share*each) * float64(respondents))
	}
	return fmt.Sprintf("One in a hundred who lie together count for up to %.0f, five in a hundred for up to %.0f.", most(0.01), most(0.05))
}

// fewPeople is the share of respondents in another cell above which a plan says that there are few. Columns by themselves had
// 1 to 10 % there in what was measured (docs/crosstabs.md).
const fewPeople = 0.03

// astray returns the share of respondents whom a table has in another cell, in the mean over all tables, where columns tell
// nothing of each other: it is of the noise of these.
func astray(s *tables.Sums) (share float64) {
	off := func(a int) float64 {
		each := math.Sqrt(2/math.Pi) * s.Column(a)[0].StdErr
		return min(1, float64(s.Code.Sizes[a])*each/2/float64(s.Respondents))
	}
	for a, b := range s.Pairs {
		share += min(1, math.Hypot(off(a), off(b))) / float64(s.Code.Pairs())
	}
	return share
}

// deviation returns that of each number of a sum, of so many respondents.
func (q *Question) deviation(respondents int) float64 {
	if q.Summed() {
		return q.noise()
	}
	return q.rows.Spec().Deviation(respondents, overlap(q.code.Shape))
}

// level bounds how likely each interval holds.
const level = 0.95
