package analyzerd_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// version is a round of a study whose times set it apart from its other versions.
func version(t testing.TB, s plan.SignedStudy, number, version int) plan.Signed {
	t.Helper()
	signed, err := s.Round(number, "", plan.Times{Opens: closes.Add(-2*time.Hour + time.Duration(version)*time.Second), Closes: closes}, coordinator)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// A coordinator who signs many versions of each round, out of order, has one of each number
// taken: the study costs what its publishers signed, and no more is asked.
func TestANumberIsOnePlan(t *testing.T) {
	for _, takes := range []string{plan.TakesOne, plan.TakesAll} {
		both(t, func(t *testing.T, dsn string) {
			c := collect(t, nil)
			study := studied(t, c, func(s *plan.Study) { s.Takes = takes })
			r := start(t, dsn, c)
			first := map[int]string{}
			for i, number := range []int{3, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3} {
				signed := version(t, study, number, i)
				outcome, err := r.service.Register(t.Context(), signed)
				if first[number] == "" {
					first[number] = signed.Plan.Name()
					if err != nil || outcome != rows.New {
						t.Errorf("round %d: %v, %v", number, outcome, err)
					}
					if outcome, err := r.service.Register(t.Context(), signed); err != nil || outcome != rows.Again {
						t.Errorf("round %d again: %v, %v", number, outcome, err)
					}
				} else if p, ok := err.(*wire.Problem); !ok || p.Code != wire.PlanRefused || !strings.Contains(p.Detail, "registered here as another plan") {
					t.Errorf("another version of round %d: %v, %v", number, outcome, err)
				}
				if number == 3 && i == 0 { // it is what there is, though the others come later
					if got := r.newest(study); got.Plan.Name() != first[3] {
						t.Errorf("the study's address shows round %d", got.Plan.Round.Number)
					}
				}
			}
			b, err := r.service.Budget(t.Context(), "residents")
			if err != nil || len(b.Plans) != 3 {
				t.Fatalf("%+v, %v", b.Plans, err)
			}
			costs := 0
			for _, p := range b.Plans {
				if p.Epsilon > 0 {
					costs++
				}
			}
			if costs != 1 {
				t.Errorf("%d of 3 rounds cost something, want the first that came", costs)
			}
		})
	}
}

// An analyzer with the coordinator's key goes on with a round that somebody else who has it was
// quicker to make, and makes no other version.
func TestARoundThatWasMadeElsewhere(t *testing.T) {
	c := collect(t, nil)
	study := studied(t, c, nil)
	r := start(t, t.TempDir()+"/shelves", c)
	r.wants(r.register(c), created, "")
	times := plan.Times{Opens: closes.Add(time.Minute), Closes: closes.Add(3 * time.Hour)}
	elsewhere, err := study.Round(2, "", times, coordinator)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.service.Register(t.Context(), elsewhere); err != nil {
		t.Fatal(err)
	}
	r.at(closes.Add(time.Hour))
	for range 3 {
		if err := r.service.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	next, err := r.store.Following(t.Context(), c.name)
	if err != nil || string(next.Signed) != string(elsewhere.Marshal()) || next.Announced.IsZero() {
		t.Errorf("%q, %v", next.Reason, err)
	}
	if got := r.newest(study); got.Plan.Name() != elsewhere.Plan.Name() {
		t.Errorf("the study's address shows %s", got.Plan.Name())
	}
}

// Who waits for another's price, or for the database, is told to come again, and nothing is left
// behind. The price of a plan that nobody waited for is remembered.
func TestARegistrationEndsWithItsRequest(t *testing.T) {
	c := collect(t, nil)
	r := start(t, t.TempDir()+"/shelves", c)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.service.Register(over, c.signed)
	if p, ok := err.(*wire.Problem); ok && p.Code != wire.Overloaded || err == nil {
		t.Errorf("%v", err)
	}
	if all, err := r.service.Plans(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	r.wants(r.register(c), created, "")
	if n := analyzerd.Remembered(r.service); n != 1 {
		t.Errorf("%d prices are remembered", n)
	}
}
