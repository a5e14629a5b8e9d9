package latent

import (
	"math"
	"strings"
	"testing"
)

// More settings than the respondents can tell apart are refused, with the number that they can.
func TestTooManySettings(t *testing.T) {
	j := Judging{Respondents: 1500, Epsilon: 2}
	if d := j.Deviation(1500 / 4); math.Abs(d-0.0339) > 1e-4 {
		t.Errorf("deviation %v", d)
	}
	if err := j.Check(4, 0.034); err != nil {
		t.Error(err)
	}
	err := j.Check(5, 0.034)
	if err == nil || !strings.Contains(err.Error(), "at most 4 settings") {
		t.Errorf("%v", err)
	}
}
