package queue

import (
	"context"
	"errors"
	"testing"
)

func TestRecords(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	q := open(t, dir)
	r, err := q.Records(ctx, "state")
	if err != nil {
		t.Fatal(err)
	}
	if v, revision, err := r.Get(ctx, "a.b"); v != nil || revision != 0 || err != nil {
		t.Errorf("nothing there: %q %d %v", v, revision, err)
	}
	first, err := r.Set(ctx, "a.b", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Set(ctx, "a.b", []byte("2"), 0); !errors.Is(err, ErrChanged) {
		t.Errorf("made twice: %v", err)
	}
	second, err := r.Set(ctx, "a.b", []byte("2"), first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Set(ctx, "a.b", []byte("3"), first); !errors.Is(err, ErrChanged) {
		t.Errorf("changed from an old state: %v", err)
	}
	if _, err := r.Set(ctx, "a.c", []byte("c"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Set(ctx, "b", []byte("b"), 0); err != nil {
		t.Fatal(err)
	}
	q.Close()
	q = open(t, dir)
	if r, err = q.Records(ctx, "state"); err != nil {
		t.Fatal(err)
	}
	if v, revision, err := r.Get(ctx, "a.b"); string(v) != "2" || revision != second || err != nil {
		t.Errorf("after a restart: %q %d %v", v, revision, err)
	}
	list := func(begin string) (all string) {
		if err := r.Each(ctx, begin, func(key string, value []byte, _ uint64) error {
			all += key + "=" + string(value) + " "
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := list("a"); got != "a.b=2 a.c=c " {
		t.Errorf("a: %s", got)
	}
	if got := list(""); got != "a.b=2 a.c=c b=b " {
		t.Errorf("all: %s", got)
	}
	for range 2 {
		if err := r.Delete(ctx, "a.b"); err != nil {
			t.Fatal(err)
		}
	}
	if got := list("a"); got != "a.c=c " {
		t.Errorf("after deletion: %s", got)
	}
	if _, err := r.Set(ctx, "a.b", []byte("again"), 0); err != nil {
		t.Errorf("made again: %v", err)
	}
}
