package client_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

// fragmented asks for a drink, in four report fragments behind a backstop that
// are spread over two instances.
func fragmented(t testing.TB) plan.Plan {
	t.Helper()
	p, _ := sample(t, "rr", 2, 1)
	p.Title = "What do people drink?"
	p.Question = plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &plan.Histogram{
		Attributes: []plan.Attribute{{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}, Others: true}},
		Randomizer: plan.Randomizer{Name: "one-hot", Accounting: "exact", Fragments: 4},
	}}
	p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "removal"}
	p.Crowd = plan.Crowd{Minimum: 1000}
	p.Route.Mix.Spread = plan.SpreadAll
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

func drink(name string) question.Value { return histogram.Answers{Values: []any{name}} }

// The same answer to the same question, asked by another plan, says what was
// drawn for the first one and costs nothing where everyone colludes. Another
// answer is drawn anew and charged.
func TestBackstopsArePermanent(t *testing.T) {
	p := fragmented(t)
	s := newService(t, &p, false)
	o := device(t, s)
	spent := func(title, name string) client.Entry {
		t.Helper()
		q := p
		q.Title = title
		s.reset()
		s.plan = q
		if err := opened(t, q, o).Report(t.Context(), drink(name)); err != nil {
			t.Fatal(err)
		}
		if kept, _, _ := s.counts(); kept != 2 {
			t.Errorf("%d contributions, one for each instance is wanted", kept)
		}
		es := ledger(t, o).Entries
		return es[len(es)-1]
	}
	first, again, other := spent("monday", "tea"), spent("tuesday", "tea"), spent("wednesday", "coffee")
	if first.Reused || !again.Reused || other.Reused {
		t.Errorf("reused: %v, %v, %v; want the second only", first.Reused, again.Reused, other.Reused)
	}
	if len(first.Parts) != 2 || first.Charge.Local <= 0 {
		t.Errorf("the ledger says %+v", first)
	}
	// Under removal the promise is 1, and rows that more plans may show count a little
	// more; a replacement is two removals.
	if c := first.Charge; c.Epsilon < 2 || c.Epsilon > 2.2 || c.Delta < (1+math.E)*0.9e-6 {
		t.Errorf("charged %+v", c)
	}
	sum := ledger(t, o).Spent(time.Now(), time.Hour)
	if math.Abs(sum.Local-2*first.Charge.Local) > 1e-9 || math.Abs(sum.Epsilon-3*first.Charge.Epsilon) > 1e-9 {
		t.Errorf("spent %+v in three answers of which two are alike", sum)
	}

	if first.Charge.Local < 0.99*other.Charge.Local || first.Backed == nil || string(first.Backed.Key) != string(again.Backed.Key) || string(first.Backed.Key) == string(other.Backed.Key) {
		t.Errorf("came from %+v, %+v and %+v", first.Backed, again.Backed, other.Backed)
	}
}

// Where a cap limits what everyone together may learn, the first answer to a
// question stands for the whole period, whatever the value is meanwhile: none of the
// later plans is refused for a new value, and none is charged again.
func TestAnAnswerStandsUnderALocalCap(t *testing.T) {
	p := fragmented(t)
	s := newService(t, &p, false)
	o := device(t, s)
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	kept, ok := proto.Backstop()
	if !ok {
		t.Fatal("nothing is kept")
	}
	o.Caps = client.Caps{Window: client.Cap{Local: 1.5 * kept.Epsilon}, Period: time.Hour}
	for i, name := range []string{"tea", "tea", "coffee", "water"} {
		q := p
		q.Title = fmt.Sprintf("plan %d", i)
		s.reset()
		s.plan = q
		if err := opened(t, q, o).Report(t.Context(), drink(name)); err != nil {
			t.Fatal(err)
		}
	}
	es := ledger(t, o).Entries
	for i, e := range es {
		if string(e.Backed.Key) != string(es[0].Backed.Key) || !e.Backed.Term.Equal(es[0].Backed.Term) || e.Reused != (i > 0) {
			t.Errorf("answer %d came from %+v, the first from %+v", i, e.Backed, es[0].Backed)
		}
	}
	if sum := ledger(t, o).Spent(time.Now(), time.Hour).Local; sum < kept.Epsilon || sum > 1.001*kept.Epsilon {
		t.Errorf("%v was spent, want %v", sum, kept.Epsilon)
	}
	// Another question has no room beside it.
	q := p
	h := *p.Question.Histogram
	h.Attributes = []plan.Attribute{{Name: "snack", Kind: "categories", Values: []string{"nuts", "fruit"}, Others: true}}
	q.Question.Histogram = &h
	s.reset()
	s.plan = q
	if err := opened(t, q, o).Report(t.Context(), drink("nuts")); err == nil || !strings.Contains(err.Error(), "epsilon though everyone colludes") {
		t.Errorf("a second backstop within a cap for one: %v", err)
	}
}

// A publisher cannot have noisy fragments of a backstop charged first and have bare
// ones of the same backstop for nothing afterwards: a cap refuses either, alone and
// in either order.
func TestALocalCapIsNotPassedBy(t *testing.T) {
	bit := func(e float64) (keep, flip float64) { f := 1 / (1 + math.Exp(e)); return 1 - f, f }
	build := func(title string, fragment float64) plan.Plan {
		p, _ := sample(t, "rr", 1, 1)
		p.Title = title
		r := plan.Randomizer{Name: "one-hot", Accounting: "exact", Fragments: 2, Backstop: 10.001, Epsilon: fragment * 1.001}
		r.BackstopKeep, r.BackstopFlip = bit(10)
		r.Keep, r.Flip = bit(fragment)
		p.Question = plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &plan.Histogram{
			Attributes: []plan.Attribute{{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}, Others: true}},
			Randomizer: r,
		}}
		p.Budget = plan.Budget{Epsilon: 2, Delta: 1e-6, Adjacency: "removal"}
		p.Crowd = plan.Crowd{Minimum: 4_000_000}
		p.Envelopes = plan.Envelopes{Suite: "x25519", PayloadBytes: 8, PerDevice: 8}
		if _, err := simulate.NewKeys(&p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	noisy, bare := build("noisy", 0.1), build("bare", 9.9)
	s := newService(t, &noisy, false)
	for name, plans := range map[string][]plan.Plan{"bare": {bare}, "noisy first": {noisy, bare}, "bare first": {bare, noisy}} {
		o := device(t, s)
		o.Caps = client.Caps{Plan: client.Cap{Local: 1}, Window: client.Cap{Local: 1}, Period: time.Hour}
		for _, p := range plans {
			for i := range p.Route.Mix.Instances {
				for h := range p.Route.Mix.Instances[i].Hops {
					p.Route.Mix.Instances[i].Hops[h].URL = s.URL
				}
			}
			s.reset()
			s.plan = p
			c := opened(t, p, o)
			if err := c.Report(t.Context(), drink("tea")); err == nil || !strings.Contains(err.Error(), "everyone colludes") {
				t.Errorf("%s: the plan %q, which is charged %+v: %v", name, p.Title, c.Charge(), err)
			}
		}
	}
}

// keyCatcher collects the keys that protocol keeps backstops under, as bytes, in
// hexadecimal and in base64, as a file may have them.
type keyCatcher map[string]bool

func (k keyCatcher) Recall(key [32]byte) ([]byte, bool) {
	k[string(key[:])], k[fmt.Sprintf("%x", key)], k[base64.StdEncoding.EncodeToString(key[:])] = true, true, true
	return nil, false
}

func (k keyCatcher) Keep([32]byte, []byte) error { return nil }

// guessed are the drinks that the device's folder tells, to whoever has the secret,
// with nothing but the public plan: the backstop of the right one is in the ledger.
func guessed(t *testing.T, p plan.Plan, folder string, secret []byte) (found []string) {
	t.Helper()
	ledger, err := os.ReadFile(filepath.Join(folder, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"coffee", "tea", "water", "something else"} {
		symbol, err := proto.Encode(drink(name))
		if err != nil {
			t.Fatal(err)
		}
		keys := keyCatcher{}
		if _, err := proto.Randomize(seeded.New(1), symbol, keys); err != nil {
			t.Fatal(err)
		}
		for key := range keys {
			mac := hmac.New(sha256.New, secret[:32]) // a checksum follows
			mac.Write([]byte("confetti/backstop/v1\n" + key))
			if bytes.Contains(ledger, []byte(base64.StdEncoding.EncodeToString(mac.Sum(nil)))) {
				found = append(found, name)
			}
		}
	}
	return found
}

// The folder with the secret in it tells the value with certainty, as docs/limits-software.md
// says. With the secret elsewhere no secret that is in the folder tells anything.
func TestTheFolderTellsTheValueOnlyWithItsSecret(t *testing.T) {
	p := fragmented(t)
	s := newService(t, &p, false)
	o := device(t, s)
	if err := opened(t, p, o).Report(t.Context(), drink("tea")); err != nil {
		t.Fatal(err)
	}
	inside, err := os.ReadFile(filepath.Join(dir(o), "secret"))
	if err != nil {
		t.Fatal(err)
	}
	if found := guessed(t, p, dir(o), inside); len(found) != 1 || found[0] != "tea" {
		t.Errorf("with the secret the folder tells %q", found)
	}

	s.reset()
	o = device(t, s)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	o.Store = native.Folder{Path: dir(o), Secret: elsewhere}
	if err := opened(t, p, o).Report(t.Context(), drink("tea")); err != nil {
		t.Fatal(err)
	}
	outside, err := os.ReadFile(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	if found := guessed(t, p, dir(o), outside); len(found) != 1 {
		t.Errorf("the search finds %q even with the secret", found)
	}
	err = filepath.WalkDir(dir(o), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, outside) || len(guessed(t, p, dir(o), data)) > 0 {
			t.Errorf("%s tells the value", d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The secret is found again, and missed where it is gone.
	q := p
	q.Title = "again"
	s.reset()
	s.plan = q
	if err := opened(t, q, o).Report(t.Context(), drink("tea")); err != nil || !ledger(t, o).Entries[1].Reused {
		t.Errorf("a second answer: %v", err)
	}
	if err := os.Remove(elsewhere); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Open(sign(q), o); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("without its secret: %v", err)
	}
}

// No file of the device holds a key that values can be tried against without the secret.
func TestTheFolderDoesNotShowTheValue(t *testing.T) {
	p := fragmented(t)
	s := newService(t, &p, false)
	s.setFail(func(*http.Request) error { return wire.Problemf(wire.Overloaded, "busy") })
	o := device(t, s)
	opened(t, p, o).Report(t.Context(), drink("tea"))
	keys := map[string]bool{}
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"coffee", "tea", "water"} {
		symbol, err := proto.Encode(drink(name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proto.Randomize(seeded.New(1), symbol, keyCatcher(keys)); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) != 9 {
		t.Fatalf("%d forms of the keys of three values", len(keys))
	}
	err = filepath.WalkDir(dir(o), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others", d.Name())
		}
		data, err := os.ReadFile(path)
		for key := range keys {
			if bytes.Contains(data, []byte(key)) {
				t.Errorf("%s holds the key of a value", d.Name())
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
