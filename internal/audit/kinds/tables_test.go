package kinds

import (
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/table"
)

// Of all pairs of records of small columns the one attacked is the furthest apart, by enumeration, and as far as is charged.
// A pair that differs in all columns is not the furthest: an attack by that one would tell less.
func TestTablesAreAttackedByTheWorstPair(t *testing.T) {
	for _, sizes := range [][]int{{3, 2, 3}, {2, 2}, {2, 2, 2, 4}, {5, 2, 3}, {2, 3, 3, 2, 2}, {3, 3, 4, 2}, {4, 4, 3}} {
		p := example.Table()
		p.Question.Table.Columns = nil
		for i, k := range sizes {
			p.Question.Table.Columns = append(p.Question.Table.Columns, plan.Column{Name: string(rune('a' + i)), Values: []string{"0", "1", "2", "3", "4"}[:k]})
		}
		proto := example.Runnable(t, example.Design(t, p))
		q := proto.Question.(*table.Question)
		all := [][]any{{}}
		for _, k := range sizes {
			var longer [][]any
			for _, r := range all {
				for v := range k {
					longer = append(longer, append(append([]any{}, r...), []string{"0", "1", "2", "3", "4"}[v]))
				}
			}
			all = longer
		}
		vectorOf := func(r any) []float32 {
			s, err := q.Encode(r)
			if err != nil {
				t.Fatal(err)
			}
			return s.([]float32)
		}
		apart := func(a, b []float32) (sum float64) {
			for i := range a {
				sum += float64(a[i]-b[i]) * float64(a[i]-b[i])
			}
			return sum
		}
		most, differ := 0.0, 0.0
		first := vectorOf(all[0])
		for _, r := range all { // by symmetry one record of a pair may be any
			d := apart(first, vectorOf(r))
			if most = max(most, d); !slices.Contains(r, any("0")) {
				differ = max(differ, d)
			}
		}
		pair := tabulated(q, *proto.Plan.Question.Table)[0]
		attacked := apart(vectorOf(pair[0]), vectorOf(pair[1]))
		charged := q.Rows().Spec().SquaredDistance
		if attacked < most*(1-1e-6) || attacked > charged*(1+1e-6) || attacked < charged*(1-1e-6) {
			t.Errorf("columns of %v values: the pair is %v apart, the furthest %v, and %v is charged", sizes, attacked, most, charged)
		}
		if len(sizes) > 3 && differ > most*(1-1e-3) {
			t.Errorf("columns of %v values: %v apart is the furthest, and differs in all columns", sizes, differ)
		}
	}
}
