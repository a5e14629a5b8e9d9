package terms

import (
	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
)

// RequireUnfit lists that a plan which has no room for every value does not say what a
// device sends then.
func RequireUnfit(p plan.Plan, ps *plan.Problems) {
	ps.Require(p.Question.Unfit != "", "question.unfit is missing: there is no room for every value, and a device that stayed silent for its value would tell of it: say %q (the report of nothing) or %q (of the nearest value that fits)", plan.UnfitReference, plan.UnfitClip)
}

// RequireWhole lists that a plan spreads reports which have one part, and are sent whole.
func RequireWhole(p plan.Plan, ps *plan.Problems) {
	ps.Require(!p.Route.Spreads(), "route.mix.spread: a %s has no report fragments to be spread: leave it out", p.Question.Kind)
}

// RequireReplacement lists another adjacency.
func RequireReplacement(p plan.Plan, ps *plan.Problems) {
	ps.Require(p.Budget.Adjacency == string(account.Replacement), "budget.adjacency must be %q", account.Replacement)
}
