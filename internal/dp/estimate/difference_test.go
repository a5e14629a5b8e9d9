package estimate

import "testing"

// The difference of two shares holds the truth as its parts do: known numbers of Newcombe
// (1998), method 10, for 56 of 70 and 48 of 80, whose parts are Wilson's intervals.
func TestTheIntervalOfADifference(t *testing.T) {
	d, low, high := Minus(56./70, 0.6918, 0.8769, 48./80, 0.4905, 0.7004)
	for _, x := range [][2]float64{{d, 0.2}, {low, 0.0524}, {high, 0.3339}} {
		if x[0] < x[1]-2e-4 || x[0] > x[1]+2e-4 {
			t.Errorf("%.4f, and the table has %.4f", x[0], x[1])
		}
	}
}
