package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/client/page"
	"github.com/confetti-dp/confetti/internal/client/words"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/simulate"
)

// labelled asks for the label of one of many public records.
func labelled(t testing.TB) plan.Plan {
	t.Helper()
	p, _ := sample(t, "rr", 1, 1)
	p.Question = plan.Question{Kind: "label", Unfit: "reference", Label: &plan.Label{Report: plan.LabelEach, Classes: []string{"coffee", "tea"}, Records: 4}}
	p.Budget = plan.Budget{Epsilon: 2, Delta: 1e-6, Adjacency: plan.AdjacencyLabel}
	p.Crowd = plan.Crowd{Minimum: 500}
	p.Envelopes = plan.Envelopes{Suite: "x25519"}
	if _, err := simulate.NewKeys(&p); err != nil {
		t.Fatal(err)
	}
	p, err := design.Fill(p)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The ledger says of an answer what the check of its plan says, to the word, of every
// observer: of a label that it is a label's epsilon, and a cap on what everyone together
// learns counts it as such.
func TestTheLedgerSaysWhatThePlanSays(t *testing.T) {
	p := labelled(t)
	s := newService(t, &p, false)
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	promise, err := proto.Promise()
	if err != nil {
		t.Fatal(err)
	}
	o := device(t, s)
	c := opened(t, p, o)
	record := label.Record{Number: 3, Class: 1}
	if err := c.Answer(record); err != nil {
		t.Fatal(err)
	}
	if of := c.Charge(); of.Of() != account.Label || of.Local < 2 || of.Local > 2.0001 {
		t.Errorf("charged %+v", of)
	}
	l := ledger(t, o)
	if said := l.Entries[0].Said; !strings.HasPrefix(said, "coffee; one such word in ") && !strings.HasPrefix(said, "tea; one such word in ") {
		t.Errorf("a device that was opened again says %q of its label", said)
	}
	left := []client.Remaining{l.Remaining(time.Now(), client.Caps{Window: client.Cap{Local: 3}, Period: time.Hour}, nil)}
	var shown, paged bytes.Buffer
	if err := words.Show(&shown, l, 0.5); err != nil {
		t.Fatal(err)
	}
	if err := page.Write(&paged, l, page.Options{Prior: 0.5, Remaining: left}); err != nil {
		t.Fatal(err)
	}
	for name, said := range map[string]string{"in words": shown.String(), "as a page": paged.String()} {
		for _, s := range promise.Statements {
			if verdict := s.Guarantee.Verdict(); !strings.Contains(verdict, "(label)") || !strings.Contains(said, verdict) {
				t.Errorf("%s: %s is promised %q and the ledger says\n%s", name, s.Observer, verdict, said)
			}
		}
		if !strings.Contains(strings.ToLower(said), "you said") || !strings.Contains(html.UnescapeString(said), l.Entries[0].Said) {
			t.Errorf("%s: not a word of %q in\n%s", name, l.Entries[0].Said, said)
		}
		if strings.Contains(said, account.NoProtection) || !strings.Contains(said, "the label") && !strings.Contains(said, "your label") {
			t.Errorf("%s:\n%s", name, said)
		}
	}
	if said := left[0].String(); !strings.Contains(said, "of the label alone") {
		t.Error(said)
	}
	for cap, fits := range map[float64]bool{1: false, 3: true} {
		o := device(t, s)
		o.Caps = client.Caps{Plan: client.Cap{Local: cap}, Window: client.Cap{Local: cap}, Period: time.Hour}
		if err := opened(t, p, o).Answer(record); (err == nil) != fits {
			t.Errorf("a cap of %v: %v", cap, err)
		}
	}
	// It is written down, and an answer of another kind has no such word.
	q := binary(t, "no label", 1)
	other := newService(t, &q, false)
	o2 := device(t, other)
	if err := opened(t, q, o2).Answer(drink("tea")); err != nil {
		t.Fatal(err)
	}
	if again := ledger(t, o2).Entries[0].Charge; again.Of() != account.Replacement || again.Adjacency != "" || ledger(t, o).Entries[0].Charge.Of() != account.Label {
		t.Errorf("%+v", again)
	}
}

// A ledger in which there is no answer yet is an empty list, which programs go through.
func TestALedgerWithoutAnswersIsAList(t *testing.T) {
	store := native.Folder{Path: filepath.Join(t.TempDir(), "device")}
	if err := client.Consent(store, true); err != nil {
		t.Fatal(err)
	}
	l, err := client.ReadLedger(store)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(l); err != nil || !strings.Contains(string(text), `"entries":[]`) {
		t.Errorf("%s, %v", text, err)
	}
}

// A clock that nobody has set does no harm: the error names it, and nothing is said.
func TestAClockOfAnotherAge(t *testing.T) {
	p := binary(t, "a plan", 1)
	s := newService(t, &p, false)
	for _, year := range []int{0, 9001, 10000, 200000} {
		o := device(t, s)
		at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		c := opened(t, p, o)
		c.SetTime(func() time.Time { return at }, nil)
		if err := c.Answer(drink("tea")); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("year %d", year)) || !strings.Contains(err.Error(), "set the clock") || len(ledger(t, o).Entries) > 0 {
			t.Errorf("in %d: %v", year, err)
		}
		c.SetTime(time.Now, nil)
		if err := c.Answer(drink("tea")); err != nil {
			t.Errorf("after %d: %v", year, err)
		}
		// What waits is dropped, and its end has a date.
		o.Now = func() time.Time { return at }
		late, err := client.Open(sign(p), o)
		if err == nil {
			late.Close()
		}
		if (year > 9000) != (err != nil) || err != nil && !strings.Contains(err.Error(), "set the clock") {
			t.Errorf("opened in %d: %v", year, err)
		}
	}
}
