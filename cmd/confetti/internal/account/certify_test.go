package account

import (
	"bytes"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/prob"
)

// A certificate tells how many terms it looked at, in the order in which it did, and nothing where nobody watches. The
// twin is stopped before the work.
func TestCertifyingReportsItsTerms(t *testing.T) {
	told := func(before bool) (last int) {
		stop := watch(func(stage string, done, _ int) {
			if stage == "" || done < last {
				t.Errorf("%q: %d after %d", stage, done, last)
			}
			last = done
		})
		if before {
			stop()
		}
		counted := prob.Counted()
		if _, err := account.Certify(shuffle.RandomizedResponse{Users: 20_000, Flip: 0.1}, 1e-6); err != nil {
			t.Fatal(err)
		}
		if !before {
			stop()
		}
		if prob.Counted()-counted < 2_000_000 {
			t.Fatalf("%d terms: nothing is tested", prob.Counted()-counted)
		}
		return last
	}
	if told(true) != 0 {
		t.Error("what was stopped reports on")
	}
	if told(false) < 2 {
		t.Error("millions of terms are not reported")
	}
	var out, err bytes.Buffer
	s := new(statement)
	if e := s.certify(terminal.Streams{Out: &out, Err: &err}, shuffle.RandomizedResponse{Users: 5000, Flip: 0.1}, 1e-6); e != nil || out.Len()+err.Len() > 0 {
		t.Errorf("%v: %q and %q are written where nobody watches", e, &out, &err)
	}
}
