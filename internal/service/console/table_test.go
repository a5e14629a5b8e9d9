package console

import (
	"net/url"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/release/sheets"
)

// A value leads surely only if no other may have as many: neither the second, nor one further
// behind whose interval is wider.
func TestALeadIsSureAgainstEveryOther(t *testing.T) {
	count := func(value string, x, low, high float64) sheets.ValueCount {
		return sheets.ValueCount{Value: value, Estimate: x, LowAll: low, HighAll: high}
	}
	tea, water := count("tea", 500, 450, 550), count("water", 300, 250, 350)
	for _, c := range []struct {
		third sheets.ValueCount
		want  string
	}{
		{count("coffee", 200, 150, 250), "“tea” leads, with about 500."},
		{count("coffee", 200, -60, 460), "not surely: “coffee” may have as many"},
	} {
		if got := (table{counts: []sheets.ValueCount{water, tea, c.third}}).answer(); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

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
		if err := v.draw(out, url.Values{"with": {"south"}}); err != nil || v.With != c.with || len(v.Lines) != 2 || (v.Lines[0].Two != nil) != (c.with != "") {
			t.Errorf("%v beside north: %v, with %q, %+v", c.south.counts, err, v.With, v.Lines)
		}
	}
}

// A sentence has no number that cannot be, whatever noise makes of the estimate.
func TestSentencesSayWhatCanBe(t *testing.T) {
	counts := []sheets.ValueCount{
		{Value: "tea", Estimate: 27, LowAll: 21, HighAll: 24},
		{Value: "coffee", Estimate: -3, LowAll: 0, HighAll: 2},
	}
	if got := (table{Respondents: 24, counts: counts}).answer(); !strings.Contains(got, "about 24 of 24 (100.0") {
		t.Errorf("the answer reads %q", got)
	}
	for _, c := range []struct{ estimate, low, high, want float64 }{{27, 21, 24, 24}, {-3, 0, 2, 0}, {5, 3, 8, 5}} {
		if got := possible(sheets.ValueCount{Estimate: c.estimate, LowAll: c.low, HighAll: c.high}); got != c.want {
			t.Errorf("%v is shown as %v", c, got)
		}
	}
}
