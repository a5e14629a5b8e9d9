package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/wire"
)

func ledgerPath(o client.Options) string { return filepath.Join(dir(o), "ledger") }

// A torn last record was acknowledged to nobody; every length it can have been
// torn at leaves the ledger as before it, and the next append stands alone.
func TestTornLedger(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	before, err := os.ReadFile(ledgerPath(o))
	if err != nil {
		t.Fatal(err)
	}
	if err := opened(t, p, o).Answer(value(1)); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(ledgerPath(o))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(ledgerPath(o) + ".end"); err != nil { // it is written after the record
		t.Fatal(err)
	}
	for n := len(before); n < len(after); n += 7 {
		torn := after[:n:n]
		for name, tail := range map[string][]byte{"cut": nil, "zeros": make([]byte, len(after)-n)} {
			if err := os.WriteFile(ledgerPath(o), append(torn, tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			if l := ledger(t, o); !l.OptedIn || len(l.Entries) != 0 {
				t.Fatalf("%s at %d: %d entries", name, n, len(l.Entries))
			}
		}
	}
	if err := client.Consent(o.Store, true); err != nil { // onto the torn tail
		t.Fatal(err)
	}
	if l := ledger(t, o); !l.OptedIn || len(l.Entries) != 0 {
		t.Errorf("%d entries", len(l.Entries))
	}
}

// Damage before the end is no torn write. Nothing is spent on top of it.
func TestDamagedLedger(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	c := opened(t, p, o)
	good, err := os.ReadFile(ledgerPath(o))
	if err != nil {
		t.Fatal(err)
	}
	record := `{"kind":"gift"}`
	gift := fmt.Sprintf("%08x %s\n", crc32.Checksum([]byte(record), crc32.MakeTable(crc32.Castagnoli)), record)
	line := good[bytes.IndexByte(good, '\n')+1:]
	for name, bad := range map[string][]byte{
		"a changed bit":      append(bytes.Replace(good, []byte("consent"), []byte("consend"), 1), line...),
		"a missing head":     line,
		"an unknown record":  append(bytes.Clone(good), gift...),
		"emptied":            {},
		"replaced by zeroes": make([]byte, len(good)),
	} {
		if err := os.WriteFile(ledgerPath(o), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Report(t.Context(), value(1)); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
		if now, _ := os.ReadFile(ledgerPath(o)); !bytes.Equal(now, bad) {
			t.Errorf("%s: something was written over damage", name)
		}
	}
	if _, requests, _ := s.counts(); requests > 0 {
		t.Error("something was sent")
	}
}

// A contribution whose file was damaged or lost may have been sent. It is not sealed
// again, and the ledger says why it did not count.
func TestDamagedSpool(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"damaged": func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[len(data)-1] ^= 1
			return os.WriteFile(path, data, 0o600)
		},
		"lost": os.Remove,
	} {
		p, _ := sample(t, "rr", 1, 2)
		s := newService(t, &p, false)
		s.setFail(func(*http.Request) error { return wire.Problemf(wire.Overloaded, "busy") })
		o := device(t, s)
		c := opened(t, p, o)
		c.Report(t.Context(), value(1))
		files, err := filepath.Glob(filepath.Join(dir(o), "spool", "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v", files, err)
		}
		if err := harm(files[0]); err != nil {
			t.Fatal(err)
		}
		s.setFail(nil)
		var dropped *client.DroppedError
		if err := c.Deliver(t.Context()); !errors.As(err, &dropped) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
		if kept, _, _ := s.counts(); kept != 0 || spooled(t, o) != 0 {
			t.Errorf("%s: %d contributions, %d spooled", name, kept, spooled(t, o))
		}
	}
}

// What crashes leave in the spool goes when the folder is opened next.
func TestLeftoversAreSwept(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	for _, name := range []string{".new-123", "junk", strings.Repeat("0", 64) + "-0"} {
		if err := os.WriteFile(filepath.Join(dir(o), "spool", name), []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir(o), ".new-456"), []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened(t, p, o)
	files, err := os.ReadDir(dir(o))
	if err != nil {
		t.Fatal(err)
	}
	if n := spooled(t, o); n != 0 || len(files) != 5 { // ledger, ledger.end, lock, secret, spool
		t.Errorf("%d spooled files and %v are left", n, files)
	}
}

// A clock that is set back gives no budget back; one that is set forward drops
// what waits, and no more.
func TestClockJumps(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	o.Caps = client.Caps{Window: client.Cap{Epsilon: 8}, Period: 24 * time.Hour} // the plan's is 5
	start := time.Now()
	at := func(title string, now time.Time, want string) {
		t.Helper()
		q := p
		q.Title = title
		s.mu.Lock()
		s.plan = q
		s.kept = map[[32]byte]envelope.Form{}
		s.mu.Unlock()
		c := opened(t, q, o)
		c.SetTime(func() time.Time { return now }, nil)
		err := c.Report(t.Context(), value(1))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", title, err, want)
		}
	}
	at("first", start, "")
	at("the same day", start.Add(time.Hour), "all plans within 24h0m0s may spend epsilon 8")
	at("a year back", start.AddDate(-1, 0, 0), "may spend")
	at("two days on", start.AddDate(0, 0, 2), "")
	at("back again", start.Add(time.Hour), "may spend")

	s.setFail(func(*http.Request) error { return wire.Problemf(wire.Overloaded, "busy") })
	at("a week on", start.AddDate(0, 0, 7), "on the device, to be sent")
	at("a year on", start.AddDate(1, 0, 0), "on the device, to be sent")
	l := ledger(t, o)
	if e := l.Entries[2]; e.Parts[0].Status != client.Dropped || spooled(t, o) != 1 {
		t.Errorf("%+v, %d spooled", e.Parts, spooled(t, o))
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	asked := 100 * time.Second
	s.setFail(func(*http.Request) error {
		problem := wire.Problemf(wire.RateLimited, "slower")
		problem.RetryAfter = asked
		return problem
	})
	o := device(t, s)
	o.Wait = 10 * time.Minute
	c := opened(t, p, o)
	var waits []time.Duration
	c.SetTime(time.Now, func(d time.Duration) { waits = append(waits, d) })
	var waiting *client.WaitingError
	if err := c.Report(t.Context(), value(1)); !errors.As(err, &waiting) || len(waits) == 0 {
		t.Fatalf("%v after %d waits", err, len(waits))
	}
	for _, d := range waits {
		if d <= asked {
			t.Errorf("waited %v where %v was asked for", d, asked)
		}
	}
	waits, asked = nil, time.Hour
	if err := c.Deliver(t.Context()); !errors.As(err, &waiting) || len(waits) > 0 {
		t.Errorf("%v, and waited %v for a service that is gone for an hour", err, waits)
	}
}

func TestAnswersOfTheEntryHop(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	for code, status := range map[wire.Code]client.Status{
		wire.EpochOver: client.Dropped, wire.AlreadyContributed: client.Dropped, wire.ContributionRefused: client.Dropped,
		wire.Unauthenticated: client.Waiting, wire.UnknownPlan: client.Waiting, wire.StorageFull: client.Waiting,
	} {
		s.setFail(func(*http.Request) error { return wire.Problemf(code, "no") })
		o := device(t, s)
		err := opened(t, p, o).Report(t.Context(), value(1))
		if got := ledger(t, o).Entries[0].Parts[0].Status; err == nil || got != status || !strings.Contains(err.Error(), string(code)) {
			t.Errorf("%s: %v, %s", code, err, got)
		}
	}
}

// A service that cannot be reached, or is another one, gets nothing and is tried again.
func TestNoService(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	o.Wait = 5 * time.Minute
	o.Transport = &native.Transport{} // the test's authority is not the system's
	c := opened(t, p, o)
	tries := 0
	c.SetTime(time.Now, func(time.Duration) { tries++ })
	var waiting *client.WaitingError
	if err := c.Report(t.Context(), value(1)); !errors.As(err, &waiting) || tries < 5 || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%v after %d tries", err, tries)
	}
	if _, requests, _ := s.counts(); requests > 0 {
		t.Error("something was sent to a stranger")
	}
}
