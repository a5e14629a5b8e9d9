package store

import (
	"errors"
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
		if _, err := s.Begin(ctx, b, "one", time.Now(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := s.Share(ctx, b, "one", 3); err != nil {
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

// One attempt at a batch stands at a time, and what comes late in the name of another changes
// nothing: neither what a worker has counted nor that it found its shard gone.
func TestOneAttemptStands(t *testing.T) {
	both(t, func(t *testing.T, dsn string) {
		ctx := t.Context()
		s := open(t, dsn)
		register(t, s, samplePlan("a"))
		b := Batch{Plan: "a", SHA256: [32]byte{1}}
		now := time.Now()
		begin := func(name string, at time.Time, before string, want error) {
			t.Helper()
			if got, err := s.Begin(ctx, b, name, at, time.Minute); !errors.Is(err, want) || err == nil && got != before {
				t.Fatalf("%q stood before, %v; want %q, %v", got, err, before, want)
			}
		}
		begin("one", now, "", nil)
		begin("two", now.Add(time.Second), "", ErrUnderWay)
		if err := s.Hold(ctx, b, "one", now.Add(3*time.Minute)); err != nil {
			t.Fatal(err)
		}
		begin("two", now.Add(2*time.Minute), "", ErrUnderWay)
		begin("two", now.Add(4*time.Minute), "one", nil)
		for _, err := range []error{s.Hold(ctx, b, "one", now.Add(time.Hour)), s.Share(ctx, b, "one", 3)} {
			if !errors.Is(err, ErrUnderWay) {
				t.Errorf("a late one is told %v", err)
			}
		}
		if err := s.Share(ctx, b, "two", 3); err != nil {
			t.Fatal(err)
		}
		begin("three", now.Add(1000*time.Hour), "", ErrUnderWay) // the shards are there
		late, there, err := s.Lease(ctx, time.Now(), time.Hour)
		if err != nil || !there || late.Attempt != "two" {
			t.Fatal(late, there, err)
		}
		if stood, err := s.Unshare(ctx, b, "two"); err != nil || !stood {
			t.Fatal(stood, err)
		}
		begin("three", now, "", nil)
		if err := s.Share(ctx, b, "three", 3); err != nil {
			t.Fatal(err)
		}
		if fresh, err := s.CountShard(ctx, late, ShardCount{Opened: 1, Tally: []byte{1}}); err != nil || fresh {
			t.Errorf("a late worker counts: %v, %v", fresh, err)
		}
		if stood, err := s.Unshare(ctx, b, late.Attempt); err != nil || stood {
			t.Errorf("a late worker has the batch sent again: %v, %v", stood, err)
		}
		if sh, err := s.Shared(ctx, b); err != nil || sh != (Shared{"three", 3, 0}) {
			t.Errorf("%+v, %v", sh, err)
		}
	})
}
