package lift

import (
	"fmt"

	"github.com/confetti-dp/confetti/plan"
)

// SayCut says in words what of a metric is told.
func SayCut(m plan.Measure) string {
	says := ""
	what := m.Name
	if m.Before != "" {
		says += fmt.Sprintf("Each device subtracts %.3g times %s, at most %.4g. ", m.Times, m.Before, m.Most)
		what = "what is left"
	}
	if m.Per != "" {
		says += fmt.Sprintf("It subtracts %.3g times %s. ", m.Rate, m.Per)
		what = "what is left"
	}
	says += fmt.Sprintf("Below %.4g and above %.4g %s counts as these. ", m.Low, m.High, what)
	if m.Capped {
		return says + "The metric is the capped one, and is called so: what lies outside is not compared."
	}
	if m.LostShare == 0 {
		return says + "Nothing of a lift is lost by that."
	}
	return says + fmt.Sprintf("A lift in proportion loses at most %.3g %% of itself by that, one that is alike for all %.3g %%: an interval has effects of both kinds.", 100*m.LostShare, 100*m.LostAlike)
}
