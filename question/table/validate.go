package table

import (
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

const maxRows = 1 << 28

// validate lists what is wrong with a plan of tables.
func validate(p plan.Plan, ps *plan.Problems) {
	const at = "question.table."
	before := len(*ps)
	undesigned(p, ps)
	ask := *p.Question.Table
	if err := shape(ask).Validate(); err != nil {
		ps.Require(false, at+"%v", err)
	}
	if len(*ps) > before {
		return
	}
	if summed(p) {
		ps.Require(ask.Answered == 0 && ask.Rows == 0 && ask.Clip == 0 && ask.Flip == 0 && ask.Rare == 0, at+"answered, rows, clip, flip_probability and rare are of answers that are mixed: leave them out of sums")
		return
	}
	ps.Require(ask.Main > 0, at+"main must be above 0 and below 1")
	numbers := shape(ask).Numbers()
	ps.Require(ask.Rows >= numbers+spare && ask.Rows <= maxRows && bits.OnesCount(uint(max(0, ask.Rows))) == 1, at+"rows must be a power of two, at least the %d numbers of a vector and %d more, which show the error", numbers, spare)
	terms.RequireBits(at, plan.BitsSent{Answered: ask.Answered, Rows: ask.Rows, Clip: ask.Clip, Flip: ask.Flip, Rare: ask.Rare}, p, ps)
}

// undesigned lists what is wrong with what must be there before a design.
func undesigned(p plan.Plan, ps *plan.Problems) {
	const at = "question.table."
	ask, b := *p.Question.Table, p.Budget
	ps.Require(ask.Answered >= 0, at+"answered must be a number of rows")
	if summed(p) {
		ps.Require(ask.Seed == "" && ask.Main == 0 && ask.Answered == 0, at+"seed, main and answered are of answers that are mixed: leave them out of sums")
		ps.Require(p.Route.Sum.Noise != plan.NoiseDevices, "route.sum.noise: sums are of cells as they are: name %q or %q, or have answers mixed", plan.NoiseAggregators, plan.NoiseShared)
		ps.Require(p.Route.Sum.Law != plan.LawLaplace, "route.sum.law: ranges are of normal noise: name %q, or leave it out", plan.LawGaussian)
	} else {
		ps.Seed(at+"seed", ask.Seed)
	}
	names := map[string]bool{}
	for i, c := range ask.Columns {
		ps.Require(named(c.Name) && !names[c.Name], at+"columns[%d].name must be a name of its own, of printed characters, without quotes and commas and without the words by, where, and, in", i)
		names[c.Name] = true
		column(c, i, ps)
	}
	ps.Require(b.LabelEpsilon == 0, "budget.label_epsilon: a table has no class: leave it out")
	terms.RequireReplacement(p, ps)
	ps.Require(len(p.Crowd.Names) == 0, "crowd.names: everybody is in one crowd: make the crowd a column, or leave them out")
	terms.RequireSecret(p, ps)
}

// column lists what is wrong with one.
func column(c plan.Column, i int, ps *plan.Problems) {
	const at = "question.table.columns"
	ps.Require((len(c.Values) > 0) != (len(c.Cuts) > 0), at+"[%d] must have either values or cuts", i)
	ps.Require(!c.Others || len(c.Cuts) == 0, at+"[%d].others: every number is in a range: leave it out", i)
	seen := map[string]bool{}
	for _, v := range c.Values {
		ps.Require(v != "" && v == strings.TrimSpace(v) && !seen[v] && v != "any other", at+"[%d].values must differ, and none may be empty, begin or end with a space, or be \"any other\"", i)
		seen[v] = true
	}
	for j, x := range c.Cuts {
		ps.Require(!math.IsNaN(x) && !math.IsInf(x, 0) && (j == 0 || c.Cuts[j-1] < x), at+"[%d].cuts must be finite numbers that ascend", i)
	}
}

// named says that a question about a release can have the name in it.
func named(name string) bool {
	words := strings.Fields(name)
	return name != "" && name == strings.Join(words, " ") && !strings.ContainsAny(name, "\"',<>=!()") &&
		!slices.ContainsFunc(words, func(w string) bool { return slices.Contains([]string{"by", "where", "and", "in"}, strings.ToLower(w)) })
}
