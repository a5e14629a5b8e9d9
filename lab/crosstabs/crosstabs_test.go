package crosstabs

import (
	"cmp"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/plan"
)

// Each population is the same for a seed, of its columns' values, and as alike as it says.
func TestPeople(t *testing.T) {
	for name, common := range map[string][2]float64{"census": {0.1, 0.45}, "habits": {0.85, 0.95}} {
		columns, rows, err := People(name, 4000, 1)
		if err != nil || len(columns) != 12 || len(rows) != 4000 {
			t.Fatal(name, err)
		}
		_, again, _ := People(name, 4000, 1)
		_, other, _ := People(name, 4000, 2)
		share := 0.0
		for i, c := range columns {
			held := map[string]int{}
			for _, row := range rows {
				if !slices.Contains(c.Values, row[i]) {
					t.Fatalf("%s: %s is %q", name, c.Name, row[i])
				}
				held[row[i]]++
			}
			if len(held) != len(c.Values) {
				t.Errorf("%s: %s has %d values of %d", name, c.Name, len(held), len(c.Values))
			}
			most := 0
			for _, n := range held {
				most = max(most, n)
			}
			share += float64(most) / 4000 / 12
		}
		if share < common[0] || share > common[1] {
			t.Errorf("%s: %.2f hold the commonest value", name, share)
		}
		same := func(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal[[]string]) }
		if !same(rows, again) || same(rows, other) {
			t.Errorf("%s: people do not follow from the seed", name)
		}
	}
	if _, _, err := People("nobody", 1, 1); err == nil {
		t.Error("nobody is a population")
	}
}

// What tells of each other does: income of schooling, and birthplace of region, by their correlation.
func TestColumnsTellOfEachOther(t *testing.T) {
	_, rows, err := People("census", 8000, 3)
	if err != nil {
		t.Fatal(err)
	}
	of := func(a, b int) float64 {
		var x, y, xx, yy, xy float64
		for _, r := range rows {
			p, q := float64(r[a][1]-'0'), float64(r[b][1]-'0')
			x, y, xx, yy, xy = x+p, y+q, xx+p*p, yy+q*q, xy+p*q
		}
		n := float64(len(rows))
		return (xy/n - x*y/n/n) / math.Sqrt((xx/n-x*x/n/n)*(yy/n-y*y/n/n))
	}
	if c := of(2, 7); c < 0.3 {
		t.Errorf("schooling and income go together by %.2f", c)
	}
	if c := of(4, 11); c < 0.3 {
		t.Errorf("region and birthplace go together by %.2f", c)
	}
	if c := of(1, 4); math.Abs(c) > 0.06 {
		t.Errorf("sex and region go together by %.2f", c)
	}
}

// A rival's numbers are what its Python says; one that has none says why. What fails is an error, and not left out.
func TestCurated(t *testing.T) {
	columns, rows, err := People("habits", 200, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := Cell{Columns: columns, Epsilon: 2, Delta: 1e-6, Seed: 1, Noise: plan.NoiseAggregators, Progress: func(string, int, int) {}}
	for _, row := range rows {
		var held []any
		for _, v := range row {
			held = append(held, v)
		}
		c.Held = append(c.Held, held)
	}
	ways, asked, err := Ours(c)
	if err != nil || len(ways) != 5 || ways[0].Off <= 0 || ways[0].RMSE <= 0 {
		t.Fatal(ways, err)
	}
	limits := Limits{Rounds: 1, Megabytes: 1, Time: 90 * time.Second}
	script := func(lines string) string {
		name := filepath.Join(t.TempDir(), "python")
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"+lines+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, want := range map[string]Way{
		script(`grep -q '"sizes":\[3,2,2,3' && echo '{"off": 0.25, "rmse": 12, "rounds": 11}'`): {Name: "curator: MST", Off: 0.25, RMSE: 12, Rounds: 11},
		script(`echo '{"missed": "no package"}'`):                                               {Name: "curator: MST", Missed: "no package"},
		"no-such-python": {Name: "curator: MST", Missed: "there is no no-such-python"},
	} {
		if got, err := Curated(name, "mst", c, asked, limits); err != nil || got != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	if _, err := Curated(script("echo trouble >&2; exit 3"), "aim", c, asked, limits); err == nil || !strings.Contains(err.Error(), "trouble") {
		t.Errorf("what failed is no error: %v", err)
	}
	limits.Time = 100 * time.Millisecond
	if got, err := Curated(script("exec sleep 60"), "aim", c, asked, limits); err != nil || got.Missed != "did not end in 100ms" {
		t.Errorf("%v, %v", got, err)
	}
	c.Held[0][0] = "no such value"
	if _, err := Curated("no-such-python", "mst", c, asked, limits); err == nil || !strings.Contains(err.Error(), "missing value") {
		t.Errorf("a missing value: %v", err)
	}
}

// The rivals themselves, where their package is: on a table whose columns follow from each other both are nearer than
// independence, and what they add to counts is of the promise. Elsewhere they say what is missing.
func TestRivals(t *testing.T) {
	python, err := exec.LookPath(cmp.Or(os.Getenv("PYTHON"), "python3"))
	if err != nil {
		t.Skip("there is no Python here: set PYTHON to one")
	}
	columns, c := []plan.Column{{Name: "a", Values: []string{"0", "1", "2"}}, {Name: "b", Values: []string{"0", "1", "2"}}, {Name: "c", Values: []string{"0", "1"}}}, Cell{Epsilon: 2, Delta: 1e-6, Seed: 1, Noise: plan.NoiseAggregators, Progress: func(string, int, int) {}}
	c.Columns = columns
	for i := range 3000 {
		c.Held = append(c.Held, []any{columns[0].Values[i%3], columns[1].Values[i%3], columns[2].Values[i%2]})
	}
	ways, asked, err := Ours(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range Curators() {
		got, err := Curated(python, way, c, asked, Limits{Rounds: 3, Megabytes: 1, Time: 90 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if got.Missed != "" {
			if !strings.Contains(got.Missed, "cannot import") {
				t.Errorf("%s: %s", way, got.Missed)
			}
			t.Skip(got.Missed + ": lab/crosstabs/rivals.py says how to get it")
		}
		if got.Off <= 0 || got.Off > ways[2].Off/4 {
			t.Errorf("%s is off by %v, and independence by %v", way, got.Off, ways[2].Off)
		}
	}
}
