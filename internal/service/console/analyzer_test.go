package console

import (
	"fmt"
	"testing"
)

// One more than are held takes the place of one, and not of all.
func TestOnePlanMoreTakesThePlaceOfOne(t *testing.T) {
	var all map[string]int
	for i := range 3 * kept {
		keep(&all, fmt.Sprint(i), i)
		if want := min(i+1, kept); len(all) != want || all[fmt.Sprint(i)] != i {
			t.Fatalf("after %d there are %d, and %v is held", i+1, len(all), all[fmt.Sprint(i)])
		}
	}
	for name := range all {
		keep(&all, name, -1) // again
		break
	}
	if len(all) != kept {
		t.Errorf("one that is held already takes the place of another: %d", len(all))
	}
}
