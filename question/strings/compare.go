package strings

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/treecode"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/question"
)

const (
	usualNats  = 1.65    // of a character, as words are spelt
	usualBytes = 1.2     // of half a byte of names
	usualPart  = 2.0 / 3 // of the longest, that those which are found have
	testsCost  = 5.0     // nats: of both priors, of the share that may be false, and of a beam
	found90    = 1.28    // deviations by which nine of ten pass
	shortCost  = 1.2     // by what the tests of beginnings raise it, as measured
	longCost   = 1.8
)

// Compare says, before anybody answers, which strings are likely to be found, and what a liar counts for.
func (q *Question) Compare() []question.Comparison {
	n := q.plan.Crowd.Minimum
	nats := usualNats
	if q.ask.Alphabet == "" {
		nats = usualBytes
	}
	deviation := q.deviation(n)
	says := fmt.Sprintf("Of %d respondents a string that %.0f hold is found nine times in ten, if strings are spelt as words are, and one that %.0f hold if they are spelt at random. Each string that stands out is checked by numbers that had no part in choosing it, and one that nobody holds passes with probability %g at most. A count is right to %.0f, mostly, if no string is held by more than one in %.0f. ",
		n, q.needed(n, nats, usualPart), q.needed(n, math.Log(float64(q.code.Symbols())), 1), Check, 1.96*deviation, 1/math.Sqrt(usualAlike))
	says += fmt.Sprintf("That is by %d buckets of %d people each, on average. ", q.code.Buckets, n/q.code.Buckets) + q.Liars()
	if tail := float64(q.code.Tail) * math.Log(float64(q.code.Cells)); tail < -math.Log(Check) {
		says += fmt.Sprintf(" A tail of %d positions of %d cells tells too few strings apart for any to pass its check: give more of either.", q.code.Tail, q.code.Cells)
	}
	return []question.Comparison{{Key: "strings", Title: "What is found", Says: says}}
}

// Liars says what respondents can do who do not as the plan says.
func (q *Question) Liars() string {
	if q.Summed() {
		up := func(x float64) float64 { return math.Ceil(10*x) / 10 }
		all, spelling := spent(q.code.Shape)
		says := fmt.Sprintf("A device proves that it sends bits, of which few are ones, and not which: so one who lies adds one respondent to one string, and %.1f to all strings together.", up(all))
		if spelling > 0 {
			says += fmt.Sprintf(" In what is learnt of spelling, which decides where to look, it counts for up to %.1f.", up(spelling))
		}
		return says
	}
	return fmt.Sprintf("One who lies counts for up to %d respondents, and one in a hundred, together, can invent more strings than are true: where people are hostile, have two aggregators add up what devices prove (--route sum).", liar)
}

// spent returns how many respondents one who lies counts for in sums, whose proof allows as many ones as a string has,
// anywhere: in all strings together, with every one in positions, and in spelling, with every one in pairs; 0 without.
func spent(s treecode.Shape) (all, spelling float64) {
	ones, positions := float64(s.Ones()), float64(s.Positions())
	if s.Pairs > 0 {
		spelling = ones / float64(s.Length())
	}
	return ones / positions, spelling
}

// liar is how many respondents one counts for at most, whose bits are what it likes, in rows of its choice (docs/strings.md).
const liar = 8

// deviation returns that of a count, of so many respondents.
func (q *Question) deviation(respondents int) float64 {
	noise := 0.0
	if q.Summed() {
		noise = q.noise()
	} else {
		noise = q.rows.Spec().Deviation(respondents, overlap())
	}
	return noise / math.Sqrt((1-q.code.Pairs)*(1-1/float64(q.code.Cells)))
}

// needed returns how many hold a string that is found nine times in ten, where a symbol tells so many nats and strings
// are that part of the longest.
func (q *Question) needed(respondents int, nats, part float64) float64 {
	cost := longCost
	if q.code.Length() <= short {
		cost = shortCost
	}
	z := -prob.NormalLogQuantile(-nats*(part*float64(q.code.Length())+1) - testsCost)
	return cost * q.deviation(respondents) * (z + found90)
}
