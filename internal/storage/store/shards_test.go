package store

import (
	"testing"
	"time"
)

// What is to be counted is told: what waits, what somebody has, and since when.
func TestBacklog(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		ctx := t.Context()
		s := open(t, dsn)
		wants := func(ready, leased int, waits bool) {
			t.Helper()
			r, l, since, err := s.Backlog(ctx)
			if err != nil || r != ready || l != leased || since.IsZero() == waits {
				t.Errorf("%d wait, %d are leased, since %v, %v; want %d and %d", r, l, since, err, ready, leased)
			}
			if waits && time.Since(since) > time.Minute {
				t.Errorf("the oldest waits since %v", since)
			}
		}
		wants(0, 0, false)
		register(t, s, samplePlan("a"))
		b := Batch{Plan: "a", SHA256: [32]byte{1}}
		if err := s.Share(ctx, b, 3); err != nil {
			t.Fatal(err)
		}
		wants(3, 0, true)
		sh, there, err := s.Lease(ctx, time.Now(), time.Hour)
		if err != nil || !there {
			t.Fatal(there, err)
		}
		wants(2, 1, true)
		if fresh, err := s.CountShard(ctx, sh, ShardCount{Opened: 1, Tally: []byte{1}}); err != nil || !fresh {
			t.Fatal(fresh, err)
		}
		wants(2, 0, true)
		// A lease that is over is somebody else's to take.
		for range 2 {
			if _, there, err := s.Lease(ctx, time.Now().Add(-time.Minute), time.Second); err != nil || there {
				t.Errorf("a shard was there before it was shared: %v", err)
			}
			if _, there, err := s.Lease(ctx, time.Now(), 0); err != nil || !there {
				t.Errorf("nobody has it, and it is not there: %v", err)
			}
		}
		wants(2, 0, true)
	})
}
