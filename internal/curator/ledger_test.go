package curator_test

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/curator"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

func opened(t *testing.T, folder string) *curator.Ledger {
	t.Helper()
	l, err := curator.OpenLedger(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

var november, december = sha256.Sum256([]byte("november")), sha256.Sum256([]byte("december"))

// of is a question about people and a state of their table.
func of(t *testing.T, people, asOf string, epsilon float64) *protocol.Protocol {
	t.Helper()
	p, err := curator.Ask{Holder: "the canteen", People: people, AsOf: asOf, Attributes: []plan.Attribute{drinks()}, Epsilon: epsilon, Delta: 1e-7}.Plan()
	if err != nil {
		t.Fatal(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return proto
}

func entries(t *testing.T, l *curator.Ledger) (n int) {
	t.Helper()
	if err := l.Each(func(_ string, _ curator.Cap, _ account.Shares, all []curator.Entry) error { n += len(all); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// What was kept is shown again, whatever the file says by then, also by another process. What was charged and
// never kept was never shown: it costs its charge, and is drawn anew for another.
func TestTheSameQuestionHasTheSameAnswer(t *testing.T) {
	folder := t.TempDir()
	l := opened(t, folder)
	now := time.Now()
	first, err := l.Charge(of(t, "guests", "november", 1), november, curator.Cap{}, now)
	if err != nil || first.Again || first.Ledger.Releases != 1 || first.Ledger.Epsilon != 3 {
		t.Fatalf("%+v, %v", first, err)
	}
	l.Close() // the process ends before the release is kept
	l = opened(t, folder)
	second, err := l.Charge(of(t, "guests", "november", 1), november, curator.Cap{}, now)
	if err != nil || second.Again || second.Folder == first.Folder || second.Ledger.Releases != 2 {
		t.Fatalf("after a crash: %+v, %v", second, err)
	}
	if err := l.Keep(second); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l = opened(t, folder)
	again, err := l.Charge(of(t, "guests", "november", 1), november, curator.Cap{}, now)
	if err != nil || !again.Again || again.Changed || again.Folder != second.Folder {
		t.Fatalf("asked again: %+v, %v", again, err)
	}
	if again, err = l.Charge(of(t, "guests", "november", 1), december, curator.Cap{}, now); err != nil || !again.Again || !again.Changed {
		t.Errorf("asked again of another file: %+v, %v", again, err)
	}
	for _, other := range []*protocol.Protocol{of(t, "guests", "december", 0.1), of(t, "guests", "november", 0.1)} {
		if next, err := l.Charge(other, november, curator.Cap{}, now); err != nil || next.Again {
			t.Errorf("another question: %+v, %v", next, err)
		}
	}
	if n := entries(t, l); n != 4 {
		t.Errorf("%d charges, and 4 were made", n)
	}
}

// A cap stands from the first release on, over all tables of the same people, and refuses what is beyond before
// it is charged. The twin, a ledger that is deleted, admits all of it again.
func TestTheCapHolds(t *testing.T) {
	folder := t.TempDir()
	l, now, admitted := opened(t, folder), time.Now(), 0
	limit := curator.Cap{Epsilon: 2, Delta: 1e-5}
	charge := func(l *curator.Ledger, at int) error {
		_, err := l.Charge(of(t, "guests", strings.Repeat("x", at+1), 0.5), sha256.Sum256([]byte{byte(at)}), limit, now)
		return err
	}
	for at := range 40 {
		if err := charge(l, at); err != nil {
			if !strings.Contains(err.Error(), "the budget of guests does not admit") {
				t.Fatal(err)
			}
			break
		}
		admitted++
	}
	if admitted < 4 || admitted > 20 || entries(t, l) != admitted {
		t.Errorf("%d releases of epsilon .5 under a cap of 2, and %d charges", admitted, entries(t, l))
	}
	if _, err := l.Charge(of(t, "guests", "later", 0.01), november, curator.Cap{Epsilon: 20}, now); err == nil || !strings.Contains(err.Error(), "cannot be another") {
		t.Errorf("a raised cap: %v", err)
	}
	if _, err := l.Charge(of(t, "cooks", "first", 1), november, curator.Cap{Epsilon: -1}, now); err == nil {
		t.Error("a cap below nothing")
	}
	if err := charge(opened(t, t.TempDir()), 0); err != nil {
		t.Errorf("a new ledger: %v", err)
	}
}

// One file has one name of its people.
func TestAFileHasOneNameOfItsPeople(t *testing.T) {
	l, now := opened(t, t.TempDir()), time.Now()
	if _, err := l.Charge(of(t, "guests", "november", 1), november, curator.Cap{}, now); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Charge(of(t, "visitors", "november", 1), november, curator.Cap{}, now); err == nil || !strings.Contains(err.Error(), `under other people, "guests"`) {
		t.Errorf("the same file of other people: %v", err)
	}
	if _, err := l.Charge(of(t, "visitors", "november", 1), december, curator.Cap{}, now); err != nil {
		t.Errorf("another file of other people: %v", err)
	}
}

// Every bit of a ledger that flips is found, or changes nothing. Without the digest a charge could be read as less than it was.
func TestAFlippedBitIsNoCharge(t *testing.T) {
	folder := t.TempDir()
	l := opened(t, folder)
	if _, err := l.Charge(of(t, "guests", "november", 1), november, curator.Cap{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	l.Close()
	file := filepath.Join(folder, "ledger.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	harmless := 0
	for i := range text {
		for bit := range 8 {
			flipped := append([]byte(nil), text...)
			flipped[i] ^= 1 << bit
			if err := os.WriteFile(file, flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := curator.OpenLedger(folder)
			if err == nil {
				if n := entries(t, l); n != 1 { // the letter of a key may be a capital
					t.Fatalf("bit %d of byte %d of %d: %d charges", bit, i, len(text), n)
				}
				harmless++
				l.Close()
			}
		}
	}
	if harmless > 16 {
		t.Errorf("%d flips were not found", harmless)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := entries(t, opened(t, folder)); n != 1 {
		t.Errorf("%d charges", n)
	}
}

// Two processes do not charge at once, and a ledger that cannot be written charges nothing and draws nothing.
func TestOneProcessAtATime(t *testing.T) {
	folder := t.TempDir()
	l := opened(t, folder)
	if _, err := curator.OpenLedger(folder); err == nil {
		t.Error("two processes have one ledger")
	}
	if err := os.Mkdir(filepath.Join(folder, "ledger.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Charge(of(t, "guests", "november", 1), november, curator.Cap{}, time.Now()); err == nil || !strings.Contains(err.Error(), "nothing was drawn") {
		t.Errorf("a charge that was not written: %v", err)
	}
	if n := entries(t, l); n != 0 {
		t.Errorf("%d charges that nobody wrote", n)
	}
}
