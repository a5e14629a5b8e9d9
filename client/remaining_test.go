package client

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
)

// A part is printed as a person writes it, whichever digit it rounds to.
func TestShare(t *testing.T) {
	for x, want := range map[float64]string{0: "nothing", 0.0004: "0.04 %", 0.04: "4 %", 0.0949: "9 %", 0.0951: "10 %", 0.0999: "10 %", 0.5: "50 %"} {
		if got := share(x); got != want {
			t.Errorf("%v is printed as %q, want %q", x, got, want)
		}
	}
}

// randomized is what a plan of randomized response costs, calibrated to (1, 1e-6).
func randomized(t *testing.T) Charge {
	t.Helper()
	rr, g, err := shuffle.CalibrateRR(calibrate.Target{Users: 2000, Rounds: 1, Epsilon: 1, Delta: 1e-6}, calibrate.Exact)
	if err != nil {
		t.Fatal(err)
	}
	d, err := account.Dominate(rr, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
	return Charge{Epsilon: g.Epsilon, Delta: 1e-6, Local: 4, Shift: d.Shift, Tail: d.Tail}
}

func answered(l *Ledger, at time.Time, c Charge) {
	name := fmt.Sprintf("%064x", len(l.Entries)+1)
	if _, err := hex.DecodeString(name); err != nil || !l.apply(record{Kind: kindSpent, At: at, Plan: name, Spent: &spending{Charge: c, Parts: []spokenPart{{}}}}) {
		panic("a record that makes no sense")
	}
}

// The default caps let about 250 plans of randomized response of (1, 1e-6) through
// within a month, where sums let 20 through; and again when the month is over.
func TestTheDefaultCapsHaveRoomForTwoHundredAndFiftyPlans(t *testing.T) {
	c := randomized(t)
	l := &Ledger{backstops: map[[32]byte][]byte{}}
	now := someTime
	for l.refuseBeyondCaps(now, []Caps{DefaultCaps}, costs(c, nil), nil) == nil {
		answered(l, now, c)
		if n := len(l.Entries); n == 100 {
			if r := l.Remaining(now, DefaultCaps, nil); r.More < 140 || r.More > 155 || !strings.Contains(r.Left("like the last"), fmt.Sprintf("about %d more like the last", r.More)) {
				t.Errorf("%d more after %d: %q", r.More, n, r.Left("like the last"))
			}
		}
	}
	if n := len(l.Entries); n < 240 || n > 260 {
		t.Errorf("%d plans are let through", n)
	}
	err := l.refuseBeyondCaps(now, []Caps{DefaultCaps}, costs(c, nil), nil)
	if err == nil || !strings.Contains(err.Error(), "epsilon 20 at delta 0.001 in all; 100 % of that is spent and the plan asks for 0.4 %") {
		t.Errorf("error %v", err)
	}
	if r := l.Remaining(now, DefaultCaps, nil); r.More != 0 || r.Shares.Shift < 0.99 || r.Shares.Shift > 1 {
		t.Errorf("at the end %+v", r)
	}
	if err := l.refuseBeyondCaps(now.Add(DefaultCaps.Period), []Caps{DefaultCaps}, costs(c, nil), nil); err != nil {
		t.Errorf("a month later: %v", err)
	}
}

// A ledger of before shifts were written down is read, and its charges count by what
// is known of them: twenty of epsilon 1 by their sums, or twelve by the Gaussian that
// dominates whatever has their epsilon and delta.
func TestOldChargesCountByWhatIsKnown(t *testing.T) {
	old := Charge{Epsilon: 1, Delta: 1e-6, Local: 4}
	if d := old.spending().Domination; d.Tail != 1e-6 || d.Shift < 1.232 || d.Shift > 1.2325 {
		t.Errorf("%+v", d)
	}
	l := &Ledger{backstops: map[[32]byte][]byte{}}
	for l.refuseBeyondCaps(someTime, []Caps{DefaultCaps}, costs(old, nil), nil) == nil {
		answered(l, someTime, old)
	}
	if n := len(l.Entries); n != 20 {
		t.Errorf("%d old plans", n)
	}
	l.Entries = l.Entries[:8]
	c := randomized(t)
	if r := l.Remaining(someTime, DefaultCaps, &c); r.More < 40 {
		t.Errorf("%d new plans beside eight old ones", r.More)
	}
}

// A single plan may ask for all that a cap allows, and none beside it; a cap on an
// epsilon alone is one on a sum.
func TestCapsThatPlansMeetExactly(t *testing.T) {
	l := &Ledger{backstops: map[[32]byte][]byte{}}
	whole := Charge{Epsilon: 20, Delta: 1e-3}
	if err := l.refuseBeyondCaps(someTime, []Caps{DefaultCaps}, costs(whole, nil), nil); err != nil {
		t.Error(err)
	}
	answered(l, someTime, whole)
	if err := l.refuseBeyondCaps(someTime, []Caps{DefaultCaps}, costs(randomized(t), nil), nil); err == nil {
		t.Error("a plan beside one that asked for everything")
	}
	sums := []Caps{{Window: Cap{Epsilon: 21}, Period: time.Hour}}
	if err := l.refuseBeyondCaps(someTime, sums, costs(Charge{Epsilon: 1, Delta: 1e-6}, nil), nil); err != nil {
		t.Error(err)
	}
	if err := l.refuseBeyondCaps(someTime, sums, costs(Charge{Epsilon: 1.01, Delta: 1e-6}, nil), nil); err == nil || !strings.Contains(err.Error(), "may spend epsilon 21; 20 is spent") {
		t.Error(err)
	}
}

// The form in which charges and backstops are written, which later versions read.
func TestChargedBackstopsAreGolden(t *testing.T) {
	plan := "9f2b1c64d0e7a35b8f417726c3aa90de55b1f0c8e94d276a31b60fd28c7e5a04"
	r := record{Kind: kindSpent, At: someTime, Plan: plan, Backstops: []keptBackstop{{Key: make([]byte, 32), Kept: []byte{1, 2}}}, Spent: &spending{
		Title: "Where do people walk?", Publisher: "ed25519:x", Charge: Charge{Epsilon: 2, Delta: 1e-5, Local: 6, Shift: 0.5, Tail: 1e-7}, OneMessage: 3,
		Backed: &Backed{Question: make([]byte, 32), Key: make([]byte, 32), Term: someTime}, CrowdName: "shore", Expires: someTime, Parts: []spokenPart{spoken(Packed{Instance: 1, Payloads: [][]byte{make([]byte, 8)}})},
	}}
	got := journal.Line(empty(), line(r))
	want, err := os.ReadFile("testdata/ledger-v4-backed")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the form of the ledger changed, and devices hold the old one (%v):\n%s", err, got)
	}
	_, records, _, err := journal.Parse(want)
	if err != nil {
		t.Fatal(err)
	}
	l, err := replay(nil, records)
	if err != nil || l.Entries[0].Charge.Shift != 0.5 || !l.Entries[0].Backed.Term.Equal(someTime) {
		t.Errorf("%+v, %v", l, err)
	}
	r.Backstops = nil
	if _, err := replay(nil, [][]byte{line(r)}); err == nil {
		t.Error("an answer from a backstop that is not kept")
	}
}
