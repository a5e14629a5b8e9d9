package analyzerd

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
)

var many = flag.Bool("analyzer.many", false, "register 10,000 plans, and say what the last cost beside the hundredth")

// Registering a plan reads none of those before: with -analyzer.many the test says what the
// 10,000th costs beside the 100th, price and check apart.
func TestTheTenThousandthPlan(t *testing.T) {
	if !*many {
		t.Skip("set -analyzer.many")
	}
	s, err := rows.Open(t.Context(), rows.Config{DSN: filepath.Join(t.TempDir(), "shelves")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := Population{1e7, 0.9, account.Replacement}
	all := outlays{of: map[string]*outlay{}}
	signed := make([]byte, 4000)
	var wrote, checked []time.Duration
	for i := range 10_000 {
		b := rows.Spending{Plan: fmt.Sprintf("%064x", i), Population: "all", Publisher: "Research", Epsilon: 0.1, Delta: 1e-9, Adjacency: "replacement", Users: 100, Method: "m", Shift: 0.01, Tail: 1e-9, Dominated: "replacement"}
		begin, check := time.Now(), time.Duration(0)
		_, err := s.Register(t.Context(), rows.Plan{Name: b.Plan, Registered: begin, Spending: b}, rows.Round{}, signed, func(before rows.Before) (rows.Spending, error) {
			begin := time.Now()
			f, err := all.filter("all", p, before.Spent)
			if err == nil {
				err = p.check("all", b, before.Spent, f)
			}
			check = time.Since(begin)
			return b, err
		})
		if err != nil {
			t.Fatal(err)
		}
		wrote, checked = append(wrote, time.Since(begin)-check), append(checked, check)
	}
	median := func(d []time.Duration) time.Duration { d = slices.Sorted(slices.Values(d)); return d[len(d)/2] }
	for _, at := range []int{50, 950, 9900} {
		t.Logf("plans %d to %d: write %v, check of the budget %v", at, at+100, median(wrote[at:at+100]), median(checked[at:at+100]))
	}
}
