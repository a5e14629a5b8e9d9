package label

import (
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/vector"
)

const maxFeatures = 1 << 20

// reports are those that a plan may name.
var (
	reports = []string{plan.LabelClusters, plan.LabelSums, plan.LabelEach}
	held    = []string{plan.LabelClusters, plan.LabelEach, Resampled} // of a table
)

// validate lists what is wrong with a plan of labels.
func validate(p plan.Plan, ps *plan.Problems) {
	before := len(*ps)
	undesigned(p, ps)
	if len(*ps) > before {
		return
	}
	const at = "question.label."
	ask := *p.Question.Label
	switch ask.Report {
	case plan.LabelClusters, Resampled:
		ps.Require(p.Crowds() == ask.Clusters, "crowd.names: %d for %d clusters: name each, or leave the names to the design", p.Crowds(), ask.Clusters)
		switch r := ask.Randomizer; {
		case ask.Report == Resampled:
			validateResampled(ask, ps)
			histogram.Validate(counted(p), ps)
		case p.Route.Table != nil:
			ps.Require(r == nil, at+"randomizer is of devices: the counts of a table have the noise of route.table: leave it out")
			histogram.Validate(counted(p), ps)
		case r == nil:
			ps.Require(false, at+"randomizer is missing: design the plan")
		default:
			histogram.Validate(counted(p), ps)
		}
	case plan.LabelSums:
		ps.Require(ask.Sum != nil && ask.Sum.Sums == plan.SumsClasses, at+"sum must say what is summed: %q", plan.SumsClasses)
		if ask.Sum != nil {
			vector.Validate(summed(p), ps)
		}
	case plan.LabelEach:
		r := ask.Randomizer
		ps.Require(r != nil && r.Name == kary(r.Epsilon).Name && r.Epsilon > 0 && r.Epsilon <= 50, at+`randomizer must be "krr" with an epsilon above 0 and at most 50`)
		if r != nil {
			ps.Require(*r == plan.Randomizer{Name: r.Name, Accounting: r.Accounting, Epsilon: r.Epsilon}, at+"randomizer: a label by itself has a name, an accounting and an epsilon: leave out the rest")
		}
	}
}

// undesigned lists what is wrong with what must be there before a design.
func undesigned(p plan.Plan, ps *plan.Problems) {
	const at = "question.label."
	ask := *p.Question.Label
	table, known := p.Route.Table != nil, reports
	if table {
		known = held
	}
	if !slices.Contains(known, ask.Report) {
		ps.Require(false, at+"report must be one of %s", strings.Join(known, ", "))
		return
	}
	clusters := ask.Report == plan.LabelClusters || ask.Report == Resampled
	sums, alone := ask.Report == plan.LabelSums, !table && ask.Report == plan.LabelEach || table && ask.Report != plan.LabelClusters
	ps.Require(!table || ask.Features == 0 && p.State == "", at+"features and state are of devices, which find their cluster by them: leave them out of a plan of a table")
	ps.Require(table || ask.Features >= 1 && ask.Features <= maxFeatures || alone && ask.Features == 0, at+"features must be between 1 and %d: the public numbers of a respondent", maxFeatures)
	ps.Require(len(ask.Classes) >= 2 && len(ask.Classes) <= plan.MaxClasses, at+"classes: name between 2 and %d", plan.MaxClasses)
	if len(ask.Classes) <= plan.MaxClasses {
		ps.Names(at+"classes", ask.Classes)
	}
	ps.Require(clusters == (ask.Clusters > 0) && ask.Clusters <= cluster.Most, at+"clusters must be between 1 and %d where labels are counted in clusters, and be left out otherwise", cluster.Most)
	ps.Require(alone == (ask.Records > 0) && ask.Records <= plan.MaxCells/max(2, len(ask.Classes)), at+"records: say how many public ones there are where each label stands by itself, at most %d of these classes, and leave it out otherwise", plan.MaxCells/max(2, len(ask.Classes)))
	ps.Require(!sums || ask.Randomizer == nil, at+"randomizer belongs to labels, and sum to sums: leave it out")
	ps.Require(sums || ask.Sum == nil && ask.Seed == "", at+"sum and seed belong to sums: leave them out")
	ps.Require(clusters || len(p.Crowd.Names) == 0, "crowd.names: there is one crowd, of everybody: leave them out")
	ps.Require(p.Budget.Adjacency == plan.AdjacencyLabel, "budget.adjacency must be %q: the promise speaks of the label, and features are public", plan.AdjacencyLabel)
	ps.Require(p.Budget.LabelEpsilon == 0, "budget.label_epsilon: the budget speaks of the label: leave it out")
	ps.Require(p.Crowd.Deletion == nil, "crowd.deletion: who is in which cluster is public: leave it out")
	terms.RequireUnfit(p, ps)
	terms.RequireWhole(p, ps)
}
