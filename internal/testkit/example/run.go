package example

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// designs has what Design gave for a plan, both as JSON: tests ask for the same plans again
// and again, and finding their noise takes long.
var designs sync.Map

// Golden returns a plan whose canonical form package plan keeps, for packages two folders below
// the root.
func Golden(t testing.TB, name string) plan.Plan {
	t.Helper()
	text, err := os.ReadFile("../../plan/testdata/vectors/v2/" + name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse(bytes.TrimSpace(text))
	if err == nil {
		err = protocol.Validate(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Design returns the plan with its noise.
func Design(t testing.TB, p plan.Plan) plan.Plan {
	t.Helper()
	asked, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if known, ok := designs.Load(string(asked)); ok {
		var designed plan.Plan
		if err := json.Unmarshal(known.([]byte), &designed); err != nil {
			t.Fatal(err)
		}
		return designed
	}
	if p, err = design.Fill(p); err != nil {
		t.Fatal(err)
	}
	// Kept where JSON has all of it.
	var back plan.Plan
	if b, err := json.Marshal(p); err == nil && json.Unmarshal(b, &back) == nil && reflect.DeepEqual(back, p) {
		designs.Store(string(asked), b)
	}
	return p
}

func Runnable(t testing.TB, p plan.Plan) *protocol.Protocol {
	t.Helper()
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return proto
}

// Mentions fails unless err says all of want, and nothing of the value that
// stands in the tests' vectors.
func Mentions(t testing.TB, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that mentions %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not mention %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "62517") {
		t.Errorf("%q holds the respondent's value", err)
	}
}

func Crowds(p *protocol.Protocol) []tally.Crowd {
	tallies := make([]tally.Crowd, p.Plan.Crowds())
	for c := range tallies {
		tallies[c].Tally = p.NewTally()
	}
	return tallies
}

// Said reads the body of a message.
func Said(t testing.TB, body []byte) (channel, symbol int) {
	t.Helper()
	c, s, err := tally.ParseMessage(body)
	if err != nil {
		t.Fatal(err)
	}
	return int(c), int(s)
}

// Cells returns the counts of a crowd.
func Cells(c tally.Crowd) []uint64 { return c.Tally.(*tally.Counts).N }

// Stated returns a release without findings.
func Stated(t testing.TB, p *protocol.Protocol, crowds []tally.Crowd, came []int) (release.Release, error) {
	t.Helper()
	promise, err := p.Promise()
	if err != nil {
		return release.Release{}, err
	}
	r := statement.Begin(p, crowds, came)
	return r, statement.Plan{Protocol: p, Promise: promise}.Write(&r)
}

func Promised(t *testing.T, p *protocol.Protocol) protocol.Promise {
	t.Helper()
	promise, err := p.Promise()
	if err != nil {
		t.Fatal(err)
	}
	return promise
}

// Drinkers returns a population of two crowds: 1,500 of 3,000 in the north hold coffee,
// 1,000 tea and 500 water; of 2,000 in the south 200, 800 and 1,000.
func Drinkers() (values []question.Value) {
	add := func(crowd, n int, drink string) {
		for range n {
			values = append(values, histogram.Answers{Crowd: crowd, Values: []any{drink}})
		}
	}
	add(0, 1500, "coffee")
	add(0, 1000, "tea")
	add(0, 500, "water")
	add(1, 200, "coffee")
	add(1, 800, "tea")
	add(1, 1000, "water")
	return values
}

func Learned(t *testing.T, proto *protocol.Protocol, tallies []tally.Crowd) *histogram.Model {
	t.Helper()
	model, err := proto.Learn(tallies)
	if err != nil {
		t.Fatal(err)
	}
	return model.(*histogram.Model)
}

func Streams(seed uint64) distribution.Stream {
	return func(part ...uint64) *rand.Rand { return seeded.New(seed, part...) }
}

func SameJSON(t *testing.T, a, b json.RawMessage) bool {
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return cmp.Equal(x, y)
}

// Shelf is a memory of a test.
type Shelf struct {
	Kept   map[[32]byte][]byte
	Broken error
}

func (m *Shelf) Recall(key [32]byte) ([]byte, bool) {
	b, ok := m.Kept[key]
	return b, ok
}

func (m *Shelf) Keep(key [32]byte, b []byte) error {
	if m.Broken == nil {
		m.Kept[key] = b
	}
	return m.Broken
}
