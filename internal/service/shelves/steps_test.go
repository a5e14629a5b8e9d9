package shelves

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// processes are several that share the steps of a store.
func processes(t *testing.T, n int, lease time.Duration) (all []*Steps) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "shelves")
	if err := Make(folder); err != nil {
		t.Fatal(err)
	}
	s, err := Folder(folder, serve.Common{}, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for range n {
		p, err := OpenSteps(t.Context(), s, lease)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// empty stands for a shelf without tasks, and counts how often it is looked at.
type empty struct {
	keep.Shelf
	looks int
}

func (e *empty) Each(context.Context, keep.Table, string, func(string, []byte) error) error {
	e.looks++
	return nil
}

// A process that finds no task looks ever less often, and once more when its time is over.
func TestWhoFindsNothingLooksLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &empty{}
		begin := time.Now()
		if _, there, err := (&Steps{shelf: e}).Take(t.Context(), 5*time.Second); there || err != nil {
			t.Error(there, err)
		}
		if lasted := time.Since(begin); e.looks > 12 || lasted < 5*time.Second || lasted > 5*time.Second+look {
			t.Errorf("%d looks in %v", e.looks, lasted)
		}
	})
}

// A step is held by one process while that says something, and is another's when its holder has
// said nothing for a lease; one that has failed is at once; one that is done is nobody's.
func TestLeases(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond
	p := processes(t, 2, lease)
	for range 2 {
		if err := p[0].Add(t.Context(), "step", []byte("body")); err != nil {
			t.Fatal(err)
		}
	}
	taken, there, err := p[0].Take(t.Context(), 0)
	if err != nil || !there || string(taken.Body) != "body" {
		t.Fatal(there, err)
	}
	if ready, leased, oldest, err := p[1].Backlog(t.Context()); ready != 0 || leased != 1 || oldest.IsZero() || err != nil {
		t.Errorf("%d ready, %d leased, since %v, %v", ready, leased, oldest, err)
	}
	// It is held for as long as it takes.
	err = taken.Do(t.Context(), func(ctx context.Context) error {
		if _, there, err := p[1].Take(ctx, 2*lease); there || err != nil {
			t.Errorf("another has taken it: %v, %v", there, err)
		}
		return errors.New("it fails")
	})
	if err == nil || !strings.Contains(err.Error(), "it fails") {
		t.Fatal(err)
	}
	if _, there, _ := p[0].Take(t.Context(), 0); there {
		t.Error("who has failed takes it again at once")
	}
	if _, there, err = p[1].Take(t.Context(), 0); err != nil || !there { // and says nothing more
		t.Fatal(there, err)
	}
	again, there, err := p[0].Take(t.Context(), 20*lease)
	if err != nil || !there {
		t.Fatal("what a dead process holds is held for good: ", err)
	}
	if err := again.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if ready, leased, oldest, err := p[1].Backlog(t.Context()); ready+leased != 0 || !oldest.IsZero() || err != nil {
		t.Errorf("what is done is there: %d, %d, %v, %v", ready, leased, oldest, err)
	}
}

// One process leads at a time, until it resigns or says nothing for a lease.
func TestLead(t *testing.T) {
	t.Parallel()
	const lease = 300 * time.Millisecond
	p := processes(t, 2, lease)
	lead := func(i int) bool {
		t.Helper()
		led, err := p[i].Lead(t.Context(), "post", func(context.Context) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return led
	}
	if !lead(0) || lead(1) || !lead(0) {
		t.Error("another leads, or nobody")
	}
	if err := p[0].Resign(t.Context(), "post"); err != nil {
		t.Fatal(err)
	}
	if !lead(1) || lead(0) {
		t.Error("nobody leads after one has resigned, or two do")
	}
	for deadline := time.Now().Add(time.Minute); !lead(0); time.Sleep(lease / 10) {
		if time.Now().After(deadline) {
			t.Fatal("a dead process leads for good")
		}
		if _, there, err := p[0].Take(t.Context(), 0); there || err != nil { // who looks for tasks too
			t.Fatal(there, err)
		}
	}
}
