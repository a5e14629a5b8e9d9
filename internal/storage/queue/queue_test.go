package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, dir string) *Queue {
	t.Helper()
	q, err := Open(context.Background(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

func box(t testing.TB, q *Queue, name string) *Box {
	t.Helper()
	b, err := q.Box(context.Background(), name, Refuse)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// listed lists "key=body" of a box, in order.
func listed(t testing.TB, b *Box, label string) []string {
	t.Helper()
	var all []string
	err := b.Each(context.Background(), label, func(key string, body []byte) error {
		all = append(all, key+"="+string(body))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPutOnce(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	q := open(t, dir)
	b := box(t, q, "in")
	other := box(t, q, "in-2")
	for _, c := range []struct {
		b                *Box
		key, label, body string
		again            bool
		err              error
	}{
		{b, "alice", "0", "one", false, nil},
		{b, "alice", "0", "one", true, nil},
		{b, "alice", "0", "two", false, ErrTaken},
		{b, "alice", "1", "one", false, ErrTaken},
		{b, "bob", "1", "one", false, nil},
		{b, "alic", "0", "", false, nil},
		{other, "alice", "1", "other", false, nil},
	} {
		again, err := c.b.Put(ctx, c.key, c.label, []byte(c.body))
		if again != c.again || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("put %s %s %q: %v, %v", c.key, c.label, c.body, again, err)
		}
	}
	check := func(b *Box) {
		t.Helper()
		if got := listed(t, b, ""); !slices.Equal(got, []string{"alice=one", "bob=one", "alic="}) {
			t.Errorf("all: %q", got)
		}
		if got := listed(t, b, "0"); !slices.Equal(got, []string{"alice=one", "alic="}) {
			t.Errorf("label 0: %q", got)
		}
		if got := listed(t, b, "2"); len(got) != 0 {
			t.Errorf("label 2: %q", got)
		}
	}
	check(b)

	// Another process finds the same.
	q.Close()
	q = open(t, dir)
	b = box(t, q, "in")
	check(b)
	if again, err := b.Put(ctx, "alice", "0", []byte("one")); !again || err != nil {
		t.Errorf("after a restart: %v, %v", again, err)
	}
	if names, err := q.Boxes(ctx, "in"); err != nil || len(names) != 2 {
		t.Errorf("boxes %q, %v", names, err)
	}
	if err := b.Each(ctx, "", func(string, []byte) error { return os.ErrInvalid }); err != os.ErrInvalid {
		t.Errorf("the error of fn became %v", err)
	}
}

func TestSealedTakesNothing(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	q := open(t, dir)
	b := box(t, q, "in")
	if _, err := b.Put(ctx, "a", "0", []byte("1")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.Seal(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, err := b.Put(ctx, "b", "0", []byte("1")); !errors.Is(err, ErrSealed) {
			t.Errorf("put into a sealed box: %v", err)
		}
		q.Close()
		q = open(t, dir)
		b = box(t, q, "in")
	}
	if got := listed(t, b, ""); !slices.Equal(got, []string{"a=1"}) {
		t.Errorf("%q", got)
	}
	if err := q.Drop(ctx, "in"); err != nil {
		t.Fatal(err)
	}
	if _, err := box(t, q, "in").Put(ctx, "b", "0", nil); err != nil {
		t.Errorf("a new box of a dropped name: %v", err)
	}
}

// A concurrent Put of the same key is taken once, whoever wins.
func TestOneOfManyWins(t *testing.T) {
	ctx := context.Background()
	b := box(t, open(t, t.TempDir()), "in")
	var mu sync.Mutex
	won := map[int]int{}
	var wg sync.WaitGroup
	for i := range 160 {
		wg.Go(func() {
			for {
				again, err := b.Put(ctx, fmt.Sprint(i%5), fmt.Sprint(i), []byte("x"))
				if errors.Is(err, ErrUnavailable) {
					continue
				}
				if err == nil && !again {
					mu.Lock()
					won[i%5]++
					mu.Unlock()
				} else if !errors.Is(err, ErrTaken) {
					t.Error(err)
				}
				return
			}
		})
	}
	wg.Wait()
	for key, n := range won {
		if n != 1 {
			t.Errorf("key %d was written %d times", key, n)
		}
	}
	if n := len(listed(t, b, "")); n != 5 || len(won) != 5 {
		t.Errorf("%d messages", n)
	}
}

// traces returns the files below dir that contain the text.
func traces(t testing.TB, dir, text string) (files []string, bytesOnDisk int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			files = append(files, path)
		}
		bytesOnDisk += int64(len(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, bytesOnDisk
}

// What is dropped is gone from every file of the folder, keys and content.
// A crash can leave the folder of a box that the server does not know: nobody
// waits for it to go.
func TestDropTakesWhatACrashLeft(t *testing.T) {
	q := open(t, t.TempDir())
	box(t, q, "in")
	for _, dir := range []string{"", ".", ".."} {
		left := filepath.Join(q.streams, dir+boxStream("half"), "msgs")
		if err := os.MkdirAll(left, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(left, "1.blk"), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Drop(context.Background(), "half"); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(q.streams, "*half*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	box(t, q, "half")
}

// The server cannot rename a box's folder to one that is there, and leaves both.
func TestDropTakesWhatTheServerLeaves(t *testing.T) {
	q := open(t, t.TempDir())
	box(t, q, "stuck")
	left := filepath.Join(q.streams, ".."+boxStream("stuck"), "msgs")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := q.Drop(ctx, "stuck"); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(q.streams, "*stuck*")); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
}

func TestDropLeavesNothing(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	q := open(t, dir)
	b, stays := box(t, q, "in"), box(t, q, "out")
	for i := range 300 {
		if _, err := b.Put(ctx, fmt.Sprint("respondent-", i), "0", []byte(strings.Repeat("secret content ", 700))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stays.Put(ctx, "a", "0", []byte("stays")); err != nil {
		t.Fatal(err)
	}
	if files, size := traces(t, dir, "secret content"); len(files) == 0 || size < 300*10_000 {
		t.Fatalf("the test looks in the wrong place: %d files, %d bytes", len(files), size)
	}
	if err := q.Drop(ctx, "in"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"secret content", "respondent-"} {
		if files, size := traces(t, dir, text); len(files) != 0 || size > 10_000 {
			t.Errorf("%q is still in %q; %d bytes on disk", text, files, size)
		}
	}
	if got := listed(t, stays, ""); !slices.Equal(got, []string{"a=stays"}) {
		t.Errorf("the other box holds %q", got)
	}
	if err := q.Drop(ctx, "in"); err != nil {
		t.Errorf("dropped twice: %v", err)
	}
}

// A box is a map in which the first value of a key stays, restarts or not.
func TestBoxIsAMap(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	q := open(t, dir)
	round := 0
	rapid.Check(t, func(t2 *rapid.T) {
		round++
		name := fmt.Sprint("round-", round)
		b := box(t, q, name)
		model := map[string]string{}
		var order []string
		for range rapid.IntRange(1, 8).Draw(t2, "steps") {
			key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t2, "key")
			label := rapid.SampledFrom([]string{"0", "1"}).Draw(t2, "label")
			body := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t2, "body")
			again, err := b.Put(ctx, key, label, []byte(body))
			was, there := model[key]
			switch {
			case !there:
				if again || err != nil {
					t2.Fatalf("new: %v, %v", again, err)
				}
				model[key] = label + body
				order = append(order, key+"="+body)
			case was == label+body:
				if !again || err != nil {
					t2.Fatalf("the same: %v, %v", again, err)
				}
			case !errors.Is(err, ErrTaken):
				t2.Fatalf("another: %v", err)
			}
		}
		if got := listed(t, b, ""); !slices.Equal(got, order) {
			t2.Fatalf("holds %q, want %q", got, order)
		}
		if err := q.Drop(ctx, name); err != nil {
			t2.Fatal(err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	ctx := context.Background()
	for _, c := range []Config{{}, {Dir: "x", URL: "y"}, {Dir: "x", Replicas: 3}, {URL: "nats://127.0.0.1:1", Replicas: 6}, {URL: "nats://127.0.0.1:1"}} {
		if q, err := Open(ctx, c); err == nil {
			q.Close()
			t.Errorf("%+v was opened", c)
		}
	}
	q := open(t, t.TempDir())
	b := box(t, q, "in")
	if _, err := b.Put(ctx, "a", "0", make([]byte, MaxBody+1)); err == nil {
		t.Error("too long a body was kept")
	}
	if again, err := b.Put(ctx, "a", "0", make([]byte, MaxBody)); again || err != nil {
		t.Errorf("the longest body: %v", err)
	}
	for _, name := range []string{"", "a.b", "a b", "*", "a>"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the name %q was taken", name)
				}
			}()
			q.Box(ctx, name, Refuse)
		}()
	}
}

func TestFull(t *testing.T) {
	ctx := context.Background()
	q, err := Open(ctx, Config{Dir: t.TempDir(), MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	b := box(t, q, "in")
	// Half of it is for what comes in.
	for more, want := range map[int64]error{0: nil, 1 << 19: nil, 1<<19 + 1: ErrFull, 1 << 30: ErrFull} {
		if err := q.Room(ctx, more); !errors.Is(err, want) {
			t.Errorf("room for %d: %v, want %v", more, err, want)
		}
	}
	kept := 0
	for ; kept < 100; kept++ {
		if _, err = b.Put(ctx, fmt.Sprint(kept), "0", make([]byte, 1<<16)); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrFull) || kept < 10 {
		t.Fatalf("after %d: %v", kept, err)
	}
	if got := listed(t, b, ""); len(got) != kept {
		t.Errorf("%d were acknowledged, %d are there", kept, len(got))
	}
	q.usage.at = time.Time{}
	if err := q.Healthy(ctx); !errors.Is(err, ErrFull) {
		t.Errorf("full and healthy: %v", err)
	}
	// A batch that leaves makes room.
	if err := q.Drop(ctx, "in"); err != nil {
		t.Fatal(err)
	}
	if _, err := box(t, q, "in").Put(ctx, "a", "0", make([]byte, 1<<16)); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	q.usage.at = time.Time{}
	if err := q.Healthy(ctx); err != nil {
		t.Error(err)
	}
	// What lies elsewhere and is to go through the queue takes room in it.
	beside := int64(1 << 40)
	q.Beside(func() int64 { return beside })
	if n, err := q.Bytes(ctx); err != nil || n < beside {
		t.Errorf("%d bytes are kept, %v", n, err)
	}
	if err := q.Healthy(ctx); !errors.Is(err, ErrFull) {
		t.Errorf("full of what lies beside it, and healthy: %v", err)
	}
	beside = 0
	if err := q.Healthy(ctx); err != nil {
		t.Error(err)
	}
}

// What the server says is an error that callers tell apart: the HTTP services answer a device that it may
// come again, or that there is no room.
func TestWhatTheServerSays(t *testing.T) {
	said := func(code int, number jetstream.ErrorCode, text string) error {
		return &jetstream.APIError{Code: code, ErrorCode: number, Description: text}
	}
	for name, c := range map[string]struct{ said, want error }{
		"a cluster without a leader":          {said(503, 10008, "JetStream system temporarily unavailable"), ErrUnavailable},
		"a list that lacks a node's part":     {said(503, 10004, "incomplete results"), ErrUnavailable},
		"a stream whose leader was just made": {said(503, 10163, "expected last sequence per subject temporarily unavailable"), ErrUnavailable},
		"no answer":                           {context.DeadlineExceeded, ErrUnavailable},
		"an account that is full":             {said(400, 10002, "resource limits exceeded for account"), ErrFull},
		"a disk that is full":                 {said(503, 10077, "no space left on device"), ErrFull},
		"a stream that is sealed":             {said(400, 10109, "invalid operation on sealed stream"), ErrSealed},
		"a disk that fails":                   {said(503, 10077, "input/output error"), nil},
		"an account without JetStream":        {said(503, 10039, "JetStream not enabled for account"), nil},
	} {
		got := explain(c.said)
		for _, one := range []error{ErrUnavailable, ErrFull, ErrSealed} {
			if errors.Is(got, one) != (one == c.want) {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}
