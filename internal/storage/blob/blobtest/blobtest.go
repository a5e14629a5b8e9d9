// Package blobtest holds every blob.Store to what its interface says. Used by tests of internal/storage/blob,
// internal/storage/blob/bucket and internal/testkit/chaos.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/blob"
)

// Store tests an empty store; open opens it, again and again.
func Store(t *testing.T, open func() blob.Store) {
	ctx := context.Background()
	s := open()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	list := func(under string) []string {
		t.Helper()
		names, err := open().List(ctx, under)
		must(err)
		if !slices.IsSorted(names) {
			t.Errorf("under %q not in order: %v", under, names)
		}
		return names
	}
	if _, err := s.Get(ctx, "a/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a blob that is not there: %v", err)
	}
	if names := list("a"); len(names) != 0 {
		t.Errorf("an empty store lists %v", names)
	}
	if there, err := s.Has(ctx, "a/b"); there || err != nil {
		t.Errorf("a blob that is not there is: %v", err)
	}
	must(s.Delete(ctx, "a"))
	large := bytes.Repeat([]byte("confetti"), 1<<18)
	for name, body := range map[string][]byte{"a/b": []byte("one"), "a/c/d": large, "ab/c": []byte("other"), "a-b/c": []byte("another"), "a/e": {}} {
		must(s.Put(ctx, name, body))
		got, err := open().Get(ctx, name)
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes came back, %v", name, len(got), err)
		}
	}
	for _, c := range []struct {
		from   int64
		length int
		want   error
	}{{0, 8, nil}, {5, 11, nil}, {int64(len(large)) - 3, 3, nil}, {int64(len(large)) - 3, 4, blob.ErrShort}, {int64(len(large)) + 3, 4, blob.ErrShort}} {
		part, err := open().Part(ctx, "a/c/d", c.from, c.length)
		if !errors.Is(err, c.want) || err == nil && !bytes.Equal(part, large[c.from:c.from+int64(c.length)]) {
			t.Errorf("%d bytes from %d on: %q, %v", c.length, c.from, part, err)
		}
	}
	if _, err := s.Part(ctx, "a/none", 0, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a part of a blob that is not there: %v", err)
	}
	must(s.Put(ctx, "a/b", []byte("two")))
	if got, err := s.Get(ctx, "a/b"); err != nil || string(got) != "two" {
		t.Errorf("written over: %q, %v", got, err)
	}
	must(s.Put(ctx, "a/b", []byte("two"))) // the same again
	if names := list("a"); !slices.Equal(names, []string{"a/b", "a/c/d", "a/e"}) {
		t.Errorf("listed %v", names)
	}
	if names := list(""); !slices.Equal(names, []string{"a-b/c", "a/b", "a/c/d", "a/e", "ab/c"}) {
		t.Errorf("of all listed %v", names)
	}
	for under, want := range map[string]int64{"a": int64(len(large)) + 3, "ab": 5, "none": 0, "": int64(len(large)) + 15} {
		if n, err := s.Bytes(ctx, under); n != want || err != nil {
			t.Errorf("under %q %d bytes and not %d: %v", under, n, want, err)
		}
	}
	for name, want := range map[string]bool{"a/b": true, "a/e": true, "a/c": false, "a": false, "a/none": false} {
		if there, err := open().Has(ctx, name); there != want || err != nil {
			t.Errorf("%s is there: %t, %v", name, there, err)
		}
	}
	must(s.Delete(ctx, "a"))
	must(s.Delete(ctx, "a"))
	if names := append(list("a"), list("")...); !slices.Equal(names, []string{"a-b/c", "ab/c"}) {
		t.Errorf("after a deletion: %v", names)
	}
	if _, err := s.Get(ctx, "a/c/d"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a blob that was deleted: %v", err)
	}
	// Several write the same name and others at once, while somebody deletes elsewhere.
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 5 {
				if err := errors.Join(s.Put(ctx, "same/one", []byte("one content")), s.Put(ctx, fmt.Sprintf("many/%d/%d", i, j), []byte{byte(i)}), s.Delete(ctx, "ab")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got, err := s.Get(ctx, "same/one"); err != nil || string(got) != "one content" || len(list("many")) != 40 {
		t.Errorf("several writers: %q, %v", got, err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if names, err := s.List(ended, "many"); err == nil {
		t.Errorf("a listing that is broken off says that these are all: %d of 40", len(names))
	}
	for _, name := range []string{"", "/a", "a/", "a//b", "../a", "a/..", "a b"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q passes for a name", name)
				}
			}()
			s.Get(ctx, name)
		}()
	}
}
