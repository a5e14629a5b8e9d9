package console

import (
	"net/url"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/release/sheets"
)

// Crowds stand beside each other by value: one whose list has other values, or another order, is
// not offered, and not drawn when it is asked for.
func TestOnlyTablesOfTheSameValuesAreCompared(t *testing.T) {
	of := func(crowd string, values ...string) table {
		one := table{Attribute: "drink", Crowd: crowd, Respondents: 100}
		for _, v := range values {
			one.counts = append(one.counts, sheets.ValueCount{Value: v, Estimate: 10, LowAll: 5, HighAll: 15})
		}
		return one
	}
	for _, c := range []struct {
		south table
		with  string
	}{{of("south", "coffee", "tea"), "south"}, {of("south", "tea"), ""}, {of("south", "tea", "coffee"), ""}} {
		var v releaseView
		out := &released{tables: [][]table{{of("north", "coffee", "tea"), c.south}}}
		if err := v.choose(out, url.Values{"with": {"south"}}); err != nil || v.With != c.with || slices.Contains(v.Others, "south") != (c.with != "") {
			t.Errorf("%v beside north: %v, with %q of %v", c.south.counts, err, v.With, v.Others)
		}
	}
}
