package table_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/question/table"
)

// One who lies counts in one cell for no more than a plan says: alone, and where one or five in a hundred lie together. They
// answer rows as they are drawn, or as few as they like of those that move the cell most: a row that many answer tells no more
// than that all of it are ones.
func TestLiarsCountForWhatThePlanSays(t *testing.T) {
	const people = 4000
	p := example.Table()
	p.Crowd.Minimum, p.Budget.Epsilon, p.Question.Table.Answered = people, 1, 1024
	q := example.Runnable(t, example.Design(t, p)).Question.(*table.Question)
	found := regexp.MustCompile(`One who lies counts for about (\d+) respondents`).FindStringSubmatch(q.Compare()[0].Says)
	if found == nil {
		t.Fatal(q.Compare())
	}
	said, _ := strconv.ParseFloat(found[1], 64)
	m, code := q.Rows(), q.Code()
	spec := m.Spec()
	cell := func(s *tables.Sums) float64 { return s.Table(0, 1)[0] }
	direction, length := make([]float32, code.Numbers()), 0.0
	for i := range direction {
		unit := make([]float64, code.Numbers())
		unit[i] = 1
		x := cell(tables.New(code, 0, unit, 1))
		direction[i], length = float32(x), length+x*x
	}
	for i := range direction {
		direction[i] /= float32(math.Sqrt(length) * (1 + 1e-6))
	}
	ones := make([]float64, spec.Rows)
	m.Ones(direction, ones)
	rows := make([]int, spec.Rows) // those that move the cell most are first
	for i := range rows {
		rows[i] = i
	}
	slices.SortFunc(rows, func(x, y int) int { return cmp.Compare(math.Abs(ones[y]-0.5), math.Abs(ones[x]-0.5)) })
	told := func(liars, among int) float64 {
		r := seeded.New(9)
		c := m.DrawAll(people, func(i int, v []float32) {
			record := make([]int, len(code.Sizes))
			for a, k := range code.Sizes {
				record[a] = i % k
			}
			code.Write(record, v)
		}, func(part int) *rand.Rand { return seeded.New(7, uint64(part)) }, nil)
		for range liars {
			for range spec.Answered {
				row := rows[r.IntN(among)]
				if err := c.Count(spec.Channel(row, ones[row] > 0.5)); err != nil {
					t.Fatal(err)
				}
			}
		}
		counts := q.NewTally().(*tally.Counts)
		c.AddTo(counts)
		learned, err := q.Learn([]tally.Crowd{{Tally: counts, Respondents: people + liars}})
		if err != nil {
			t.Fatal(err)
		}
		return cell(learned.(*table.Model).Sums)
	}
	honest := told(0, spec.Rows)
	for _, liars := range []int{1, people / 100, people / 20} {
		own, most := (told(liars, spec.Rows)-honest)/float64(liars), 0.0
		for among := 1; among < spec.Rows; among *= 4 {
			most = max(most, (told(liars, among)-honest)/float64(liars))
		}
		t.Logf("%d of %d lie: each counts for %.1f in rows as drawn, for %.1f in rows of its choice; %v is said", liars, people, own, most, said)
		if own < 1 || own > most || most > said {
			t.Errorf("%d of %d lie: each counts for %.1f in rows as drawn, for %.1f in rows of its choice; %v is said", liars, people, own, most, said)
		}
	}
}
