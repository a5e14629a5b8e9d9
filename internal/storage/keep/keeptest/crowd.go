package keeptest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// pause is how long a caller stands where nobody else may be. An engine that keeps its promise
// passes however long it is; one that does not is caught if others come within it.
const pause = 20 * time.Millisecond

// alone: no two Updates of a shelf run at once, from whatever process.
func alone(tb testing.TB, e Engine) {
	all := seats(tb, e, 4)
	var inside atomic.Int32
	together(tb, len(all), func(i int) error {
		return all[i].Update(tb.Context(), func(tx keep.Tx) error {
			if inside.Add(1) != 1 {
				return errors.New("two Updates run at once")
			}
			time.Sleep(pause)
			inside.Add(-1)
			tx.Put(1, fmt.Sprint(i), nil)
			return nil
		})
	})
}

// counted: an Update sees what all before it have written, while Inserts go on. Rows of a
// call are seen together.
func counted(tb testing.TB, e Engine) {
	const callers, rounds = 6, 15
	seats := seats(tb, e, 2*callers)
	together(tb, 2*callers, func(i int) error {
		s := seats[i]
		for r := range rounds {
			if i >= callers {
				if _, err := s.Insert(tb.Context(), keep.Row{Table: 2, Key: fmt.Sprint(i, r)}, keep.Row{Table: 3, Key: fmt.Sprint(i, r)}); err != nil {
					return err
				}
				continue
			}
			err := s.Update(tb.Context(), func(tx keep.Tx) error {
				was, there, err := tx.Get(1, "sum")
				if err != nil {
					return err
				}
				var n uint64
				if there {
					n = binary.BigEndian.Uint64(was)
				}
				half := fmt.Sprint(callers+i, r)
				_, first, err := tx.Get(3, half)
				if err != nil {
					return err
				}
				if _, second, err := tx.Get(2, half); err != nil || first && !second {
					return fmt.Errorf("half of an Insert is seen: %w", err)
				}
				tx.Put(1, "sum", binary.BigEndian.AppendUint64(nil, n+1))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	sum, _, err := seats[0].Get(tb.Context(), 1, "sum")
	if err != nil || len(sum) != 8 || binary.BigEndian.Uint64(sum) != callers*rounds {
		tb.Fatalf("%d Updates counted to %x: %v", callers*rounds, sum, err)
	}
	if a, b := len(all(tb, seats[1], 2)), len(all(tb, seats[1], 3)); a != callers*rounds || b != a {
		tb.Fatalf("Inserts beside them left %d and %d of %d rows", a, b, callers*rounds)
	}
}

// sealWaits: what an Update wrote that saw an open shelf is there when Seal returns.
func sealWaits(tb testing.TB, e Engine) {
	seats := seats(tb, e, 2)
	inside, sealed := make(chan struct{}), make(chan struct{})
	together(tb, 2, func(i int) error {
		if i == 1 {
			<-inside
			defer close(sealed)
			if err := seats[1].Seal(tb.Context()); err != nil {
				return err
			}
			if _, there, err := seats[1].Get(tb.Context(), 1, "late"); !there || err != nil {
				return fmt.Errorf("an Update that saw an open shelf writes behind Seal: %w", err)
			}
			return nil
		}
		return seats[0].Update(tb.Context(), func(tx keep.Tx) error {
			if tx.Sealed() {
				return errors.New("an open shelf is sealed")
			}
			close(inside)
			select {
			case <-sealed:
			case <-time.After(pause):
			}
			tx.Put(1, "late", nil)
			return nil
		})
	})
}

// call is what became of an Insert.
type call struct {
	rows         []keep.Row
	begun, ended int64
	err          error
}

// sealStops: Seal comes while many insert. What was acknowledged is in the order, and what was
// refused is not; calls are whole; who began after another had ended comes behind it.
func sealStops(tb testing.TB, e Engine) {
	const callers, most = 16, 200
	seats := seats(tb, e, callers+1)
	histories := make([][]call, callers)
	var clock, done atomic.Int64
	var at atomic.Int64 // when Seal had returned
	together(tb, callers+1, func(i int) error {
		if i == callers {
			for done.Load() < callers {
				time.Sleep(time.Millisecond)
			}
			err := seats[i].Seal(tb.Context())
			at.Store(clock.Add(1))
			return err
		}
		for r := range most {
			c := call{begun: clock.Add(1)}
			for part := range 1 + (i+r)%3 {
				c.rows = append(c.rows, keep.Row{Table: 1, Key: fmt.Sprintf("%02d %03d %d", callers-i, most-r, 9-part), Tag: uint32(i % 2)})
			}
			_, c.err = seats[i].Insert(tb.Context(), c.rows...)
			c.ended = clock.Add(1)
			histories[i] = append(histories[i], c)
			done.Add(1)
			if c.err != nil {
				if errors.Is(c.err, keep.ErrSealed) && len(histories[i]) > 1 && histories[i][len(histories[i])-2].err != nil {
					return nil
				}
				if !errors.Is(c.err, keep.ErrSealed) {
					return c.err
				}
			}
		}
		return nil
	})
	sealed := at.Load()
	var got []string
	for range 2 {
		var now []string
		must(tb, "InOrder", seats[1].InOrder(tb.Context(), 1, func(key string, _ []byte) error { now = append(now, key); return nil }))
		if got != nil && !slices.Equal(got, now) {
			tb.Fatal("the order is another one the second time")
		}
		got = now
	}
	places := map[string]int{}
	for i, key := range got {
		places[key] = i
	}
	kept := 0
	var calls []call
	for _, c := range slices.Concat(histories...) {
		first, there := places[c.rows[0].Key]
		switch {
		case there != (c.err == nil):
			tb.Fatalf("an Insert that ended with %v is in the order: %t", c.err, there)
		case c.err == nil && c.begun > sealed:
			tb.Fatal("an Insert that began behind Seal is kept")
		}
		for i, r := range c.rows {
			if at, ok := places[r.Key]; ok != there || ok && at != first+i {
				tb.Fatalf("rows of one Insert are apart in the order: %d, %d", first, at)
			}
		}
		if there {
			kept += len(c.rows)
			calls = append(calls, c)
		}
	}
	if kept != len(got) || kept == 0 {
		tb.Fatalf("%d rows are in the order and %d were acknowledged", len(got), kept)
	}
	slices.SortFunc(calls, func(a, b call) int { return places[a.rows[0].Key] - places[b.rows[0].Key] })
	latest := int64(0) // begin of any call so far
	for _, c := range calls {
		if latest > c.ended {
			tb.Fatal("an Insert that had ended comes behind one that began later")
		}
		latest = max(latest, c.begun)
	}
	n := 0
	for tag := range uint32(2) {
		some, err := seats[0].Count(tb.Context(), 1, tag)
		must(tb, "Count", err)
		n += some
	}
	if n != kept {
		tb.Fatalf("%d rows are counted and %d were acknowledged", n, kept)
	}
	must(tb, "Check", seats[1].Check(tb.Context()))
}

// oneWins: of many who want a key one gets it, and the same content is one row.
func oneWins(tb testing.TB, e Engine) {
	const callers, rounds = 8, 10
	seats := seats(tb, e, callers)
	for r := range rounds {
		var fresh, again, taken atomic.Int32
		key := fmt.Sprint(r)
		together(tb, callers, func(i int) error {
			told, err := seats[i].Insert(tb.Context(), keep.Row{Table: 1, Key: key, Value: []byte{byte(i / 2 % 2)}})
			switch {
			case errors.Is(err, keep.ErrTaken):
				taken.Add(1)
			case err != nil:
				return err
			case told:
				again.Add(1)
			default:
				fresh.Add(1)
			}
			return nil
		})
		if fresh.Load() != 1 || again.Load() != callers/2-1 || taken.Load() != callers/2 {
			tb.Fatalf("of %d who want a key with two contents, %d are new, %d again, %d refused", callers, fresh.Load(), again.Load(), taken.Load())
		}
	}
}

// wholeCalls: calls of several rows that cross are whole or not there, none waits for ever, and
// who is refused was refused by somebody who is there.
func wholeCalls(tb testing.TB, e Engine) {
	const callers, rounds, span = 8, 25, 6
	seats := seats(tb, e, callers)
	for r := range rounds {
		results := make([]call, callers)
		together(tb, callers, func(i int) error {
			c := call{}
			for part := range 3 {
				c.rows = append(c.rows, keep.Row{Table: keep.Table(r%15 + 1), Key: fmt.Sprint(r, (i*5+part*(i%2*4+1))%span), Value: []byte{byte(i)}})
			}
			_, c.err = seats[i].Insert(tb.Context(), c.rows...)
			results[i] = c
			if c.err != nil && !errors.Is(c.err, keep.ErrTaken) {
				return c.err
			}
			return nil
		})
		rows := all(tb, seats[0], keep.Table(r%15+1))
		owner := func(key string) int {
			if value, there := rows[key]; there {
				return int(value[0])
			}
			return -1
		}
		for i, c := range results {
			met := false
			for _, row := range c.rows {
				by := owner(row.Key)
				if (by == i) != (c.err == nil) {
					tb.Fatalf("an Insert that ended with %v is there in part", c.err)
				}
				met = met || by >= 0 && by != i && results[by].err == nil
			}
			if c.err != nil && !met {
				tb.Fatal("an Insert was refused for rows that nobody has")
			}
		}
	}
}
