package histogram

import (
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/advise"
	"github.com/confetti-dp/confetti/question"
)

// compareRoutes says how a plan whose devices flip their bits compares with sums of cells as
// they are, with noise; not ok for plans that these cannot ask.
func (h *Question) compareRoutes() (question.Comparison, bool) {
	p := h.plan
	if len(h.attributes) > 1 || h.ask.Sketch != nil || h.attributes[0].items > 1 || h.search() != nil || p.Budget.LocalEpsilon > 0 || h.attributes[0].cells.Size() < 2 {
		return question.Comparison{}, false
	}
	n, size := p.Crowd.Minimum, h.attributes[0].cells.Size()
	others, err := advise.Task{Users: p.HonestMinimum(), Domain: size, Epsilon: p.Budget.Epsilon, Delta: p.Budget.Delta}.Noised()
	if err != nil || p.Budget.Adjacency != string(account.Replacement) {
		return question.Comparison{}, false
	}
	var s strings.Builder
	fmt.Fprintf(&s, "at the same epsilon among %d respondents, this plan errs by %.4g, rests on the noise of %d of them, and leaves a local epsilon", n, h.randomizers[0].deviation(n/size, n, h.share()), p.HonestMinimum())
	for _, r := range others {
		fmt.Fprintf(&s, "; %s errs by %.4g with %d bytes a device, rests on %s, and a device that lies can %s", r.Name, r.RMSE, r.Bytes, r.Rests, r.Liar)
	}
	s.WriteString(". If both aggregators of one of these sums collude there is " + account.NoProtection + " (confetti plan new histogram --route sum).")
	return question.Comparison{Key: "routes", Label: "Mixed or summed", Says: s.String()}, true
}
