package crosstabs

import (
	"math"
	"slices"
	"testing"
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
