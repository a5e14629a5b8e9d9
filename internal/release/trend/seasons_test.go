package trend

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"
)

// season returns rounds of a season that begins at a day, with the shares of "dark" in them; nil: it is withheld.
func season(begins string, asks string, shares ...float64) (all []Round) {
	opens, err := time.Parse(time.DateOnly, begins)
	if err != nil {
		panic(err)
	}
	for i, share := range shares {
		r := Round{Number: i + 1}
		r.Times.Opens, r.Times.Closes = opens.AddDate(0, 0, 7*i), opens.AddDate(0, 0, 7*i+7)
		if share < 0 {
			r.Missing = "withheld: too few"
		} else {
			r.tables = []table{{metric: "theme", asks: asks, respondents: 1000, whole: true, at: map[string]int{"dark": 0, "light": 1}, cells: []cell{{"dark", share, share - 0.01, share + 0.01}, {"light", 1 - share, 0.99 - share, 1.01 - share}}}}
		}
		all = append(all, r)
	}
	return all
}

// Seasons follow each other by when they began, whatever the order in which they are given, and the border is marked.
func TestSeasonsAreOneTrend(t *testing.T) {
	rounds, err := Join([][]Round{season("2027-01-04", "a", 0.5, 0.6), season("2026-12-07", "a", 0.2, -1, 0.3, 0.3)})
	if err != nil {
		t.Fatal(err)
	}
	got, ok := Follow(rounds, "theme", "", nil)
	if !ok || len(got.Rounds) != 6 || got.Newest != 6 || got.Since != 5 || len(got.Lines[0].Points) != 5 {
		t.Fatalf("%+v", got)
	}
	if name := got.Rounds[4].Name(); name != "round 1 of season 2" || !strings.HasPrefix(got.Says, "Since round 1 of season 2 “light” fell by ") {
		t.Errorf("%s: %s", name, got.Says)
	}
	var page, table bytes.Buffer
	if err := Write(&page, "x", []Trend{got}, Shield{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<line class="season"`, ">season 2</text>", "Each season is a study of its own", "Round 2 of season 1", "Since round 1 of season 2", `<th scope="row">2, 1</th>`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if err := WriteCSV(&table, []Trend{got}); err != nil {
		t.Fatal(err)
	}
	if rows, err := csv.NewReader(&table).ReadAll(); err != nil || strings.Join(rows[5][3:5], ",") != "2,1" {
		t.Errorf("%v: %q", err, rows[5])
	}
	alone, err := Join([][]Round{season("2026-12-07", "a", 0.2, 0.3)})
	if one, _ := Follow(alone, "theme", "", nil); err != nil || one.Seasons() || one.NewestName() != "round 2" {
		t.Errorf("%v: one season is named: %+v", err, one.Rounds)
	}
}

// Where the attribute changed, the trend begins anew: no number of before is drawn or compared with, even if it is asked
// again as it once was.
func TestAnotherAttributeBeginsAnew(t *testing.T) {
	first, second, third := season("2026-12-07", "a", 0.2, 0.2), season("2027-01-04", "b", 0.5), season("2027-02-01", "a", 0.6)
	for name, c := range map[string]struct {
		seasons       [][]Round
		points, since int
	}{
		"the same":           {[][]Round{first, third}, 3, 2},
		"another":            {[][]Round{first, second}, 1, 0},
		"another in between": {[][]Round{first, second, third}, 1, 0},
	} {
		rounds, err := Join(c.seasons)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := Follow(rounds, "theme", "", nil)
		if !ok || len(got.Lines[0].Points) != c.points || got.Since != c.since {
			t.Errorf("%s: %+v", name, got)
		}
		if gone := got.Gone(); (c.points == 1) != (len(gone) == 1 && strings.Contains(gone[0].Why, "begins anew")) {
			t.Errorf("%s: it says %+v", name, gone)
		}
	}
}

// Studies that begin together are versions beside each other, and are not summed.
func TestVersionsAreNotSummed(t *testing.T) {
	_, err := Join([][]Round{season("2026-12-07", "a", 0.2), season("2026-12-07", "a", 0.3)})
	if err == nil || !strings.Contains(err.Error(), "versions beside each other") {
		t.Error(err)
	}
}
