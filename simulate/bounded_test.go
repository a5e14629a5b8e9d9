package simulate_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/simulate"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	os.Exit(m.Run())
}

// kept is a plan whose keys are in a folder, with blocks and parts so small that there are
// several of each.
func kept(t testing.TB, p plan.Plan) (simulate.Bounded, *protocol.Protocol, simulate.Keys) {
	t.Helper()
	b := simulate.Bounded{Dir: t.TempDir(), PartBytes: 1500, Block: 9}
	proto, keys := reopen(t, b, p)
	return b, proto, keys
}

func reopen(t testing.TB, b simulate.Bounded, p plan.Plan) (*protocol.Protocol, simulate.Keys) {
	t.Helper()
	keys, err := b.OpenKeys(&p)
	if err != nil {
		t.Fatal(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return proto, keys
}

// What is in a folder is counted as what is in memory: the devices of a seed give the same
// totals, whatever the blocks and the parts.
func TestBoundedCountsWhatFullCounts(t *testing.T) {
	for _, bitsum := range []string{"rr", "3nb"} {
		p := sample(bitsum, 3)
		p.Envelopes.PerDevice = min(24, p.Envelopes.PerDevice)
		p.Budget.LabelEpsilon = 2
		b, proto, keys := kept(t, p)
		values := population(24, 3)
		const seed = 5
		col, err := b.Run(t.Context(), proto, keys, values, seed, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(unsealed(t, proto, values, func(i int) *rand.Rand { return seeded.New(seed, uint64(i)) }), col.Crowds); diff != "" {
			t.Errorf("%s: tallies differ (-unsealed +bounded):\n%s", bitsum, diff)
		}
		full, err := simulate.Full(proto, keys, values, seed, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(full, col); diff != "" {
			t.Errorf("%s: (-full +bounded):\n%s", bitsum, diff)
		}
	}
}

// A crowd that is too small is withheld, and its devices are told; of those that have
// several instances each gets its own.
func TestBoundedWithholdsASmallCrowd(t *testing.T) {
	p := sample("rr", 2)
	p.Crowd.Minimum = 8
	p.Route.Mix.Instances = append(p.Route.Mix.Instances, plan.Instance{Hops: []plan.Party{{Operator: "East"}}})
	b, proto, keys := kept(t, p)
	values := population(45, 2) // 30 in the hills, 15 at the shore, half of them in each instance
	col, err := b.Run(t.Context(), proto, keys, values, 1, quiet)
	if err != nil {
		t.Fatal(err)
	}
	told, respondents := 0, 0
	for _, is := range col.Told {
		if is {
			told++
		}
	}
	for _, c := range col.Crowds {
		respondents += c.Respondents
	}
	if len(col.Withheld) == 0 || told == 0 || told+respondents != len(values) || !strings.Contains(col.Withheld[0], "fewer than 8") {
		t.Errorf("%d respondents, %d told, withheld %q", respondents, told, col.Withheld)
	}
}

// A simulation that is stopped at any point goes on, and counts what one that was not
// stopped counts; nothing that was done is done again.
func TestBoundedGoesOn(t *testing.T) {
	p := sample("rr", 3)
	b, proto, _ := kept(t, p)
	values := population(24, 3)
	const seed = 3
	want := unsealed(t, proto, values, func(i int) *rand.Rand { return seeded.New(seed, uint64(i)) })
	accepted := filepath.Join(b.Dir, "accepted", "0", "0_0")
	var first []byte
	stops := 0
	for {
		again, sameKeys := reopen(t, b, p)
		if again.Hash != proto.Hash {
			t.Fatal("another plan after a stop: its keys were made again")
		}
		ctx, stop := context.WithCancel(t.Context())
		calls := 0
		col, err := b.Run(ctx, again, sameKeys, values, seed, func(string, int, int) {
			if calls++; calls > stops/3 { // so that it gets further, and is stopped at each step several times
				stop()
			}
		})
		stop()
		body, missing := os.ReadFile(accepted)
		if first == nil && missing == nil {
			first = body
		} else if missing == nil && !bytes.Equal(first, body) {
			t.Fatal("devices that were done have sealed again")
		}
		if err == nil {
			if diff := cmp.Diff(want, col.Crowds); diff != "" {
				t.Errorf("after %d stops (-unsealed +bounded):\n%s", stops, diff)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if stops++; stops > 1000 {
			t.Fatal("it does not come to an end")
		}
	}
	if stops < 5 {
		t.Errorf("only %d stops", stops)
	}
	if left, err := filepath.Glob(filepath.Join(b.Dir, "mixing", "*", "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("crowds that were mixed are left: %q, %v", left, err)
	}
}

// A folder of another simulation is left as it is.
func TestBoundedRefusesAnotherSimulation(t *testing.T) {
	b, proto, keys := kept(t, sample("rr", 2))
	b.PartBytes = 1 << 20
	values := population(20, 2)
	if _, err := b.Run(t.Context(), proto, keys, values, 1, quiet); err != nil {
		t.Fatal(err)
	}
	lock, err := atomicfile.Lock(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Run(t.Context(), proto, keys, values, 1, quiet); err == nil || !strings.Contains(err.Error(), "another process simulates there") {
		t.Error(err)
	}
	lock.Close()
	if _, err := b.Run(t.Context(), proto, keys, values, 2, quiet); err == nil || !strings.Contains(err.Error(), "another simulation") {
		t.Error(err)
	}
	if _, err := b.Run(t.Context(), proto, keys, values[1:], 1, quiet); err == nil || !strings.Contains(err.Error(), "another simulation") {
		t.Error(err)
	}
	if _, err := b.Run(t.Context(), proto, keys, values, 1, quiet); err != nil {
		t.Error(err)
	}
}
