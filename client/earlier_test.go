package client_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// A ledger of an earlier version reads as it did, and becomes one of this version with
// the next record: nothing that was spent is forgotten.
func TestLedgersOfEarlierVersionsAreRead(t *testing.T) {
	then := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	for name, said := range map[string][]byte{"v1": {0, 0, 0, 7, 1}, "v1-backed": nil, "v2": {0, 0, 0, 7, 1, 0, 0}, "v2-backed": nil, "v3": {0, 0, 0, 7, 1}, "v3-backed": nil} {
		old, err := os.ReadFile("testdata/ledger-" + name)
		if err != nil {
			t.Fatal(err)
		}
		f := native.Folder{Path: filepath.Join(t.TempDir(), "device")}
		if err := os.Mkdir(f.Path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := f.Replace(journal.Name, old); err != nil {
			t.Fatal(err)
		}
		l, err := client.ReadLedger(f)
		if err != nil || len(l.Entries) != 1 || l.Backstops() != 1 || l.Entries[0].Charge.Epsilon != 2 {
			t.Fatalf("%s: %+v, %v", name, l, err)
		}
		if got := l.Entries[0].Parts[0].Messages; said != nil && (len(got) != 1 || !bytes.Equal(got[0], said)) {
			t.Errorf("%s said %x", name, got)
		}
		if err := client.Consent(f, true); err != nil {
			t.Fatal(err)
		}
		now, err := f.Load(journal.Name)
		kept := append(journal.Line([]byte(journal.Head), []byte("0 00000000")), old[len(journal.Head):]...)
		if err != nil || !bytes.HasPrefix(now, kept) || len(now) == len(kept) {
			t.Errorf("%s: %v, the journal is now\n%s", name, err, now)
		}
		if again, err := client.ReadLedger(f); err != nil || !again.OptedIn || len(again.Entries) != 1 || again.Spent(then, time.Hour) != l.Spent(then, time.Hour) {
			t.Errorf("%s: %+v, %v", name, again, err)
		}
	}
	if _, _, _, err := journal.Parse([]byte("confetti-ledger/v5\n")); err != journal.ErrLater {
		t.Errorf("of a later version: %v", err)
	}
}

// What was said to a kind of question that ended stays in the ledger, in the words of that day and at its price. Its
// plan is refused by name.
func TestLedgersShowAnswersToAKindThatEnded(t *testing.T) {
	kept, err := os.ReadFile("testdata/ledger-v4-prefixes")
	if err != nil {
		t.Fatal(err)
	}
	f := native.Folder{Path: filepath.Join(t.TempDir(), "device")}
	if err := os.Mkdir(f.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Replace(journal.Name, kept); err != nil {
		t.Fatal(err)
	}
	if err := client.Consent(f, true); err != nil {
		t.Fatal(err)
	}
	l, err := client.ReadLedger(f)
	if err != nil || len(l.Entries) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	e := l.Entries[0]
	if e.Title != "which words?" || e.Said != "a…, b…, others; six such words in ten are the coin's" || len(e.Statements) != 4 || len(e.Parts[0].Messages) != 5 {
		t.Errorf("the entry is %+v", e)
	}
	if spent := l.Spent(e.At, time.Hour); spent.Epsilon < e.Charge.Epsilon || e.Charge.Epsilon < 5.9 {
		t.Errorf("spent %+v", spent)
	}
	p, _ := sample(t, "rr", 1, 3)
	p.Question = plan.Question{Kind: "histogram", Histogram: &plan.Histogram{Attributes: []plan.Attribute{{Name: "drink", Kind: "prefixes"}}}}
	if _, err := plan.Parse(p.Canonical()); err == nil || !strings.Contains(err.Error(), "prefixes ended with plan version 4: use strings") {
		t.Errorf("its plan: %v", err)
	}
}

// An answer that was promised under a plan of version 3 goes out as it was promised, in the earlier form and the
// same bytes each time. Where an entry takes that form no more, it waits until the plan closes. Nobody answers
// such a plan anew, nor sends cover to it.
func TestAnswersToEarlierPlansGoAsTheyWerePromised(t *testing.T) {
	p, _ := sample(t, "rr", 1, 3)
	s := newService(t, &p, false)
	p.Times.Closes = time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second)
	s.plan = p
	o := device(t, s)
	if err := opened(t, p, o).Answer(value(1)); err != nil {
		t.Fatal(err)
	}
	old := p
	old.Version = 3
	j, compacted, records, err := journal.Read(o.Store)
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		records[i] = bytes.ReplaceAll(records[i], []byte(p.Name()), []byte(old.Name()))
	}
	if err := j.Replace(compacted); err != nil {
		t.Fatal(err)
	}
	for _, record := range records {
		if err := j.Append(record); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Lock()
	s.plan = old
	s.mu.Unlock()
	var types []string
	s.setFail(func(r *http.Request) error {
		types = append(types, r.Header.Get("Content-Type"))
		return wire.Problemf(wire.UnsupportedMediaType, "another version")
	})
	c := opened(t, old, o)
	for range 2 {
		var waiting *client.WaitingError
		if err := c.Deliver(t.Context()); !errors.As(err, &waiting) || waiting.Parts != 1 || !strings.Contains(err.Error(), "unsupported-media-type") {
			t.Fatalf("where the entry takes another form: %v", err)
		}
		c = opened(t, old, o) // as after a restart
	}
	if len(s.requests) != 2 || !bytes.Equal(s.requests[0].body, s.requests[1].body) {
		t.Fatalf("%d requests, or other bytes", len(s.requests))
	}
	sent, err := envelope.ParseContribution(s.requests[0].body)
	if err != nil || sent.Plan != old.Hash() || len(sent.Envelopes) != p.Envelopes.PerDevice || types[0] != strings.Replace(wire.ContributionType, "=2", "=1", 1) {
		t.Errorf("%d envelopes as %q: %v", len(sent.Envelopes), types[0], err)
	}
	if err := c.Cover(t.Context()); err == nil || !strings.Contains(err.Error(), "version 3 seals every envelope") {
		t.Errorf("cover: %v", err)
	}
	if _, err := client.Open(sign(old), device(t, s)); err == nil || !strings.Contains(err.Error(), "version 3 seals every envelope") {
		t.Errorf("who has not answered: %v", err)
	}
	var dropped *client.DroppedError
	c.SetTime(func() time.Time { return p.Times.Closes.Add(time.Second) }, nil)
	if err := c.Deliver(t.Context()); !errors.As(err, &dropped) && ledger(t, o).Entries[0].Parts[0].Status != client.Dropped {
		t.Errorf("after the plan has closed: %v", err)
	}
}

// Cover has the length of an answer, whatever the plan: with room for tokens, and of several instances.
func TestCoverIsAsLongAsAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		instances int
		tokens    bool
	}{"plain": {1, false}, "tokens": {1, true}, "two instances": {2, false}} {
		p, _ := sample(t, "rr", c.instances, 3)
		s := newService(t, &p, c.tokens)
		o := device(t, s)
		one := opened(t, p, o)
		o.Wait = time.Hour
		if err := errors.Join(one.Cover(t.Context()), one.Cover(t.Context())); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		one.Report(t.Context(), value(1))
		one.DeliverAll(t.Context())
		kept, _, cover := s.counts()
		lengths := map[int]int{}
		for _, r := range s.requests {
			if strings.Contains(r.path, "/contributions/") {
				lengths[len(r.body)]++
			}
		}
		if kept != 1 || cover != 2 || len(lengths) != 1 || lengths[example.Form(p, 0).Bytes()] != 3 {
			t.Errorf("%s: %d answers, %d covers, lengths %v", name, kept, cover, lengths)
		}
	}
}
