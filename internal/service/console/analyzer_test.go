package console

import (
	"fmt"
	"net/http"
	"strings"
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

// A page of an analyzer that does not answer names it, and what to do; that something else failed
// is not put on it.
func TestASilentAnalyzerIsNamed(t *testing.T) {
	s, asked, _, _ := several(t)
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s})
	if err != nil {
		t.Fatal(err)
	}
	s.down[base] = true
	for _, path := range []string{"/", "/plans/" + asked, "/releases/" + asked} {
		res, page := get(t, c, path)
		if res.StatusCode != http.StatusBadGateway || strings.Contains(page, "refused") {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
		wants(t, page, "The analyzer at "+base+" does not answer.", "See whether the analyzer runs")
	}
	delete(s.down, base)
	s.answers[base+"/v1/plans/"+asked] = []byte("no plan")
	if _, page := get(t, c, "/plans/"+asked); strings.Contains(page, "does not answer") {
		t.Error("an analyzer that answers nonsense is said not to answer")
	}
}
