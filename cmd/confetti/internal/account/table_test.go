package account

import (
	"strings"
	"testing"
)

func TestLinesAreBroken(t *testing.T) {
	if n := strings.Count(indent(strings.Repeat("word ", 50)), "\n"); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
}

// What an epsilon is stated of is attacked, with the same flags: training by the lab, which trains.
func TestWhatIsClaimedIsAttacked(t *testing.T) {
	for _, m := range mechanisms {
		if knows(m) != (attacked(m) || m.name == "dpsgd") {
			t.Errorf("%s: an epsilon: %v, an attack: %v", m.name, knows(m), attacked(m))
		}
	}
}
