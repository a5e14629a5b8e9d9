package histogram

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// maxHashes is how many hash functions a sketch may have, which a device makes ready.
const maxHashes = 1 << 16

// Validate lists what is wrong with a plan as a histogram. What it looks at is bounded by
// the limits of plan.Histogram, whatever the plan.
func Validate(p plan.Plan, ps *plan.Problems) {
	ask := *p.Question.Histogram
	validateAsked(ask, p.Route.Table != nil, ps)
	if Noised(p) || ask.Randomizer.Name == plan.RandomizerNone {
		validateNoised(p, ps)
	} else {
		validateRandomizer(ask.Randomizer, ps)
	}
	if slices.Contains(plan.Randomizers, ask.Randomizer.Name) {
		consistent(p, ps)
	}
	ps.Require(p.Budget.Adjacency != plan.AdjacencyLabel, "budget.adjacency %q is of labels whose features are public: ask for these (question.kind %q), or say %q", plan.AdjacencyLabel, "label", account.Replacement)
	ps.Require(p.Budget.LabelEpsilon == 0, "budget.label_epsilon: a histogram sends no label: leave it out")
	if !total(ask) {
		terms.RequireUnfit(p, ps)
	}
}

// total says that there is room for every answer.
func total(ask plan.Histogram) bool {
	return !slices.ContainsFunc(ask.Attributes, func(a plan.Attribute) bool { return !a.Total() })
}

func validateAsked(h plan.Histogram, table bool, ps *plan.Problems) {
	const at = "question.histogram."
	n := len(h.Attributes)
	ps.Require(n >= 1 && n <= plan.MaxAttributes, at+"attributes: name between 1 and %d", plan.MaxAttributes)
	names := map[string]bool{}
	cells := 0
	for i, a := range h.Attributes[:min(n, plan.MaxAttributes)] {
		where := fmt.Sprintf("%sattributes[%d]", at, i)
		ps.Require(strings.TrimSpace(a.Name) != "", "%s.name is empty: say what is asked", where)
		ps.Require(!names[a.Name], "%s: attribute %s is named twice", where, plan.Quoted(a.Name))
		ps.Require(!strings.ContainsFunc(a.Name, unicode.IsControl), "%s.name holds a control character", where)
		names[a.Name] = true
		validateAttribute(a, table, ps, where)
		cells = min(plan.MaxCells+1, cells+a.Domain())
	}
	switch {
	case n == 1:
		ps.Require(h.Collect == "", at+"collect belongs to several attributes: leave it out for one")
	case n > 1:
		ps.Require(h.Collect == plan.CollectSample || h.Collect == plan.CollectSplit, at+`collect must be "sample" (one attribute, drawn at random, gets the whole budget) or "split" (each gets its share)`)
	}
	if h.Sketch != nil {
		validateSketch(*h.Sketch, ps)
		for i, a := range h.Attributes[:min(n, plan.MaxAttributes)] {
			ps.Require(a.Kind != "set", "%sattributes[%d]: a sketch holds one cell a device, and a set has several: leave out sketch, or ask for categories", at, i)
		}
		if h.Sketch.Hashes <= plan.MaxCells && h.Sketch.Width <= plan.MaxCells && n <= plan.MaxAttributes {
			cells = n * h.Sketch.Hashes * h.Sketch.Width
		}
	}
	ps.Require(cells <= plan.MaxCells, at+"asks for more than %d cells", plan.MaxCells)
}

// attributeFields are the parameters of the kinds of attribute: whose they are,
// and whether one has them.
var attributeFields = []struct {
	name  string
	kinds []string
	has   func(plan.Attribute) bool
}{
	{"values", []string{"categories", "set"}, func(a plan.Attribute) bool { return len(a.Values) > 0 }},
	{"size", []string{"categories", "set"}, func(a plan.Attribute) bool { return a.Size != 0 }},
	{"low", []string{"buckets", "mean"}, func(a plan.Attribute) bool { return a.Low != 0 }},
	{"high", []string{"buckets", "mean"}, func(a plan.Attribute) bool { return a.High != 0 }},
	{"cells", []string{"buckets"}, func(a plan.Attribute) bool { return a.Cells != 0 }},
	{"most", []string{"set"}, func(a plan.Attribute) bool { return a.Most != 0 }},
	{"x", []string{"grid"}, func(a plan.Attribute) bool { return a.X != nil }},
	{"y", []string{"grid"}, func(a plan.Attribute) bool { return a.Y != nil }},
	{"least", []string{"open"}, func(a plan.Attribute) bool { return a.Least != 0 }},
	{"arms", []string{"categories"}, func(a plan.Attribute) bool { return len(a.Arms)+len(a.Outcomes) > 0 }},
}

func validateAttribute(a plan.Attribute, table bool, ps *plan.Problems, at string) {
	kinds := plan.AttributeKinds
	if table {
		kinds = slices.Concat(kinds, []string{"mean", "open"})
	}
	if err := plan.Ended(a.Kind); err != nil {
		ps.Require(false, "%s.kind: %v", at, err)
		return
	}
	if !slices.Contains(kinds, a.Kind) {
		ps.Require(false, "%s.kind must be one of %s", at, strings.Join(kinds, ", "))
		return
	}
	for _, f := range attributeFields {
		ps.Require(slices.Contains(f.kinds, a.Kind) || !f.has(a), "%s.%s belongs to %s: leave it out for %s", at, f.name, strings.Join(f.kinds, ", "), a.Kind)
	}
	switch a.Kind {
	case "categories", "set":
		ps.Require((len(a.Values) > 0) != (a.Size != 0), "%s needs values (cells by name) or size (cells by number), and not both", at)
		ps.Require(a.Size >= 0 && a.Size <= plan.MaxCells, "%s.size must be between 1 and %d", at, plan.MaxCells)
		ps.Names(at+".values", a.Values)
		if a.Kind == "set" {
			ps.Require(a.Most >= 1 && a.Most <= plan.MaxItems && a.Most <= a.Domain(), "%s.most must be between 1 and %d, and at most the number of cells", at, plan.MaxItems)
		}
		ps.Require(len(a.Arms)+len(a.Outcomes) == 0 || len(a.Arms) >= 2 && len(a.Outcomes) >= 2 && len(a.Arms)*len(a.Outcomes) <= len(a.Values), "%s.arms and outcomes are 2 or more of each, and values begin with a cell for each pair of them", at)
		ps.Names(at+".arms", a.Arms)
		ps.Names(at+".outcomes", a.Outcomes)
	case "buckets":
		validateAxis(&plan.Axis{Low: a.Low, High: a.High, Cells: a.Cells}, ps, at)
	case "mean":
		validateAxis(&plan.Axis{Low: a.Low, High: a.High, Cells: 1}, ps, at)
		ps.Require(!a.Others, "%s.others belongs to cells: leave it out for a mean", at)
	case "open":
		ps.Require(a.Least >= 2 && a.Least <= plan.MaxCells, "%s.least must be between 2 and %d", at, plan.MaxCells)
		ps.Require(!a.Others, "%s.others is what no plan knows of values that nobody declared: leave it out", at)
	case "grid":
		validateAxis(a.X, ps, at+".x")
		validateAxis(a.Y, ps, at+".y")
	}
}

func validateAxis(x *plan.Axis, ps *plan.Problems, at string) {
	if x == nil {
		ps.Require(false, "%s is missing", at)
		return
	}
	ps.Require(plan.Finite(x.Low) && plan.Finite(x.High) && x.Low < x.High && plan.Finite(x.High-x.Low), "%s: low must be below high, both numbers", at)
	ps.Require(x.Cells >= 1 && x.Cells <= plan.MaxCells, "%s.cells must be between 1 and %d", at, plan.MaxCells)
}

func validateRandomizer(r plan.Randomizer, ps *plan.Problems) {
	ps.Require(r.Accounting == "exact" || r.Accounting == "paper", randomizerAt+`accounting must be "exact" or "paper"`)
	ps.Require(r.Epsilon > 0 && plan.Finite(r.Epsilon), randomizerAt+"epsilon must be a number above 0")
	if !slices.Contains(plan.Randomizers, r.Name) {
		ps.Require(false, randomizerAt+"name must be one of %s", strings.Join(plan.Randomizers, ", "))
		return
	}
	mine := ways[r.Name].fields
	if r.OneHot() && r.Fragments > 1 {
		mine = slices.Concat(mine, tornFields)
	}
	for _, f := range []struct {
		name, of string
		has      bool
	}{
		{"keep", "one-hot", r.Keep != 0},
		{"flip", "one-hot", r.Flip != 0},
		{"fragments", "one-hot", r.Fragments != 0},
		{"backstop", "one-hot with fragments", r.Backstop != 0},
		{"backstop_keep", "one-hot with fragments", r.BackstopKeep != 0},
		{"backstop_flip", "one-hot with fragments", r.BackstopFlip != 0},
		{"subset", "subset", r.Subset != 0},
		{"range", "local-hash", r.Range != 0},
		{"functions", "local-hash", r.Functions != 0},
		{"seed", "local-hash", r.Seed != ""},
	} {
		ps.Require(slices.Contains(mine, f.name) || !f.has, randomizerAt+"%s belongs to %s: leave it out for %s", f.name, f.of, r.Name)
	}
	if valid := ways[r.Name].valid; valid != nil {
		valid(r, ps)
	}
}

// validateNoised lists what is wrong with a plan that sums cells as they are.
func validateNoised(p plan.Plan, ps *plan.Problems) {
	const at = "question.histogram.randomizer"
	ask := *p.Question.Histogram
	if !Noised(p) {
		ps.Require(false, at+`.name: %q leaves cells as they are, for sums that get noise: set route.kind to "sum", or name another randomizer`, plan.RandomizerNone)
		return
	}
	want := plan.Randomizer{Name: plan.RandomizerNone, Accounting: string(calibrate.Exact)}
	ps.Require(ask.Randomizer == want, at+" must have the name %q, the accounting %q and nothing else: noise is added to the sums", want.Name, want.Accounting)
	ps.Require(ask.Sketch == nil || ask.Collect != plan.CollectSample, "a sketch draws a row for each respondent already: with several attributes, split")
	if p.Route.Table == nil {
		terms.RequireReplacement(p, ps)
	}
	ps.Require(!besideCells(ask) || p.Route.Noise().Law == plan.LawLaplace, "route.table.law must be %q where a mean is asked, or values that nobody declared", plan.LawLaplace)
	means := slices.ContainsFunc(ask.Attributes, func(a plan.Attribute) bool { return a.Kind == "mean" })
	ps.Require(!means || p.Route.Noise().Law != plan.LawLaplace || p.Route.Noise().Decay >= leastOfMeans, "route.table.decay must be at least 2^-16 where a mean is asked, whose noise is drawn in finer steps: give more epsilon")
	ps.Require(!besideCells(ask) || ask.Sketch == nil && ask.Collect != plan.CollectSample, "means, and values that nobody declared, are of whole tables: leave out sketch, and split")
	ps.Require(p.Budget.LocalEpsilon == 0, "budget.local_epsilon: both aggregators together have the answer, with hardly any noise: leave it out, or name a randomizer and have devices add the noise")
	validateStudy(p, ps)
}

// validateStudy lists what is wrong with a plan whose rounds are correlated.
func validateStudy(p plan.Plan, ps *plan.Problems) {
	of, ask := ofStudy(p), *p.Question.Histogram
	if of == nil {
		return
	}
	one := len(ask.Attributes) == 1 && p.Crowds() == 1 && ask.Sketch == nil && ask.Collect == ""
	ps.Require(one, "route.sum.correlated counts what happens in the cells of one attribute, in one crowd: without a sketch or question.histogram.collect")
	if of.Windows && one {
		a := ask.Attributes[0]
		ps.Require(a.Kind == "set" && a.Domain() == 1 && a.Most == 1 && !a.Others, "route.sum.correlated.windows count who did one thing: question.histogram.attributes[0] must be a set of one value")
	}
	if of.Turns && one {
		a := ask.Attributes[0]
		ps.Require(a.Kind == "set" && a.Domain() == 2 && a.Most == 1 && !a.Others, "route.sum.correlated.turns count what begins and ends: question.histogram.attributes[0] must be a set of these two values, of which a respondent says one at most")
	}
}

// bit checks the two probabilities with which a bit is sent.
func bit(ps *plan.Problems, keepAt, flipAt string, keep, flip float64) {
	ps.Require(keep > 0 && keep <= 1, "%s must be above 0 and at most 1", keepAt)
	ps.Require(flip >= 0 && flip < keep, "%s must be at least 0 and below keep", flipAt)
}

func validateSketch(s plan.Sketch, ps *plan.Problems) {
	const at = "question.histogram.sketch."
	ps.Require(s.Name == "count-mean" || s.Name == "count", at+`name must be "count-mean" or "count"`)
	ps.Require(s.Hashes >= 1 && s.Hashes <= maxHashes, at+"hashes must be between 1 and %d", maxHashes)
	ps.Require(s.Width >= 2 && s.Width <= plan.MaxCells, at+"width must be between 2 and %d", plan.MaxCells)
	ps.Seed(at+"seed", s.Seed)
}

// consistent lists what the sections of a plan ask of each other.
func consistent(p plan.Plan, ps *plan.Problems) {
	ask, parts := *p.Question.Histogram, p.Contributions()
	r, spreads := ask.Randomizer, p.Route.Spreads()
	ps.Require(ask.Sketch == nil || r.OneHot(), "the rows of a sketch are answered by one-hot: %s cannot", plan.Quoted(r.Name))
	ps.Require(ask.Sketch == nil || ask.Collect != plan.CollectSample, "a sketch draws a row for each respondent already: with several attributes, split")
	ps.Require(!spreads || r.Fragments >= parts && r.Fragments%parts == 0, "%d report fragments cannot be spread evenly over %d instances: ask for a multiple", r.Fragments, parts)
	ps.Require(!spreads || p.Crowd.Deletion == nil, "instances that delete by themselves would not hold the same respondents, which spreading report fragments rests on: leave out crowd.deletion or route.mix.spread")
	ps.Require(r.OneHot() || p.Budget.Adjacency == string(account.Replacement), "%s is accounted for replacement: set budget.adjacency to %q", plan.Quoted(r.Name), account.Replacement)
	validateStudy(p, ps)
	for _, a := range ask.Attributes[:min(len(ask.Attributes), plan.MaxAttributes)] {
		ps.Require(a.Kind != "set" || r.OneHot(), "attribute %s: %s answers with one cell, and a set has several or none: use one-hot", plan.Quoted(a.Name), plan.Quoted(r.Name))
	}
}
