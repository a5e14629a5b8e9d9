package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Processes that share tasks get each once, and again what one of them left undone.
func TestWorkIsShared(t *testing.T) {
	ctx := t.Context()
	s := ready(t, node(t, server.Options{ServerName: "one"}))
	var all []*Work
	for range 3 {
		q, err := Open(ctx, Config{URL: s.ClientURL()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(q.Close)
		w, err := q.Work(ctx, "steps", 500*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	const tasks = 30
	for i := range tasks {
		for range 2 { // it is there already
			if err := all[0].Add(ctx, fmt.Sprint("task-", i), []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ready, leased, oldest, err := all[1].Backlog(ctx); err != nil || ready != tasks || leased != 0 || oldest.IsZero() {
		t.Errorf("%d wait, %d are taken, since %v, %v", ready, leased, oldest, err)
	}
	// One takes a task and is never heard of again.
	if _, took, err := all[2].Take(ctx, time.Second); err != nil || !took {
		t.Fatal(took, err)
	}
	if ready, leased, _, err := all[1].Backlog(ctx); err != nil || ready+leased != tasks || leased > 1 { // its lease may be over
		t.Errorf("%d wait, %d are taken, %v", ready, leased, err)
	}
	var mu sync.Mutex
	var done []int
	failed := false
	var group sync.WaitGroup
	for _, w := range all[:2] {
		group.Go(func() {
			for idle := 0; idle < 10; {
				task, took, err := w.Take(ctx, 200*time.Millisecond)
				if err != nil {
					t.Error(err)
					return
				}
				if !took {
					idle++
					continue
				}
				err = task.Do(ctx, func(context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					if !failed {
						failed = true
						return errors.New("not this time")
					}
					done = append(done, int(task.Body[0]))
					return nil
				})
				if err != nil && err.Error() != "not this time" {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	slices.Sort(done)
	if len(done) != tasks || len(slices.Compact(done)) != tasks {
		t.Errorf("%d were done: %v", len(done), done)
	}
	if ready, leased, oldest, err := all[1].Backlog(ctx); err != nil || ready+leased != 0 || !oldest.IsZero() {
		t.Errorf("%d wait, %d are taken, since %v, %v", ready, leased, oldest, err)
	}
	// What takes longer than a lease stays with who has it.
	if err := all[0].Add(ctx, "long", nil); err != nil {
		t.Fatal(err)
	}
	task, took, err := all[0].Take(ctx, time.Second)
	if err != nil || !took {
		t.Fatal(took, err)
	}
	err = task.Do(ctx, func(context.Context) error {
		if _, took, err := all[1].Take(ctx, 1500*time.Millisecond); took || err != nil {
			t.Errorf("a task that is held was given away: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
