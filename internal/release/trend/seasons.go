package trend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Join puts the rounds of seasons after each other, which are studies by themselves, in the order in which they began. It
// refuses two that began at the same time: these are versions beside each other, and have a trend each.
func Join(seasons [][]Round) ([]Round, error) {
	if len(seasons) == 1 {
		return seasons[0], nil
	}
	began := func(season []Round) time.Time {
		for _, r := range season {
			if at := cmp.Or(r.Times.Opens, r.Times.Closes); !at.IsZero() {
				return at
			}
		}
		return time.Time{}
	}
	seasons = slices.DeleteFunc(slices.Clone(seasons), func(s []Round) bool { return len(s) == 0 })
	slices.SortStableFunc(seasons, func(a, b []Round) int { return began(a).Compare(began(b)) })
	var all []Round
	for i, season := range seasons {
		if i > 0 && began(season).Equal(began(seasons[i-1])) {
			return nil, fmt.Errorf("two of the studies begin at %s: they are versions beside each other, whose answers are not summed; draw a trend of each", began(season).UTC().Format(time.RFC3339))
		}
		for _, r := range season {
			r.season, r.own, r.Number = i+1, r.Number, len(all)+1
			all = append(all, r)
		}
	}
	return all, nil
}

// anew returns from which place on the rounds ask of a metric what the newest with numbers asks.
func anew(rounds []Round, metric, crowd string) (from int) {
	asks := ""
	for i, r := range slices.Backward(rounds) {
		of := r.table(metric, crowd)
		switch {
		case of == nil:
		case asks == "":
			asks = of.asks
		case asks != of.asks:
			return i + 1
		}
	}
	return 0
}

// Name returns the number of a round, with its season where there are several.
func (r told) Name() string {
	if r.Season == 0 {
		return fmt.Sprint("round ", r.Round)
	}
	return fmt.Sprintf("round %d of season %d", r.Own, r.Season)
}

// name returns that of the round with a number.
func (t Trend) name(round int) string {
	for _, r := range t.Rounds {
		if r.Round == round {
			return r.Name()
		}
	}
	return fmt.Sprint("round ", round)
}

// NewestName and SinceName name the rounds that changes are of.
func (t Trend) NewestName() string { return t.name(t.Newest) }
func (t Trend) SinceName() string  { return t.name(t.Since) }

// Seasons reports whether rounds are of several.
func (t Trend) Seasons() bool { return t.Rounds[0].Season > 0 }

// seasons marks where each season after the first begins.
func (t Trend) seasons(b *strings.Builder, f frame) {
	for i, r := range t.Rounds {
		if i > 0 && r.Season != t.Rounds[i-1].Season {
			x := f.x(float64(r.Round) - 0.5)
			fmt.Fprintf(b, `<line class="season" x1="%.1f" x2="%.1f" y1="%g" y2="%g"/><text x="%.1f" y="%g">season %d</text>`, x, x, f.top, f.bottom, x+4, f.top+11, r.Season)
		}
	}
}
