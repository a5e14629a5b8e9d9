package simulate_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

// Numbers of holders give the counts that a list of the same respondents gives: the pair of
// counts of the first two channels has its exact law. One holder fewer is caught.
func TestHoldersHaveTheLawOfTheirRespondents(t *testing.T) {
	const devices, runs = 8, 6000
	for _, kind := range []string{"one-hot", "fragments", "count-mean", "count", "krr"} {
		t.Run(kind, func(t *testing.T) {
			p := tiny(kind)
			proto, _ := runnable(t, p)
			want := make(pairs, side*side)
			want[0] = 1
			for i := range devices {
				want = want.plus(saying(p, i))
			}
			r := stattest.Rand(t)
			draw := func(holders ...int) []int {
				counts := make([]int, side*side)
				for range runs {
					col, err := simulate.Law(proto, distribution.Holders(holders), r.Uint64(), quiet)
					if err != nil || col.Devices != holders[0]+holders[1]+holders[2] || col.Crowds[0].Respondents != col.Devices {
						t.Fatalf("%+v, %v", col, err)
					}
					n := col.Crowds[0].Tally.(*tally.Counts).N
					counts[min(int(n[0]), side-1)*side+min(int(n[1]), side-1)]++
				}
				return counts
			}
			stattest.GTest(t, want, draw(3, 3, 2))
			fewer := draw(2, 3, 2)
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, want, fewer) })
		})
	}
}

// Where the law depends on more than numbers of holders, none is drawn; a crowd below its
// minimum is withheld.
func TestHoldersRefusesWhatTheyDoNotDetermine(t *testing.T) {
	for kind, want := range map[string]string{"sample": "one attribute", "spread": "one instance"} {
		proto, _ := runnable(t, tiny(kind))
		if _, err := simulate.Law(proto, distribution.Holders{3, 3, 2}, 1, quiet); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	p := tiny("one-hot")
	p.Crowd.Minimum = 4
	proto, _ := runnable(t, p)
	if _, err := simulate.Law(proto, distribution.Holders{3, 3}, 1, quiet); err == nil || !strings.Contains(err.Error(), "2 cells") {
		t.Error(err)
	}
	if col, err := simulate.Law(proto, distribution.Holders{1, 1, 1}, 1, quiet); err != nil || col.Crowds[0].Tally != nil || len(col.Withheld) != 1 {
		t.Errorf("%+v, %v", col, err)
	}
	p.Crowd.Deletion = &plan.Deletion{Epsilon: 1, Delta: 1e-6, Noise: 1, Threshold: 1}
	proto, _ = runnable(t, p)
	if _, err := simulate.Law(proto, distribution.Holders{3, 3, 2}, 1, quiet); err == nil {
		t.Error("deletion was left out")
	}
}
