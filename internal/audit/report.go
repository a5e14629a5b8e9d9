package audit

import (
	"strings"

	"github.com/confetti-dp/confetti/internal/audit/report"
	"github.com/confetti-dp/confetti/plan"
)

// The form of a result is a package of its own, which who checks a release has without the attack.
type (
	Report     = report.Report
	Written    = report.Written
	Assumption = report.Assumption
)

// Confidence is that of every bound.
const Confidence = report.Confidence

// Of attacks the route of a plan, but for the seals, before each observer, by as many
// collections as take some ten seconds. State is the public one that the plan names, nil
// where it names none. What parties must keep to is tested too. What cannot be attacked is said in the report.
func Of(p plan.Plan, state []byte, progress func(stage string, done, of int)) Report {
	r := report.New(p)
	t, err := NewRoute(p, Rounds{State: state}, r.Seed)
	if err == nil {
		var all []Finding
		all, r.Left, err = t.brief(r.Seed, progress)
		for _, f := range all {
			r.Findings = append(r.Findings, f.Written())
		}
		if err == nil {
			r.Constants, err = t.Constants(r.Seed, progress)
		}
	}
	if err != nil {
		r.Left = append(r.Left, strings.TrimPrefix(err.Error(), "audit: "))
	}
	return r
}
