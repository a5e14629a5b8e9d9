package console

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"strconv"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/release"
)

// lookUp answers a reader of a study who asks for a window, and for a gap between rounds.
type lookUp struct {
	Rounds           int    // that were told of so far: the newest
	First, Last, Gap string // as asked, or as the page begins
	Window, Back     *found // nil: there is none
	Refused          string // why not
}

// found tells a number with its range.
type found struct{ Is, Number, Low, High string }

// days says how long the window is that the page begins with.
const days = 30

// lookedUp answers what is asked of the windows that a release tells of; nil of a release that tells of none.
func lookedUp(r release.Release, asked url.Values) *lookUp {
	var windows *release.Grid
	for _, f := range r.Figures() {
		if f.Grid != nil && len(f.Grid.Within) > 0 {
			windows = f.Grid
		}
	}
	if windows == nil {
		return nil
	}
	n := windows.Columns
	l := &lookUp{
		Rounds: n, First: cmp.Or(asked.Get("first"), strconv.Itoa(max(1, n-days+1))), Last: cmp.Or(asked.Get("last"), strconv.Itoa(n)),
		Gap: cmp.Or(asked.Get("gap"), "1"),
	}
	first, err1 := strconv.Atoi(l.First)
	last, err2 := strconv.Atoi(l.Last)
	gap, err3 := strconv.Atoi(l.Gap)
	switch {
	case err1 != nil || err2 != nil || first < 1 || last < first || last > n:
		l.Refused = fmt.Sprintf("A window is from a first round to a last one, which is not before it: give numbers from 1 to %d.", n)
		return l
	case err3 != nil || gap < 1 || n > 1 && gap > n-1:
		l.Refused = fmt.Sprintf("Whoever came back did so after 1 to %d rounds: give one of these numbers.", max(1, n-1))
		return l
	}
	value, within := windows.Values[(last-1)*n+first-1], windows.Within[(last-1)*n+first-1]
	l.Window = &found{fmt.Sprintf("different people in rounds %d to %d", first, last), people(max(0, value)), people(max(0, value-within)), people(max(0, value+within))}
	for _, f := range r.Figures() {
		if len(f.Series) != 1 || f.Name != gapsFigure {
			continue
		}
		line := f.Series[0]
		for i, x := range line.X {
			if int(math.Round(x)) == gap {
				l.Back = &found{"times somebody came back " + after(gap), people(max(0, line.Y[i])), people(line.Low[i]), people(line.High[i])}
			}
		}
	}
	return l
}

// gapsFigure names the line of a release that says after how many rounds people came back.
const gapsFigure = "gaps"

// after says how long after the last time.
func after(gap int) string {
	if gap == 1 {
		return "in the next round"
	}
	return fmt.Sprintf("exactly %d rounds later", gap)
}

// Says returns how sure the ranges are.
func (l *lookUp) Says() string {
	return fmt.Sprintf("Ranges hold for all windows of the study at once, and for all gaps, %s sure each: look at as many as you like.", numerals.Percent(level))
}
