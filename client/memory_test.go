package client_test

import (
	"bytes"
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
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/simulate"
)

// fragmented asks for a drink, in four report fragments behind a backstop that
// are spread over two instances.
func fragmented(t testing.TB) plan.Plan {
	t.Helper()
	p, _ := sample(t, "rr", 2, 1)
	p.Title = "What do people drink?"
	p.Question = plan.Question{Kind: "histogram", Histogram: &plan.Histogram{
		Attributes: []plan.Attribute{{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}, Others: true}},
		Randomizer: plan.Randomizer{Name: "one-hot", Accounting: "exact", Fragments: 4},
	}}
	p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "removal"}
	p.Crowd.Minimum = 1000
	p.Route.Mix.Spread = plan.SpreadAll
	p.Envelopes = plan.Envelopes{Suite: "x25519"}
	if _, err := simulate.NewKeys(&p); err != nil {
		t.Fatal(err)
	}
	p, err := protocol.Design(p)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func drink(name string) protocol.Value { return protocol.Answers{Values: []any{name}} }

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
	// Under removal the promise is 1; a replacement is two removals.
	if c := first.Charge; c.Epsilon < 1.9 || c.Epsilon > 2.001 || c.Delta < (1+math.E)*0.9e-6 {
		t.Errorf("charged %+v", c)
	}
	sum := ledger(t, o).Spent(time.Now(), time.Hour)
	if math.Abs(sum.Local-2*first.Charge.Local) > 1e-9 || math.Abs(sum.Epsilon-3*first.Charge.Epsilon) > 1e-9 {
		t.Errorf("spent %+v in three answers of which two are alike", sum)
	}

	o.Caps = client.Caps{Window: client.Cap{Local: 2.5 * first.Charge.Local}, Period: time.Hour}
	spent("thursday", "tea")
	q := p
	q.Title = "friday"
	s.plan = q
	if err := opened(t, q, o).Report(t.Context(), drink("water")); err == nil || !strings.Contains(err.Error(), "epsilon though everyone colludes") {
		t.Errorf("a third answer within a cap for two: %v", err)
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

// No file of the device tells a value to who looks for it, nor tries out all.
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
		if _, err := proto.Randomize(replay.New(1), symbol, keyCatcher(keys)); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) != 9 {
		t.Fatalf("%d forms of the keys of three values", len(keys))
	}
	err = filepath.WalkDir(o.Folder, func(path string, d os.DirEntry, err error) error {
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
