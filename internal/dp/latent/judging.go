package latent

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// Judging asks groups of respondents, each of them of one setting, whether a published model is right (LTN,
// section 3.3). One respondent who judged all settings would pay for each of them: groups are disjoint, and a
// plan each.
type Judging struct {
	Respondents int     // of all groups
	Epsilon     float64 // local, of the one answer of each
}

// Deviation returns that of the accuracy that a group of so many respondents gives, at most.
func (j Judging) Deviation(group int) float64 {
	m := randomize.KRR{K: 2, Epsilon: j.Epsilon}
	return 1 / (2 * (2*m.Prob(0, 0) - 1) * math.Sqrt(float64(group)))
}

// Most returns how many settings, of a group each, have accuracies with a deviation of no more than some.
func (j Judging) Most(deviation float64) int {
	one := j.Deviation(1) / deviation
	return int(float64(j.Respondents) / (one * one))
}

// Check refuses more settings than the respondents can tell apart: choosing among more would choose noise.
func (j Judging) Check(settings int, deviation float64) error {
	if most := j.Most(deviation); settings > most {
		return fmt.Errorf("latent: %d settings, each judged by %d of %d respondents at a local epsilon of %v, would have accuracies with a deviation of up to %.3f: at most %d settings have one of %v", settings, j.Respondents/max(1, settings), j.Respondents, j.Epsilon, j.Deviation(max(1, j.Respondents/max(1, settings))), most, deviation)
	}
	return nil
}
