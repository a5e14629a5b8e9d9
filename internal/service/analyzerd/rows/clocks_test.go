package rows

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// counter writes what was counted of a shard, as CountShard does.
type counter func(*Store, context.Context, Shard, ShardCount) (bool, error)

// apart has two workers whose clocks differ by so much count the same shard, and says what is wrong with what is kept:
// each has the shard by its own clock, the second is the first to say what it counted, and it counted otherwise.
// Where their clocks are far enough apart for it, the second deals the batch in its own name, too.
func apart(t *testing.T, first, second *Store, clocks time.Duration, count counter) (wrong []string) {
	t.Helper()
	ctx, now := t.Context(), time.Now().Add(time.Minute)
	register(t, first, 1)
	b := batch(1, 0)
	_, err := first.Begin(ctx, b, "first", now, shortly)
	check(t, err)
	check(t, first.Share(ctx, b, "first", 1))
	mine, there, err := first.Lease(ctx, now, shortly)
	if err != nil || !there {
		t.Fatalf("leased: %t, %v", there, err)
	}
	same, there, err := second.Lease(ctx, now.Add(clocks), shortly)
	if err != nil || there != (clocks > shortly) || there && same != mine {
		t.Fatalf("clocks %v apart: leased again %t, %v", clocks, there, err)
	}
	early, late := ShardCount{Opened: 2, Tally: large(2)}, ShardCount{Opened: 1, Tally: large(1)}
	for i, c := range []ShardCount{early, late} {
		s := []*Store{second, first}[i]
		if fresh, err := count(s, ctx, mine, c); err != nil || fresh != (i == 0) {
			wrong = append(wrong, fmt.Sprintf("worker %d: written %t, %v", 2-i, fresh, err))
		}
	}
	kept := func(attempt string, want ...ShardCount) {
		var all []ShardCount
		err := first.ShardCounts(ctx, b, attempt, func(c ShardCount) error { all = append(all, c); return nil })
		if err != nil || len(all) != len(want) || len(want) > 0 && (all[0].Opened != want[0].Opened || !bytes.Equal(all[0].Tally, want[0].Tally)) {
			wrong = append(wrong, fmt.Sprintf("of %s %d counts are kept: %v", attempt, len(all), err))
		}
	}
	kept("first", early)

	// Dealt again in another name: who counts for the first one is too late, also of a shard that nobody has counted.
	if _, err := second.Unshare(ctx, b, "first"); err != nil {
		t.Fatal(err)
	}
	_, err = first.Begin(ctx, b, "first again", now, shortly)
	check(t, err)
	if _, err := second.Begin(ctx, b, "second", now.Add(clocks), shortly); errors.Is(err, ErrUnderWay) != (clocks <= shortly) {
		t.Fatalf("clocks %v apart: dealt again: %v", clocks, err)
	} else if err != nil {
		return wrong
	}
	if err := first.Share(ctx, b, "first again", 1); !errors.Is(err, ErrUnderWay) {
		wrong = append(wrong, fmt.Sprintf("shared in a name that stands no more: %v", err))
	}
	check(t, second.Share(ctx, b, "second", 1))
	if fresh, err := count(first, ctx, mine, late); err != nil || fresh {
		wrong = append(wrong, fmt.Sprintf("in a name that stands no more: written %t, %v", fresh, err))
	}
	kept("second")
	return wrong
}

// Two workers whose clocks differ by an hour may count one shard at once. What the first of them says stands, whole,
// and a worker that ignores what stands there is found out.
func TestWorkersWhoseClocksDiffer(t *testing.T) {
	careless := func(s *Store, ctx context.Context, sh Shard, c ShardCount) (bool, error) {
		shelf, err := s.made(ctx, sh.Plan)
		if err != nil {
			return false, err
		}
		tally := bodyOf(c.Tally)
		return true, s.writeParts(ctx, shelf, "shard", []content{{countsTable, sh.counts(tally), c.Tally}}, func(tx keep.Tx) (bool, error) {
			return true, put(tx, shardsTable, sh.at(), shardRow{Shards: sh.Shards, SHA256: hex.EncodeToString(sh.SHA256[:]), Attempt: sh.Attempt, Counted: true, Opened: c.Opened, Tally: tally})
		})
	}
	both(t, func(t *testing.T, c Config) {
		for _, clocks := range []time.Duration{time.Hour, -time.Hour, 0} {
			for name, count := range map[string]counter{"as it is": (*Store).CountShard, "careless": careless} {
				t.Run(fmt.Sprint(clocks, " ", name), func(t *testing.T) {
					c := c
					if !c.database() {
						c.DSN = t.TempDir() + "/shelves"
					} else {
						c = databases["postgres"](t)
					}
					first := opened(t, c)
					second := first
					if c.database() {
						second = opened(t, c)
					}
					wrong := apart(t, first, second, clocks, count)
					if (len(wrong) == 0) != (name == "as it is") {
						t.Errorf("%q", wrong)
					}
				})
			}
		}
	})
}

// ahead is a shelf before whose first Update another process is quicker.
type ahead struct {
	keep.Shelf
	other func()
}

func (a *ahead) Update(ctx context.Context, fn func(keep.Tx) error) error {
	if other := a.other; other != nil {
		a.other = nil
		other()
	}
	return a.Shelf.Update(ctx, fn)
}

// Two processes that count a batch differently, as two versions may, write at once. The first stands, whole: where
// both tallies have one place, the later one takes the first apart.
func TestABatchThatIsCountedDifferently(t *testing.T) {
	onePlace := func(s *Store, ctx context.Context, b Batch, tally []byte) (outcome Outcome, err error) {
		shelf, err := s.made(ctx, b.Plan)
		if err != nil {
			return Failed, err
		}
		m := b.mark(tally)
		m.Tally.SHA256 = bodyOf(large(1)).SHA256
		err = s.writeParts(ctx, shelf, "count", []content{{talliesTable, b.tally(m.Tally), tally}}, func(tx keep.Tx) (bool, error) {
			outcome, err = b.taken(tx.Get)
			if err != nil || outcome != New {
				return false, err
			}
			return true, put(tx, marksTable, b.at(), m)
		})
		return outcome, err
	}
	both(t, func(t *testing.T, c Config) {
		s := opened(t, c)
		for i, count := range []func(*Store, context.Context, Batch, []byte) (Outcome, error){(*Store).Count, onePlace} {
			register(t, s, i)
			b := batch(i, 0)
			shelf, err := s.made(t.Context(), b.Plan)
			check(t, err)
			s.shelves[b.Plan] = &ahead{shelf, func() {
				if outcome, err := count(s, t.Context(), b, large(1)); outcome != New || err != nil {
					t.Fatal(outcome, err)
				}
			}}
			if outcome, err := count(s, t.Context(), b, large(2)); outcome != Again || err != nil {
				t.Errorf("the later one: %v, %v", outcome, err)
			}
			tally, err := s.Tally(t.Context(), b)
			if whole := err == nil && bytes.Equal(tally, large(1)); whole != (i == 0) {
				t.Errorf("one place %t: the first tally is whole: %t, %v", i == 1, whole, err)
			}
		}
	})
}
